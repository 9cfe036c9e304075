import asyncio
import os
from pathlib import Path

import pytest
from tests.detector.programs.conftest import SECONDS, Serve, Service, Write

from nodeworthy.features import FeatureSet
from nodeworthy_detector.programs.settings import OneProgram, ProgramSettings


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A named pipe: who opens it at one end waits for the other."""
    made = tmp_path / "pipe"
    os.mkfifo(made)
    return made


async def hear(pipe: Path) -> str:
    """What a program writes into a pipe."""
    async with asyncio.timeout(SECONDS):
        return await asyncio.to_thread(pipe.read_text)


def look(service: Service) -> None:
    service.source.read(service.host)


async def test_a_program_runs_again_and_again_and_only_changes_are_told(
    serve: Serve, write: Write, tmp_path: Path, pipe: Path
) -> None:
    service = serve(ProgramSettings(interval=0.01))
    write("a", f"[ $(wc -l < {tmp_path}/runs) -lt 5 ] || echo five > {pipe}; echo run >> {tmp_path}/runs; echo x=1")
    (tmp_path / "runs").touch()
    look(service)
    assert await hear(pipe) == "five\n"
    assert service.changes == 1


async def test_each_program_has_its_own_interval_and_environment(
    serve: Serve, write: Write, tmp_path: Path, pipe: Path
) -> None:
    often = OneProgram(interval=0.01, environment={"WORD": "hello", "PATH": "/bin:/usr/bin"})
    service = serve(ProgramSettings(programs={"often": often}))
    write("seldom", f"echo run >> {tmp_path}/seldom")
    await service.look_until("programs.seldom", "attributes={}")
    again = f"if [ -e {tmp_path}/once ]; then echo again > {pipe}; fi; : > {tmp_path}/once"
    write("often", f"echo word=$WORD; echo root=$NODEWORTHY_HOST_ROOT; {again}")
    found = await service.look_until("programs.often", "word")
    assert found == FeatureSet(attributes={"word": "hello", "root": str(tmp_path)})
    assert await hear(pipe) == "again\n"
    assert (tmp_path / "seldom").read_text() == "run\n"


async def test_no_more_programs_run_at_once_than_may(serve: Serve, write: Write, tmp_path: Path) -> None:
    """Each refuses to run beside another; a lock is a folder, which only one can make."""
    service = serve(ProgramSettings(concurrency=1))
    names = [f"p{number}" for number in range(4)]
    for name in names:
        write(name, f"mkdir {tmp_path}/lock || exit 1; for i in 1 2 3 4 5; do :; done; rmdir {tmp_path}/lock; echo ran")
    for name in names:
        assert await service.look_until(f"programs.{name}", "ran") == FeatureSet(attributes={"ran": "true"})


async def test_a_program_that_hangs_does_not_hold_up_the_others(serve: Serve, write: Write) -> None:
    service = serve(ProgramSettings(programs={"hangs": OneProgram(timeout=0.3)}))
    write("hangs", "sleep 1000")
    write("works", "echo x=1")
    await service.look_until("programs.works", "1")
    await service.look_until("programs.hangs", "did not end within 0.3 s")


async def test_a_program_that_is_removed_while_it_runs_is_ended(serve: Serve, write: Write, pipe: Path) -> None:
    service = serve()
    path = write("a", f"exec 9> {pipe}; echo begun >&9; exec sleep 1000")
    look(service)
    async with asyncio.timeout(SECONDS):
        with await asyncio.to_thread(pipe.open) as file:
            assert await asyncio.to_thread(file.readline) == "begun\n"
            path.unlink()
            look(service)
            assert await asyncio.to_thread(file.read) == ""  # nobody holds the other end any more
    assert service.runner.outcomes == {}


async def test_a_program_that_is_changed_while_it_runs_runs_anew_and_the_old_run_does_not_count(
    serve: Serve, write: Write, pipe: Path
) -> None:
    service = serve()
    write("a", f"echo begun > {pipe}; read go < {pipe}; echo x=old")
    look(service)
    assert await hear(pipe) == "begun\n"
    write("a", "echo x=new")
    look(service)
    await asyncio.to_thread(pipe.write_text, "go\n")
    assert await service.look_until("programs.a", "x") == FeatureSet(attributes={"x": "new"})


async def test_what_it_writes_to_standard_error_is_logged_once_and_bounded(
    serve: Serve, write: Write, caplog: pytest.LogCaptureFixture, tmp_path: Path, pipe: Path
) -> None:
    caplog.set_level("INFO")
    service = serve(ProgramSettings(interval=0.01))
    noise = "i=0; while [ $i -lt 1000 ]; do echo line $i >&2; i=$((i+1)); done"
    write(
        "a",
        f"{noise}; if [ $(wc -l < {tmp_path}/runs) = 2 ]; then echo > {pipe}; fi; echo run >> {tmp_path}/runs; echo x=1",
    )
    (tmp_path / "runs").touch()
    look(service)
    await hear(pipe)
    said = [record for record in caplog.records if record.message == "detector.program_said"]
    assert len(said) == 1
    text = said[0].fields["text"]  # type: ignore[attr-defined]  # put there by EventLog
    assert text.endswith("line 999\n")
    assert len(text) <= 2_000


async def test_failing_and_working_again_are_logged_once(
    serve: Serve, write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    service = serve()
    write("a", "exit 1")
    await service.look_until("programs.a", "exit code 1")
    write("a", "echo x=1")
    await service.look_until("programs.a", "'x'")
    names = [record.message for record in caplog.records if record.message.startswith("detector.program")]
    assert names == ["detector.program_failed", "detector.program_works"]


async def test_other_settings_run_a_program_anew_and_a_removed_timetable_counts_at_once(
    serve: Serve, write: Write
) -> None:
    service = serve(ProgramSettings(interval=86_400))
    write("a", "echo word=$WORD")
    await service.look_until("programs.a", "''")
    service.runner.settings = ProgramSettings(programs={"a": OneProgram(environment={"WORD": "new"})})
    assert await service.look_until("programs.a", "new") == FeatureSet(attributes={"word": "new"})
