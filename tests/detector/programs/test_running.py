import asyncio
import os
import signal
from pathlib import Path

import pytest
from tests.detector.programs.conftest import Write, is_alive

from nodeworthy_detector.programs.running import KEPT_ERROR_BYTES, MAX_OUTPUT_BYTES, run_program

PLAIN = {"PATH": "/usr/bin:/bin"}


async def test_a_program_says_what_it_writes_to_standard_output(write: Write) -> None:
    run = await run_program(str(write("a", "echo x=1; echo seen >&2")), PLAIN, 10)
    assert (run.output, run.errors, run.problem) == (b"x=1\n", "seen\n", "")


async def test_it_gets_its_own_environment_an_empty_input_and_the_root_folder(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NATS_PASSWORD", "secret")
    run = await run_program(str(write("a", "cat; env; pwd")), {**PLAIN, "NFD_CUSTOM_TEST": "TRUE"}, 10)
    lines = run.output.decode().splitlines()
    assert "NFD_CUSTOM_TEST=TRUE" in lines
    assert lines[-1] == "/"
    assert "NATS_PASSWORD" not in run.output.decode()


async def test_a_failure_is_named_by_the_exit_code_and_the_last_line_of_standard_error(write: Write) -> None:
    run = await run_program(
        str(write("a", "echo x=1; echo one >&2; echo discovery failed: no cpu >&2; exit 3")), PLAIN, 10
    )
    assert run.problem == "exit code 3: discovery failed: no cpu"


async def test_a_program_that_dies_is_named_by_its_signal(write: Write) -> None:
    assert (await run_program(str(write("a", "kill -SEGV $$")), PLAIN, 10)).problem == "ended by SIGSEGV"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (
            b"echo without a first line that names a shell\n",
            "Exec format error (its first line must name its interpreter, as #!/bin/sh)",
        ),
        (
            b"#!/bin/sh\r\necho a=1\r\n",
            "No such file or directory (no such interpreter, or the line that names it ends with a carriage return)",
        ),
    ],
)
async def test_what_cannot_be_started_says_why(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "program"
    path.write_bytes(content)
    path.chmod(0o755)
    assert (await run_program(str(path), PLAIN, 10)).problem == f"exit code 126: it cannot be started: {problem}"


async def test_a_program_that_hangs_is_ended_with_all_it_started(write: Write, tmp_path: Path) -> None:
    text = (
        f"trap '' TERM\n(trap '' TERM; sleep 1000) & echo $! > {tmp_path}/child\necho $$ > {tmp_path}/own\nsleep 1000"
    )
    run = await run_program(str(write("a", text)), PLAIN, 0.5)
    assert run.problem == "it did not end within 0.5 s"
    assert not any(is_alive(int((tmp_path / name).read_text())) for name in ("child", "own"))


async def test_what_forks_twice_into_a_session_of_its_own_is_ended_when_the_program_ends(
    write: Write, tmp_path: Path
) -> None:
    """It holds neither the pipes nor the process group of the program."""
    daemon = f"setsid sh -c 'echo $$ > {tmp_path}/daemon; : > {tmp_path}/ready; exec sleep 1000' <&- >&- 2>&- &"
    text = f"({daemon})\nuntil [ -e {tmp_path}/ready ]; do :; done\necho x=1"
    run = await run_program(str(write("a", text)), PLAIN, 10)
    assert (run.output, run.problem) == (b"x=1\n", "")
    assert not is_alive(int((tmp_path / "daemon").read_text()))


async def test_a_child_that_holds_the_output_open_does_not_hold_up_the_run(write: Write) -> None:
    run = await run_program(str(write("a", "sleep 1000 &\necho x=1")), PLAIN, 10)
    assert (run.output, run.problem) == (b"x=1\n", "")


async def test_a_program_that_kills_its_process_group_kills_nobody_else(write: Write) -> None:
    assert (await run_program(str(write("a", "echo x=1; kill 0")), PLAIN, 10)).problem == "ended by SIGTERM"


async def test_a_flood_is_ended(write: Write) -> None:
    run = await run_program(str(write("a", "exec yes x=1")), PLAIN, 10)
    assert run.problem == "it wrote more than 65,536 bytes to standard output"
    run = await run_program(str(write("a", "exec yes x=1 >&2")), PLAIN, 10)
    assert run.problem == "it wrote more than 1,048,576 bytes to standard error"
    assert len(run.errors) <= KEPT_ERROR_BYTES


async def test_output_of_exactly_the_limit_is_taken(write: Write) -> None:
    run = await run_program(str(write("a", f"head -c {MAX_OUTPUT_BYTES} /dev/zero")), PLAIN, 10)
    assert (len(run.output), run.problem) == (MAX_OUTPUT_BYTES, "")


async def test_a_run_that_is_cancelled_leaves_nothing(write: Write, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    path = write("a", f"echo $$ > {tmp_path}/own; echo go > {tmp_path}/gate; exec sleep 1000")
    task = asyncio.create_task(run_program(str(path), PLAIN, 1000))
    assert await asyncio.to_thread((tmp_path / "gate").read_text) == "go\n"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_alive(int((tmp_path / "own").read_text()))


async def test_a_run_that_is_cancelled_twice_leaves_nothing_either(write: Write, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    path = write("a", f"echo $$ > {tmp_path}/own; echo go > {tmp_path}/gate; exec sleep 1000")
    task = asyncio.create_task(run_program(str(path), PLAIN, 1000))
    assert await asyncio.to_thread((tmp_path / "gate").read_text) == "go\n"
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not is_alive(int((tmp_path / "own").read_text()))


async def test_a_program_may_be_interrupted_as_any_other(write: Write) -> None:
    """The signals that its supervisor waits for are not blocked in it."""
    run = await run_program(str(write("a", "trap 'echo x=1; exit 0' TERM; kill $$; echo no")), PLAIN, 10)
    assert (run.output, run.problem) == (b"x=1\n", "")
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
