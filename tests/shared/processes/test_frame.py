"""Signals and a bounded end, on real processes."""

import json
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

Start = Callable[[str], subprocess.Popen[str]]

RUN = 'processes.run_process([Service("one", wait), Service("two", wait)], on_ready=say_ready)\nprint("end")'
STUCK = """
async def stuck(stop, ready):
    ready.set()
    await stop.wait()
    print("stuck", flush=True)
    threading.Event().wait()  # blocks the loop for good

processes.run_process([Service("one", stuck)], on_ready=say_ready, limits=Limits(stop=SECONDS, cancel=0.1))
"""


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def finish(process: subprocess.Popen[str]) -> tuple[list[str], list[dict[str, Any]]]:
    out, err = process.communicate(timeout=20)
    return out.split(), [json.loads(line) for line in err.splitlines()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_stops_every_service_and_the_process_goes_on_to_its_end(start: Start, number: signal.Signals) -> None:
    process = start(RUN)
    assert read_line(process) == "ready"
    process.send_signal(number)
    out, log = finish(process)
    assert out == ["stopped", "stopped", "end"]
    assert process.returncode == 0
    assert [(line["event"], line["signal"]) for line in log] == [("process.stopping", number.name)]


def test_what_is_there_when_all_is_ready_is_not_looked_through_for_garbage(start: Start) -> None:
    look = "gc.get_freeze_count() > 1000"
    ready = f"on_ready=lambda: print({look}, gc.get_threshold()[0] > before, flush=True)"
    process = start(
        f"import gc\nbefore = gc.get_threshold()[0]\n{RUN.replace('on_ready=say_ready', ready)}"
        f"\nprint({look}, gc.get_threshold()[0] == before)"
    )
    assert read_line(process) == "True True"
    process.send_signal(signal.SIGTERM)
    out, _ = finish(process)
    assert out[-2:] == ["False", "True"]


def test_a_signal_that_the_parent_ignores_stays_ignored(start: Start) -> None:
    process = start(f"signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{RUN}")
    assert read_line(process) == "ready"
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    _, log = finish(process)
    assert [line["signal"] for line in log] == ["SIGTERM"]


def test_a_second_ctrl_c_kills_a_process_that_is_stuck(start: Start) -> None:
    process = start(STUCK.replace("SECONDS", "1000"))
    assert read_line(process) == "ready"
    process.send_signal(signal.SIGINT)
    assert read_line(process) == "stuck"
    process.send_signal(signal.SIGINT)
    finish(process)
    assert process.returncode == 128 + signal.SIGINT


def test_a_second_sigterm_does_not_kill(start: Start) -> None:
    process = start("""
async def slow(stop, ready):
    ready.set()
    await stop.wait()
    print("stopping", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    print("done", flush=True)

processes.run_process([Service("one", slow)], on_ready=say_ready)
""")
    assert read_line(process) == "ready"
    process.send_signal(signal.SIGTERM)
    assert read_line(process) == "stopping"
    process.send_signal(signal.SIGTERM)
    process.communicate("\n", timeout=20)
    assert process.returncode == 0


def test_a_sigterm_that_comes_when_all_is_done_does_not_change_the_status(start: Start) -> None:
    process = start(RUN + '\nprint("last", flush=True)\nsys.stdin.readline()')
    assert read_line(process) == "ready"
    process.send_signal(signal.SIGTERM)
    assert [read_line(process) for _ in range(4)] == ["stopped", "stopped", "end", "last"]
    process.send_signal(signal.SIGTERM)
    process.communicate("\n", timeout=20)
    assert process.returncode == 0


def test_a_thread_that_does_not_end_cannot_keep_the_process_alive(start: Start) -> None:
    process = start("""
async def call_a_driver(stop, ready):
    ready.set()
    await asyncio.to_thread(threading.Event().wait)

processes.run_process(
    [Service("one", call_a_driver)], on_ready=say_ready, limits=Limits(stop=0.1, cancel=0.1)
)
""")
    assert read_line(process) == "ready"
    process.send_signal(signal.SIGTERM)
    _, log = finish(process)
    assert process.returncode == 2
    assert [line["event"] for line in log[-2:]] == ["process.services_overdue", "process.stop_overdue"]


def test_a_process_that_is_stuck_ends_itself_in_time_and_says_so(start: Start) -> None:
    process = start(STUCK.replace("SECONDS", "0.1"))
    assert read_line(process) == "ready"
    process.send_signal(signal.SIGTERM)
    _, log = finish(process)
    assert process.returncode == 2
    assert log[-1]["event"] == "process.stop_overdue"


def test_a_service_that_swallows_its_cancellation_cannot_keep_a_failing_process_alive(start: Start) -> None:
    process = start("""
async def stubborn(stop, ready):
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

async def fail(stop, ready):
    raise ValueError("bad")

processes.run_process([Service("one", stubborn), Service("two", fail)], limits=Limits(stop=0.1, cancel=0.1))
""")
    _, log = finish(process)
    assert process.returncode == 2
    assert [line["event"] for line in log] == [
        "process.service_failed",
        "process.services_overdue",
        "process.stop_overdue",
    ]


def test_the_signals_work_while_a_callback_blocks_the_loop(start: Start) -> None:
    process = start("""
async def busy(stop, ready):
    ready.set()
    await asyncio.sleep(0)
    print("busy", flush=True)
    threading.Event().wait()

processes.run_process([Service("one", busy)], limits=Limits(stop=0.1, cancel=0.1))
""")
    assert read_line(process) == "busy"
    process.send_signal(signal.SIGTERM)
    finish(process)
    assert process.returncode == 2


def test_a_process_whose_log_nobody_reads_ends_all_the_same(start: Start) -> None:
    process = start("""
async def flood(stop, ready):
    ready.set()
    await asyncio.sleep(0)
    print("flooding", flush=True)
    log = processes.EventLog("flood")
    while True:
        log.info("flood.line", text="x" * 1000)

processes.run_process([Service("one", flood)], limits=Limits(stop=0.1, cancel=0.1))
""")
    assert read_line(process) == "flooding"
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 2


def test_the_error_of_a_failing_service_leaves_the_process_as_itself(start: Start) -> None:
    process = start("""
async def fail(stop, ready):
    raise ValueError("bad")

try:
    processes.run_process([Service("one", wait), Service("two", fail)])
except processes.ServiceFailedError as error:
    print(error.service, type(error.__cause__).__name__, flush=True)
""")
    out, log = finish(process)
    assert out == ["stopped", "two", "ValueError"]
    assert "Traceback" in log[0]["trace"]
