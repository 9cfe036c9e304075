import os
from pathlib import Path

import pytest
from tests.detector.programs.conftest import Serve, Write

from nodeworthy.features import FeatureSet, SetState, SetStatus
from nodeworthy_detector.discovery import discover
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.programs.settings import FOLDER, OneProgram, ProgramSettings
from nodeworthy_detector.programs.source import ProgramsSource


async def test_a_program_that_is_dropped_in_is_run_and_its_facts_go_with_it(serve: Serve, write: Write) -> None:
    """F10 for programs."""
    service = serve()
    assert await service.look_until("programs.label", "") == FeatureSet(attributes={})
    path = write("custom-avx512.sh", "echo avx512=true")
    await service.look_until("programs.custom-avx512", "true")
    assert list(service.source.sets) == ["programs.label", "programs.custom-avx512"]
    path.unlink()
    reading = service.source.read(service.host)
    assert list(service.source.sets) == ["programs.label"]
    assert reading.sets == {"programs.label": FeatureSet(attributes={})}


async def test_before_its_first_run_nothing_is_known_and_any_label_may_be_missing(serve: Serve, write: Write) -> None:
    write("a", "echo x=1")
    reading = serve().source.read(serve().host)
    assert reading.sets == {
        "programs.a": SetStatus(SetState.UNKNOWN, "a has not run yet"),
        "programs.label": FeatureSet(attributes={}, unobserved=frozenset({"*"})),
    }
    assert reading.error == ""


async def test_a_failing_program_harms_only_itself(serve: Serve, write: Write) -> None:
    service = serve()
    write("bad.sh", "echo b=1")
    write("good.sh", "echo g=1; echo for people >&2; echo Hello, world")
    await service.look_until("programs.bad", "'b'")
    await service.look_until("programs.good", "'g'")
    write("bad.sh", "echo b=2; echo no card >&2; exit 1")
    found = await service.look_until("programs.bad", "failed")
    assert found == SetStatus(SetState.UNKNOWN, "bad.sh failed: exit code 1: no card")
    reading = service.source.read(service.host)
    assert reading.sets["programs.good"] == FeatureSet(attributes={"g": "1"})
    assert reading.sets["programs.label"] == FeatureSet(attributes={"g": "1"}, unobserved=frozenset({"b"}))
    assert reading.error == "bad.sh: exit code 1: no card"
    assert [fault.partition("; lines")[0] for fault in reading.faults] == [
        f"{FOLDER}/good.sh: line 2: 'Hello, world' is no name of a feature"
    ]


async def test_two_programs_that_give_one_label_are_a_named_conflict(serve: Serve, write: Write) -> None:
    service = serve()
    write("a", "echo k=1")
    write("b", "echo k=2")
    await service.look_until("programs.a", "1")
    await service.look_until("programs.b", "2")
    reading = service.source.read(service.host)
    assert reading.sets["programs.label"] == FeatureSet(attributes={"k": "2"})
    assert "a says k=1, b says 2" in reading.faults[0]


async def test_what_must_not_run_is_unknown_and_an_error(serve: Serve, write: Write) -> None:
    write("a", "echo x=1").chmod(0o757)
    service = serve()
    reading = service.source.read(service.host)
    status = reading.sets["programs.a"]
    assert isinstance(status, SetStatus)
    assert status.reason.startswith("a does not run: the file may be written by everybody")
    assert reading.error.startswith("a: the file may be written")


async def test_a_program_that_is_switched_off_has_no_facts(serve: Serve, write: Write) -> None:
    write("a", "echo x=1")
    service = serve(ProgramSettings(programs={"a": OneProgram(enabled=False)}))
    assert service.source.read(service.host).sets == {"programs.label": FeatureSet(attributes={})}


def test_a_look_without_the_service_runs_nothing_and_knows_nothing(write: Write, tmp_path: Path) -> None:
    write("a", f": > {tmp_path}/ran")
    snapshot = discover(Host(tmp_path), (ProgramsSource(),))
    assert snapshot.lookup("programs.a").reason == "programs are run by the detector's service only"
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else for a while")
def test_a_folder_that_cannot_be_read_makes_known_sets_unknown(
    write: Write, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder = write("a", "").parent
    source = ProgramsSource()
    source.read(Host(tmp_path))
    folder.chmod(0o700)
    request.getfixturevalue("unprivileged")
    snapshot = discover(Host(tmp_path), (source,))
    assert {snapshot.lookup(name).state for name in ("programs.a", "programs.label")} == {SetState.UNKNOWN}
