import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nodeworthy.features import write_document
from nodeworthy_detector.discovery import discover
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import SOURCES, LocalSource

HOSTS = Path(__file__).parents[1] / "data" / "hosts"
MACHINES = sorted(folder.name for folder in HOSTS.iterdir() if folder.is_dir() and not folder.name.startswith("_"))

sources = tuple(
    LocalSource(clock=lambda: datetime(2026, 1, 1, tzinfo=UTC)) if isinstance(source, LocalSource) else source
    for source in SOURCES
)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_recorded_machine_offers_what_was_written_down(machine: str) -> None:
    document = json.loads(json.dumps(write_document(discover(Host(HOSTS / machine / "root"), sources))))
    for status in document["sets"].values():
        status.pop("digest", None)
    assert document == json.loads((HOSTS / machine / "expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("machine", MACHINES)
def test_a_recorded_machine_says_where_it_is_from(machine: str) -> None:
    assert len((HOSTS / machine / "ORIGIN").read_text(encoding="utf-8")) > 100


def test_the_recorded_machines_stay_small_and_survive_git() -> None:
    files = [path for path in HOSTS.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 1_000_000
    assert not [path for path in HOSTS.rglob("*") if path.is_dir() and not any(path.iterdir())]


def test_the_recorded_machines_have_several_architectures() -> None:
    documents = [json.loads((HOSTS / machine / "expected.json").read_text()) for machine in MACHINES]
    found = {document["attributes"]["system.architecture"]["elements"]["architecture"] for document in documents}
    assert found == {"amd64", "arm64", "ppc64le", "riscv64", "s390x"}
