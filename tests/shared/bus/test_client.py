import subprocess
import sys

import pytest

DETECTOR_PARTS = "client connection records payloads sessions snapshots publishing store sets streams names keys"


def imported_after(statement: str) -> set[str]:
    """The modules that a fresh interpreter has after a statement."""
    code = f"import sys\n{statement}\nprint('\\n'.join(name for name, module in sys.modules.items() if module))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_aiohttp_stays_out_although_it_is_installed() -> None:
    loaded = imported_after("import nodeworthy.bus.client")
    assert "nats.aio.client" in loaded
    assert "aiohttp" not in loaded


def test_aiohttp_can_be_imported_afterwards() -> None:
    assert "aiohttp" in imported_after("import nodeworthy.bus.client, aiohttp")


def test_a_process_that_uses_aiohttp_keeps_it() -> None:
    assert "aiohttp" in imported_after("import aiohttp, nodeworthy.bus.client")


@pytest.mark.parametrize(
    "module",
    ["numpy", "aiohttp", "yaml", "re2", "nats.micro", "nodeworthy.rules", "nodeworthy.verdicts", "prometheus_client"],
)
def test_what_a_detector_needs_of_the_bus_does_not_load(module: str) -> None:
    assert module not in imported_after(f"from nodeworthy.bus import {', '.join(DETECTOR_PARTS.split())}")
