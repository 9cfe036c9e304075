"""Programs in a running detector, on a real bus."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tests.detector.programs.conftest import Write

from nodeworthy.bus.records import SnapshotMessage
from nodeworthy.features import FeatureSet, SetState, decode

if TYPE_CHECKING:
    from tests.detector.conftest import Bus, MakeSettings, RunDetector

SET = "programs.card"


def state(message: SnapshotMessage) -> SetState | None:
    entry = message.sets.get(SET)
    return entry.state if entry else None


def content(message: SnapshotMessage, name: str) -> Mapping[str, str]:
    data = message.sets[name].content
    assert data is not None
    return decode(data).attributes or {}


async def test_e6_a_dropped_program_is_run_and_fails_and_goes_and_the_bus_follows(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", write: Write, tmp_path: Path
) -> None:
    (tmp_path / "etc").mkdir()
    settings = make_settings(bus, host_root=tmp_path, features_d="")
    async with run_detector(settings):
        path = write("card.sh", "echo card=1")
        found = await bus.snapshot_that("node-1", lambda message: state(message) is SetState.PRESENT)
        assert content(found, SET) == content(found, "programs.label") == {"card": "1"}
        write("card.sh", "echo no card >&2; exit 1")
        failed = await bus.snapshot_that("node-1", lambda message: bool(message.sources["programs"].error))
        entry = failed.sets[SET]
        assert (entry.state, entry.reason) == (SetState.UNKNOWN, "card.sh failed: exit code 1: no card")
        assert entry.last_digest
        data = failed.sets["programs.label"].content
        assert data is not None
        assert decode(data) == FeatureSet(attributes={}, unobserved=frozenset({"card"}))
        path.unlink()
        gone = await bus.snapshot_that("node-1", lambda message: state(message) is None)
        assert SET not in (gone.catalogue or ())
        assert gone.sources["programs"].error == ""


async def test_rules_of_custom_d_are_on_the_bus_as_text_when_they_are_written(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", tmp_path: Path
) -> None:
    folder = tmp_path / "etc/kubernetes/node-feature-discovery/custom.d"
    folder.mkdir(parents=True)
    async with run_detector(make_settings(bus, host_root=tmp_path, features_d="")):
        before = await bus.snapshot_that("node-1", lambda message: "custom.rules" in message.sets)
        assert content(before, "custom.rules") == {}
        (folder / "rack.yaml").write_text("- {name: r}")
        after = await bus.snapshot_that("node-1", lambda message: content(message, "custom.rules") != {})
        assert content(after, "custom.rules") == {"custom.d/rack.yaml": "- {name: r}"}
