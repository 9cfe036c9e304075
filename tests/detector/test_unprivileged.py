"""The service as a container runs it: another user, and the host's folders mounted read-only under a prefix."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nodeworthy.features import SetState

if TYPE_CHECKING:
    from tests.detector.conftest import Bus

NOBODY = 65_534

SCRIPT = """
set -e
root=$1; shift
for folder in proc sys etc usr; do
    mkdir -p "$root/$folder"
    mount --rbind "/$folder" "$root/$folder"
    mount -o remount,bind,ro "$root/$folder"
done
exec "$@"
"""
"""A mount namespace of its own: nothing of this is seen outside of it, and nothing is left."""

PROGRAM = f"""
import asyncio, ctypes, gzip, encodings.ascii, encodings.idna, encodings.latin_1, os, sys
from pathlib import Path
import nats.aio.client, nats.js.client
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy_detector import app, configuration_reader
from nodeworthy_detector.sources.cpu import execution
from nodeworthy_detector.settings import Settings
root, url, features_d = sys.argv[1:]
os.setgroups([]); os.setresgid(*3 * [{NOBODY}]); os.setresuid(*3 * [{NOBODY}])
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: as it is for a process that was started by this user
try:
    Path(root, "etc/nodeworthy-test").touch()
except OSError as error:
    print(error.strerror, flush=True)
settings = Settings(node="node-1", host_root=Path(root), features_d=features_d, bus=ConnectionSettings(servers=(url,)))
asyncio.run(app.run(settings, asyncio.Event(), asyncio.Event()))
"""
"""Everything is imported before the user changes, who may not read the interpreter's folders on every machine."""


def why_impossible() -> str:
    """Why this machine cannot play a container's part; empty if it can."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return "only root may make mounts, with unshare(1)"
    done = subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True, text=True)
    return done.stderr.strip()


@pytest.fixture
def root() -> Iterator[Path]:
    """A folder that every user may enter; pytest keeps its own for its user."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.skipif(bool(why_impossible()), reason=why_impossible())
async def test_another_user_with_read_only_mounts_sees_the_machine_and_its_changes(bus: "Bus", root: Path) -> None:
    # features.d has to be below the host root, so it stands in a folder that is mounted nowhere else.
    features = root / "srv/features.d"
    features.mkdir(parents=True)
    for folder in (root, root / "srv", features):
        folder.chmod(0o755)
    shell = ["unshare", "--mount", "sh", "-c", SCRIPT, "sh", str(root)]
    command = [*shell, sys.executable, "-c", PROGRAM, str(root), bus.settings.servers[0], "srv/features.d"]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        message = await bus.snapshot_that("node-1", lambda message: "cpu.model" in message.sets)
        assert process.stdout
        assert await process.stdout.readline() in {b"Read-only file system\n", b"Permission denied\n"}
        present = {name for name, entry in message.sets.items() if entry.state is SetState.PRESENT}
        assert {
            "cpu.cpuid",
            "cpu.model",
            "kernel.version",
            "memory.numa",
            "network.virtual",
            "system.osrelease",
        } <= present
        assert not [health.error for name, health in message.sources.items() if health.error and name != "accel"]
        assert message.sources["pci"].polled == ""
        (features / "new").write_text("seen=1\n")
        event = await bus.next_event()
        assert event.change
        assert event.change.attributes_added == {"seen": "1"}
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
    assert os.listdir(root / "proc") == []  # noqa: PTH208 # the mounts were the process's own
