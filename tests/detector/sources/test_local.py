import itertools
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from nodeworthy.features import FeatureSet, SetState, SetStatus, encode
from nodeworthy.features.encoding import MAX_SET_BYTES
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import LocalSource, Reading
from nodeworthy_detector.sources.local import FOLDER, MAX_FILE_BYTES, MAX_FILES

Plant = Callable[[Mapping[str, str | bytes]], Host]


def features(reading: Reading) -> Mapping[str, str]:
    found = reading.sets["local.feature"]
    assert isinstance(found, FeatureSet)
    assert found.attributes is not None
    return found.attributes


def test_f5_a_file_may_have_65536_bytes_and_one_more_leaves_it_out_as_a_whole(plant: Plant) -> None:
    text = b"first=1\n"
    host = plant(
        {
            f"{FOLDER}/exact": text + b"#" * (MAX_FILE_BYTES - len(text)),
            f"{FOLDER}/more": b"second=1\n" + b"#" * MAX_FILE_BYTES,
        }
    )
    reading = LocalSource().read(host)
    assert features(reading) == {"first": "1"}
    assert reading.faults == (f"{FOLDER}/more has more than 65,536 bytes; the file is left out",)


def test_f8_the_later_file_wins_and_the_conflict_is_named(plant: Plant) -> None:
    reading = LocalSource().read(plant({f"{FOLDER}/10-a": "k=1\n", f"{FOLDER}/20-b": "k=2\n"}))
    assert features(reading) == {"k": "2"}
    assert reading.faults == (f"{FOLDER}: 10-a says k=1, 20-b says 2; the latter counts",)


def test_f8_two_files_that_agree_are_no_conflict(plant: Plant) -> None:
    reading = LocalSource().read(plant({f"{FOLDER}/10-a": "k=1\n", f"{FOLDER}/20-b": "k=1\n"}))
    assert features(reading) == {"k": "1"}
    assert reading.faults == ()


def test_f10_what_a_deleted_file_said_is_gone(plant: Plant, tmp_path: Path) -> None:
    host = plant({f"{FOLDER}/a": "x=1\n", f"{FOLDER}/b": "y=1\n"})
    assert features(LocalSource().read(host)) == {"x": "1", "y": "1"}
    (tmp_path / FOLDER / "a").unlink()
    assert features(LocalSource().read(host)) == {"y": "1"}


def test_a_machine_without_the_folder_has_empty_sets(plant: Plant) -> None:
    assert LocalSource().read(plant({"etc/hostname": "x"})).sets == {
        "local.feature": FeatureSet(attributes={}),
        "local.label": FeatureSet(attributes={}),
    }


def test_without_etc_nothing_is_said(plant: Plant) -> None:
    for found in LocalSource().read(plant({"proc/": ""})).sets.values():
        assert isinstance(found, SetStatus)
        assert found.state is SetState.UNKNOWN


def test_files_that_are_no_files_harm_only_themselves(plant: Plant, tmp_path: Path) -> None:
    host = plant({f"{FOLDER}/good": "a=1\n", f"{FOLDER}/.hidden": "b=1\n", f"{FOLDER}/folder/inner": "c=1\n"})
    os.mkfifo(tmp_path / FOLDER / "fifo")
    (tmp_path / FOLDER / "dangling").symlink_to("nowhere")
    (tmp_path / FOLDER / "link").symlink_to("/etc/other")
    (tmp_path / "etc/other").write_text("d=1\n")
    reading = LocalSource().read(host)
    assert features(reading) == {"a": "1", "d": "1"}
    assert [fault.split()[0].rpartition("/")[2] for fault in reading.faults] == ["dangling", "fifo"]


def test_a_mounted_config_map_is_read_once(plant: Plant, tmp_path: Path) -> None:
    host = plant({f"{FOLDER}/..2026_01_01/rack": "rack=b7\n"})
    (tmp_path / FOLDER / "..data").symlink_to("..2026_01_01")
    (tmp_path / FOLDER / "rack").symlink_to("..data/rack")
    reading = LocalSource().read(host)
    assert features(reading) == {"rack": "b7"}
    assert reading.faults == ()


def test_a_folder_with_too_many_files_is_cut(plant: Plant) -> None:
    reading = LocalSource().read(plant({f"{FOLDER}/{number:05}": f"n{number}=1" for number in range(MAX_FILES + 5)}))
    assert len(features(reading)) == MAX_FILES
    assert "5 files are left out" in reading.faults[0]


def test_files_that_say_too_much_together_are_left_out_one_by_one(plant: Plant) -> None:
    """A set has a limit of its own: without one here, all of it would be unknown by one file too many."""
    large = {f"{FOLDER}/{number:02}": f"n{number}={'x' * 60_000}" for number in range(10)}
    reading = LocalSource().read(plant(large | {f"{FOLDER}/99": "small=1"}))
    assert set(features(reading)) == {*(f"n{number}" for number in range(6)), "small"}
    assert len(reading.faults) == 4
    assert f"{FOLDER}/06: all files together say more than 393,216 bytes; it is left out" in reading.faults


def test_as_many_short_names_as_there_is_room_for_fit_into_a_set(plant: Plant) -> None:
    names = (f"{number:05x}" for number in range(100_000))
    host = plant({f"{FOLDER}/{number:02}": "\n".join(itertools.islice(names, 10_000)) for number in range(10)})
    reading = LocalSource().read(host)
    assert len(features(reading)) == 30_000
    assert all(len(encode(found)) < MAX_SET_BYTES for found in reading.sets.values() if isinstance(found, FeatureSet))


def test_a_folder_that_may_not_be_read_is_unknown(plant: Plant, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    host = plant({f"{FOLDER}/a": "x=1\n"})
    (tmp_path / FOLDER).chmod(0)
    request.getfixturevalue("unprivileged")
    for found in LocalSource().read(host).sets.values():
        assert isinstance(found, SetStatus)
        assert found.state is SetState.UNKNOWN
        assert "permission denied" in found.reason
