from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, SetState, SetStatus
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import KernelSource
from nodeworthy_detector.sources.kernel.binfmt import parse_handler

Plant = Callable[[Mapping[str, str | bytes]], Host]

FOLDER = "proc/sys/fs/binfmt_misc"

# What qemu-binfmt-conf.sh of QEMU registers for aarch64, and what Debian's package of OpenJDK does for jar files.
ARM64 = (
    "enabled\ninterpreter /usr/bin/qemu-aarch64-static\nflags: OCF\noffset 0\n"
    "magic 7f454c460201010000000000000000000200b700\nmask ffffffffffffff00fffffffffffffffffeffffff\n"
)
JAR = "enabled\ninterpreter /usr/bin/jexec\nflags: \nextension .jar\n"


def read(host: Host) -> FeatureSet | SetStatus:
    return KernelSource().read(host).sets["kernel.binfmt"]


def test_b09_a_handler_tells_whose_programs_it_runs(plant: Plant) -> None:
    host = plant({f"{FOLDER}/status": "enabled\n", f"{FOLDER}/register": "", f"{FOLDER}/qemu-aarch64": ARM64})
    assert read(host) == FeatureSet(
        instances=(
            {
                "name": "qemu-aarch64",
                "enabled": "true",
                "interpreter": "/usr/bin/qemu-aarch64-static",
                "flags": "OCF",
                "offset": "0",
                "magic": "7f454c460201010000000000000000000200b700",
                "mask": "ffffffffffffff00fffffffffffffffffeffffff",
                "machine": "aarch64",
                "architecture": "arm64",
            },
        )
    )


def test_a_handler_by_extension_runs_no_processors_programs() -> None:
    assert parse_handler(JAR) == {
        "enabled": "true",
        "interpreter": "/usr/bin/jexec",
        "flags": "",
        "extension": ".jar",
    }


@pytest.mark.parametrize(("status", "entry"), [("enabled", "disabled"), ("disabled", "enabled")])
def test_a_handler_counts_only_where_it_and_the_whole_are_enabled(plant: Plant, status: str, entry: str) -> None:
    host = plant({f"{FOLDER}/status": f"{status}\n", f"{FOLDER}/x": ARM64.replace("enabled", entry)})
    found = read(host)
    assert isinstance(found, FeatureSet)
    assert [one["enabled"] for one in found.instances or ()] == ["false"]


def test_a_folder_on_which_nothing_is_mounted_says_nothing(plant: Plant) -> None:
    found = read(plant({f"{FOLDER}/": ""}))
    assert isinstance(found, SetStatus)
    assert found.state is SetState.UNKNOWN


def test_a_kernel_without_the_folder_has_no_handlers(plant: Plant) -> None:
    found = read(plant({"proc/sys/fs/file-max": "1"}))
    assert isinstance(found, SetStatus)
    assert found.state is SetState.ABSENT


def test_a_handler_that_cannot_be_read_harms_only_itself(plant: Plant) -> None:
    host = plant({f"{FOLDER}/status": "enabled\n", f"{FOLDER}/a/": "", f"{FOLDER}/jar": JAR})
    reading = KernelSource().read(host)
    found = reading.sets["kernel.binfmt"]
    assert isinstance(found, FeatureSet)
    assert [one["name"] for one in found.instances or ()] == ["jar"]
    assert reading.faults == (f"{FOLDER}/a is no regular file",)


@given(st.text() | st.lists(st.sampled_from(ARM64.split("\n")) | st.text(max_size=5)).map("\n".join))
def test_any_text_is_read(text: str) -> None:
    assert parse_handler(text)["enabled"] in {"true", "false"}
