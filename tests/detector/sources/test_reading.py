from pathlib import Path

import pytest

from nodeworthy.features import FeatureSet, SetState
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.reading import MAX_FAULTS, Faults, absent, attributes, read_sets, unknown

HOST = Host(Path("/nowhere"))


def test_faults_are_bounded_and_repeat_nothing() -> None:
    faults = Faults()
    for number in range(MAX_FAULTS + 7):
        faults.add(f"fault {number}")
        faults.add("fault 0")
    assert len(faults.listed()) == MAX_FAULTS + 1
    assert faults.listed()[-1] == "and 7 more"


def test_a_fault_is_short_and_valid_text() -> None:
    faults = Faults()
    faults.add("x\udce9" + "x" * 10_000)
    assert faults.listed()[0].startswith("x\ufffdx")
    assert len(faults.listed()[0]) == 300


def test_one_failing_reader_makes_only_its_own_set_unknown() -> None:
    def fails(_host: Host, _faults: Faults) -> FeatureSet:
        raise ZeroDivisionError("a defect\nwith a second line")

    def cannot_read(_host: Host, _faults: Faults) -> FeatureSet:
        raise HostReadError("sys/x", "cannot be read: permission denied")

    def works(_host: Host, faults: Faults) -> FeatureSet:
        faults.add("one device")
        return attributes({"a": "1", "b": None})

    reading = read_sets(HOST, {"x.fails": fails, "x.denied": cannot_read, "x.works": works})
    assert reading.sets == {
        "x.fails": unknown("its reader failed: ZeroDivisionError: a defect"),
        "x.denied": unknown("sys/x cannot be read: permission denied"),
        "x.works": FeatureSet(attributes={"a": "1"}),
    }
    assert reading.faults == ("x.fails: ZeroDivisionError: a defect", "one device")


def test_leaving_the_program_is_no_failure_of_a_reader() -> None:
    def interrupted(_host: Host, _faults: Faults) -> FeatureSet:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_sets(HOST, {"x.y": interrupted})


def test_reasons_are_valid_text() -> None:
    assert absent("\udce9").reason == "\ufffd"
    assert unknown("\udce9").state is SetState.UNKNOWN
