"""What is understood of the os-release files of some hundred systems (cases O1, O4, O8)."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.labels import DefaultLabelSettings, compile_defaults, make_default_labels
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import SystemSource

Plant = Callable[[Mapping[str, str | bytes]], Host]

NAMES = ("ID", "VERSION_ID", "VERSION_ID.major", "VERSION_ID.minor")
PREFIX = "feature.node.kubernetes.io/system-os_release."
TABLE = (Path(__file__).parent / "os-release.tsv").read_text(encoding="utf-8")
ROWS = [line.split("\t") for line in TABLE.splitlines() if not line.startswith("#")]


def test_the_table_has_every_system() -> None:
    assert len(ROWS) == len({row[0] for row in ROWS}) == 102
    assert {len(row) for row in ROWS} == {7}


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_system_is_understood_from_file_to_label(plant: Plant, row: list[str]) -> None:
    _, written_id, written_version, *understood = row
    text = f"NAME=x\nID={written_id}\n" + (f"VERSION_ID={written_version}\n" if written_version != "-" else "")
    found = SystemSource().read(plant({"etc/os-release": text})).sets["system.osrelease"]
    assert isinstance(found, FeatureSet)
    expected = {name: value for name, value in zip(NAMES, understood, strict=True) if value != "-"}
    assert found.attributes == {"NAME": "x", **expected}
    made = make_default_labels(
        Snapshot({"system.osrelease": found}, catalogue=frozenset()), compile_defaults(DefaultLabelSettings())
    )
    labels = {label.key.removeprefix(PREFIX): label.value for label in made.labels}
    # One system writes what no label may hold: 7.0(BUILDER).
    assert labels == expected | ({"VERSION_ID": "7.0_BUILDER"} if "(" in written_version else {})
