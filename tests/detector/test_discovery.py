import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import pytest

from nodeworthy.errors import UsageError
from nodeworthy.features import FeatureSet, SetState, SetStatus, read_document, write_document
from nodeworthy_detector.discovery import ask, discover
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import SOURCES, PciSource, Reading, SystemSource

Plant = Callable[[Mapping[str, str | bytes]], Host]

HOST = Host(Path("/"))


class Made(msgspec.Struct, frozen=True):
    """A source of the tests: it answers what it is given, or raises it."""

    answer: Reading | Exception
    name: str = "made"
    sets: tuple[str, ...] = ("made.one", "made.two")

    def read(self, _host: Host) -> Reading:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_every_set_of_this_machine_is_present_absent_or_unknown_with_a_reason() -> None:
    snapshot = discover(HOST)
    assert snapshot.catalogue == frozenset(name for source in SOURCES for name in source.sets)
    for name in snapshot.names():
        found = snapshot.lookup(name)
        assert found.state is SetState.PRESENT or found.reason
    assert {"cpu.cpuid", "cpu.model", "kernel.version", "system.architecture", "memory.numa"} <= set(snapshot.contents)
    assert all(not health.error for health in snapshot.sources.values())


def test_no_two_sources_deliver_the_same_set() -> None:
    names = [name for source in SOURCES for name in source.sets]
    assert len(names) == len(set(names))
    assert all(name.partition(".")[0] == source.name for source in SOURCES for name in source.sets)


def test_every_source_answers_for_each_of_its_sets_and_no_other(tmp_path: Path) -> None:
    for host in (HOST, Host(tmp_path)):
        for source in SOURCES:
            assert set(source.read(host).sets) == set(source.sets)


def test_the_snapshot_of_this_machine_survives_its_document() -> None:
    snapshot = discover(HOST)
    text = json.dumps(write_document(snapshot))
    assert read_document(text, "test").contents == snapshot.contents


def test_a_source_that_was_not_asked_for_is_unknown_and_not_absent() -> None:
    snapshot = discover(HOST, only=["pci"])
    assert snapshot.catalogue == discover(HOST).catalogue
    assert snapshot.lookup("cpu.cpuid").state is SetState.UNKNOWN
    assert snapshot.lookup("cpu.cpuid").reason == "source cpu was not asked for"
    assert snapshot.lookup("nobody.delivers").state is SetState.ABSENT
    assert set(snapshot.sources) == {"pci"}


def test_a_source_that_does_not_exist_is_refused_with_the_names_of_those_that_do() -> None:
    with pytest.raises(UsageError, match="there is no source disk, gpu") as caught:
        discover(HOST, only=["disk", "pci", "gpu"])
    assert caught.value.why == f"the sources are {', '.join(source.name for source in SOURCES)}"


@pytest.mark.parametrize("error", [RuntimeError("broken"), MemoryError(), RecursionError("deep"), OSError(5, "x")])
def test_a_source_that_fails_harms_only_its_own_sets(error: Exception) -> None:
    snapshot = discover(HOST, (Made(error), PciSource()))
    for name in ("made.one", "made.two"):
        assert snapshot.lookup(name).state is SetState.UNKNOWN
        assert "source made failed: " in snapshot.lookup(name).reason
    assert type(error).__name__ in snapshot.sources["made"].error
    assert snapshot.lookup("pci.device").state is not SetState.UNKNOWN
    assert snapshot.sources["pci"].error == ""


def test_what_a_source_leaves_out_is_unknown_and_what_is_not_its_own_is_dropped() -> None:
    reading = Reading({"made.one": FeatureSet(attributes={}), "pci.device": FeatureSet(attributes={})})
    snapshot = discover(HOST, (Made(reading),))
    assert snapshot.names() == ["made.one", "made.two"]
    assert snapshot.lookup("made.two").reason == "its source did not answer for it"


def test_a_set_that_is_too_large_is_unknown_and_its_neighbour_is_not() -> None:
    large = FeatureSet(attributes={"a": "x" * 600_000})
    snapshot = discover(HOST, (Made(Reading({"made.one": large, "made.two": FeatureSet(attributes={})})),))
    assert snapshot.lookup("made.one").state is SetState.UNKNOWN
    assert "the limit is 524,288" in snapshot.lookup("made.one").reason
    assert snapshot.lookup("made.two").state is SetState.PRESENT


def test_what_did_not_change_is_the_same_object_and_what_changed_is_checked_again() -> None:
    one, large = FeatureSet(attributes={"a": "1"}), FeatureSet(attributes={"a": "x" * 600_000})
    before = ask(Made(Reading({"made.one": one, "made.two": one})), HOST)
    after = ask(Made(Reading({"made.one": FeatureSet(attributes={"a": "1"}), "made.two": large})), HOST, before)
    assert after.sets["made.one"] is one
    assert isinstance(after.sets["made.two"], SetStatus)


def test_faults_reach_the_health_of_their_source() -> None:
    status = SetStatus(SetState.ABSENT, "none")
    snapshot = discover(HOST, (Made(Reading({"made.one": status, "made.two": status}, ("line 2",))),))
    assert snapshot.sources["made"].faults == ("line 2",)


def test_a_source_that_finds_out_nothing_at_all_fails() -> None:
    unknown, content = SetStatus(SetState.UNKNOWN, "sys is not there"), FeatureSet(attributes={})
    blind = discover(HOST, (Made(Reading({"made.one": unknown, "made.two": unknown})),))
    assert blind.sources["made"].error == "nothing could be found out: sys is not there"
    partly = discover(HOST, (Made(Reading({"made.one": unknown, "made.two": content})),))
    assert partly.sources["made"].error == ""


def test_a_name_that_comes_from_settings_does_not_hide_that_the_system_cannot_be_seen(tmp_path: Path) -> None:
    snapshot = discover(Host(tmp_path), (SystemSource(node_name="node-1"),))
    assert snapshot.lookup("system.name").state is SetState.PRESENT
    assert "nothing could be found out" in snapshot.sources["system"].error


def test_a_program_that_fails_is_an_error_of_its_source_whose_other_sets_are_known() -> None:
    reading = Reading({"made.one": FeatureSet(attributes={})}, error="probe: exit code 1")
    snapshot = discover(HOST, (Made(reading),))
    assert snapshot.sources["made"].error == "probe: exit code 1"
    assert snapshot.lookup("made.one").state is SetState.PRESENT


def test_the_detector_loads_no_library_beside_msgspec_and_no_lazy_module_early() -> None:
    program = (
        "import sys; from nodeworthy_detector.discovery import discover;"
        "print(' '.join(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    output = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()
    assert not {"pydantic", "yaml", "re2", "aiohttp", "click", "rich", "ctypes", "gzip", "asyncio", "subprocess"} & {
        *output
    }
