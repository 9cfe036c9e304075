from collections.abc import Callable, Mapping

from tests.detector.sources.accel.conftest import ANCHOR, NVIDIA_OPEN, Layout, h100

from nodeworthy.features import FeatureSet, Instance, SetState, SetStatus
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import AccelSource, Reading
from nodeworthy_detector.sources.accel.drivers import find_conflicts

Plant = Callable[[Mapping[str, str | bytes]], Host]


def installed(folder: str, version: str) -> Layout:
    return {f"{folder}/libcuda.so.1": "", f"{folder}/libcuda.so.{version}": ""}


def instances(reading: Reading, name: str) -> tuple[Instance, ...]:
    found = reading.sets[name]
    assert isinstance(found, FeatureSet)
    return found.instances or ()


def test_every_version_is_listed_with_where_it_was_seen(plant: Plant) -> None:
    reading = AccelSource().read(plant(ANCHOR | h100() | installed("usr/lib64", "550.54.15")))
    assert instances(reading, "accel.driver") == (
        {"vendor": "nvidia", "where": "module", "name": "nvidia", "version": "550.54.15", "flavor": "proprietary"},
        {
            "vendor": "nvidia",
            "where": "library",
            "name": "libcuda.so",
            "version": "550.54.15",
            "path": "/usr/lib64/libcuda.so.550.54.15",
        },
    )
    conflict = reading.sets["accel.conflict"]
    assert conflict == SetStatus(SetState.ABSENT, "the versions of all drivers agree")
    assert reading.faults == ()


def test_the_open_module_says_so_and_its_version_stands_in_procfs_too(plant: Plant) -> None:
    files: Layout = {"sys/module/nvidia/initstate": "live\n", "proc/driver/nvidia/version": NVIDIA_OPEN}
    (driver,) = instances(AccelSource().read(plant(ANCHOR | files)), "accel.driver")
    assert (driver["flavor"], driver["version"]) == ("open", "565.57.01")


def test_a_module_of_the_kernel_itself_has_no_version_of_its_own(plant: Plant) -> None:
    reading = AccelSource().read(plant(ANCHOR | {"sys/module/i915/initstate": "live\n"}))
    assert instances(reading, "accel.driver") == ({"vendor": "intel", "where": "module", "name": "i915"},)


def test_the_package_of_ascends_driver_is_listed(plant: Plant) -> None:
    reading = AccelSource().read(plant(ANCHOR | {"usr/local/Ascend/driver/version.info": "Version=24.1.rc1\n"}))
    assert instances(reading, "accel.driver") == (
        {
            "vendor": "huawei",
            "where": "package",
            "name": "driver",
            "version": "24.1.rc1",
            "path": "/usr/local/Ascend/driver/version.info",
        },
    )


def test_a_library_that_differs_from_the_loaded_module_is_a_finding_and_a_fault(plant: Plant) -> None:
    reading = AccelSource().read(plant(ANCHOR | h100() | installed("usr/lib64", "535.104.05")))
    text = (
        "/usr/lib64/libcuda.so.535.104.05 has version 535.104.05, the loaded module nvidia has 550.54.15: "
        "programs that load it cannot use the driver"
    )
    assert instances(reading, "accel.conflict") == (
        {
            "vendor": "nvidia",
            "module": "550.54.15",
            "library": "535.104.05",
            "path": "/usr/lib64/libcuda.so.535.104.05",
            "text": text,
        },
    )
    assert reading.faults == (text,)


def test_the_forward_compatibility_package_is_meant_to_differ(plant: Plant) -> None:
    files = installed("usr/lib64", "550.54.15") | installed("usr/local/cuda-13.0/compat", "580.65.06")
    reading = AccelSource().read(plant(ANCHOR | h100() | files))
    assert [one["where"] for one in instances(reading, "accel.driver")] == [
        "module",
        "library",
        "compatibility-library",
    ]
    assert isinstance(reading.sets["accel.conflict"], SetStatus)


def test_two_libraries_that_differ_are_a_finding_where_no_module_is_loaded(plant: Plant) -> None:
    files = installed("usr/lib64", "550.54.15") | installed("run/nvidia/driver/usr/lib64", "570.86.10")
    (conflict,) = instances(AccelSource().read(plant(ANCHOR | files)), "accel.conflict")
    assert (conflict["other_library"], conflict["library"]) == ("550.54.15", "570.86.10")
    assert conflict["text"].endswith("not both can fit the module")


def test_a_module_without_a_version_is_in_conflict_with_nothing() -> None:
    module = {"vendor": "nvidia", "where": "module", "name": "nvidia"}
    library = {"vendor": "nvidia", "where": "library", "name": "libcuda.so", "version": "550.54.15", "path": "/x"}
    assert find_conflicts((module, library)) == ()


def test_a_machine_of_which_modules_are_not_known_does_not_say(plant: Plant) -> None:
    reading = AccelSource().read(plant({"sys/bus/platform/drivers_autoprobe": "1"}))
    for name in ("accel.driver", "accel.conflict"):
        assert reading.sets[name] == SetStatus(SetState.UNKNOWN, "sys/module is not there")


def test_a_machine_without_drivers_has_neither_versions_nor_conflicts(plant: Plant) -> None:
    reading = AccelSource().read(plant(ANCHOR))
    for name in ("accel.driver", "accel.conflict"):
        assert reading.sets[name] == SetStatus(SetState.ABSENT, "no driver of an accelerator was found")
