from collections.abc import Callable, Iterator, Mapping

import pytest

from nodeworthy.features import FeatureSet, Instance, SetStatus
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.device_files import read_instances, read_optional, read_required
from nodeworthy_detector.sources.reading import Faults

Plant = Callable[[Mapping[str, str | bytes]], Host]


def test_a_device_says_nothing_without_one_of_its_required_files(plant: Plant) -> None:
    host = plant({"d/a": "1\n", "d/b": "2\n", "d/c/": ""})
    assert read_required(host, "d", ("b", "a")) == {"b": "2", "a": "1"}
    with pytest.raises(HostReadError, match="d/x is not there"):
        read_required(host, "d", ("a", "x"))
    with pytest.raises(HostReadError, match="d/c is no regular file"):
        read_required(host, "d", ("c",))


def test_an_optional_file_that_is_not_there_is_no_fault_and_one_that_cannot_be_read_is(plant: Plant) -> None:
    faults = Faults()
    assert read_optional(plant({"d/a": "", "d/b/": ""}), "d", ("a", "b", "x"), faults) == {"a": ""}
    assert faults.listed() == ("d/b is no regular file",)


def read_all_but(*broken: str) -> Callable[[str], Iterator[Instance]]:
    def read(name: str) -> Iterator[Instance]:
        yield {"kind": "disk"}
        if name in broken:
            raise HostReadError(name, "is not there")
        yield {"name": name}

    return read


def test_a_device_that_fails_half_way_is_left_out_whole() -> None:
    faults = Faults()
    found = read_instances(("a", "b"), read_all_but("a"), faults, "disks")
    assert found == FeatureSet(instances=({"kind": "disk"}, {"name": "b"}))
    assert faults.listed() == ("a is not there; the device is left out",)


def test_devices_of_which_none_can_be_read_are_unknown_and_no_devices_are_none() -> None:
    found = read_instances(("a", "b"), read_all_but("a", "b"), Faults(), "disks")
    assert isinstance(found, SetStatus)
    assert found.reason == "none of 2 disks could be read"
    assert read_instances((), read_all_but(), Faults(), "disks") == FeatureSet(instances=())


def test_equal_instances_are_one_object() -> None:
    found = read_instances(("a", "b", "c"), read_all_but(), Faults(), "disks")
    assert isinstance(found, FeatureSet)
    assert len(found.instances or ()) == 6
    assert len({id(one) for one in found.instances or ()}) == 4
