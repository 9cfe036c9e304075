import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, SetState, SetStatus, encode
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.custom import (
    CONFIGURED,
    FOLDER,
    MAX_BYTES,
    MAX_FILE_BYTES,
    MAX_FILES,
    CustomSource,
)
from nodeworthy_detector.sources.reading import Reading

Plant = Callable[[Mapping[str, str | bytes]], Host]


def rules(reading: Reading) -> FeatureSet:
    found = reading.sets["custom.rules"]
    assert isinstance(found, FeatureSet)
    return found


def texts(reading: Reading) -> Mapping[str, str]:
    return rules(reading).attributes or {}


def test_files_are_text_under_their_names_and_the_configuration_beside_them(plant: Plant) -> None:
    host = plant({f"{FOLDER}/10-a.yaml": "- name: a\n", f"{FOLDER}/rack/b": "not: [rules"})
    reading = CustomSource(rules="- name: c\n").read(host)
    assert texts(reading) == {
        CONFIGURED: "- name: c\n",
        "custom.d/10-a.yaml": "- name: a\n",
        "custom.d/rack/b": "not: [rules",
    }
    assert reading.faults == ()


def test_folders_are_read_one_level_deep_and_hidden_files_are_passed_over(plant: Plant) -> None:
    host = plant(
        {
            f"{FOLDER}/.hidden": "x",
            f"{FOLDER}/.folder/rule": "seen",
            f"{FOLDER}/folder/.hidden": "x",
            f"{FOLDER}/folder/deep/rule": "x",
        }
    )
    assert texts(CustomSource().read(host)) == {"custom.d/.folder/rule": "seen"}


def test_a_mounted_config_map_is_read_once(plant: Plant, tmp_path: Path) -> None:
    host = plant({f"{FOLDER}/..2026_01_01/rack.yaml": "[]", f"{FOLDER}/map/..2026_01_01/other.yaml": "[]"})
    for folder in (tmp_path / FOLDER, tmp_path / FOLDER / "map"):
        (folder / "..data").symlink_to("..2026_01_01")
    (tmp_path / FOLDER / "rack.yaml").symlink_to("..data/rack.yaml")
    (tmp_path / FOLDER / "map/other.yaml").symlink_to("..data/other.yaml")
    assert texts(CustomSource().read(host)) == {"custom.d/rack.yaml": "[]", "custom.d/map/other.yaml": "[]"}


def test_what_is_left_out_is_unobserved_and_harms_no_neighbour(plant: Plant, tmp_path: Path) -> None:
    host = plant({f"{FOLDER}/good": "[]", f"{FOLDER}/large": b"#" * (MAX_FILE_BYTES + 1)})
    os.mkfifo(tmp_path / FOLDER / "fifo")
    (tmp_path / FOLDER / "dangling").symlink_to("nowhere")
    reading = CustomSource().read(host)
    assert rules(reading) == FeatureSet(
        attributes={"custom.d/good": "[]"},
        unobserved=frozenset({"custom.d/large", "custom.d/fifo", "custom.d/dangling"}),
    )
    assert len(reading.faults) == 3


def test_all_texts_together_fit_into_one_set(plant: Plant) -> None:
    host = plant({f"{FOLDER}/{number}": b"#" * MAX_FILE_BYTES for number in range(5)})
    reading = CustomSource(rules="[]").read(host)
    found = rules(reading)
    assert sum(map(len, texts(reading).values())) <= MAX_BYTES
    assert found.unobserved == {"custom.d/2", "custom.d/3", "custom.d/4"}
    encode(found)


def test_more_files_than_the_limit_leave_a_doubt(plant: Plant) -> None:
    host = plant({f"{FOLDER}/{number:05}": "" for number in range(MAX_FILES + 1)})
    reading = CustomSource().read(host)
    assert len(texts(reading)) == MAX_FILES
    assert rules(reading).unobserved == {"custom.d/01000"}


def test_without_the_folder_there_are_no_rules_and_without_etc_nobody_knows(plant: Plant) -> None:
    status = CustomSource().read(plant({"proc/": ""})).sets["custom.rules"]
    assert isinstance(status, SetStatus)
    assert status.state is SetState.UNKNOWN
    assert rules(CustomSource().read(plant({"etc/": ""}))) == FeatureSet(attributes={})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else for a while")
def test_a_folder_that_cannot_be_read_is_unknown(plant: Plant, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    host = plant({f"{FOLDER}/a": "[]"})
    (tmp_path / FOLDER).chmod(0o700)
    request.getfixturevalue("unprivileged")
    assert isinstance(CustomSource().read(host).sets["custom.rules"], SetStatus)


@given(content=st.binary())
def test_any_bytes_are_text(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("host")
    (root / FOLDER).mkdir(parents=True)
    (root / FOLDER / "a").write_bytes(content)
    encode(rules(CustomSource().read(Host(root))))
