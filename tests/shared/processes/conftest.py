"""Processes of their own, since signals and exits cannot be tried on the one that runs the tests."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

END_SECONDS = 20
"""A bound for a process that is told to end; it takes milliseconds when nothing is wrong."""

Start = Callable[[str], subprocess.Popen[str]]

HEAD = """
import asyncio, contextlib, os, signal, sys, threading
from nodeworthy import processes
from nodeworthy.processes import Limits, Service, frame
processes.configure_logs(form=processes.LogFormat.JSON)

async def wait(stop, ready):
    ready.set()
    await stop.wait()
    print("stopped", flush=True)

def say_ready():
    print("ready", flush=True)
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Run Python code below :data:`HEAD` in a process; it ends with the test."""
    running: list[subprocess.Popen[str]] = []

    def run(code: str) -> subprocess.Popen[str]:
        script = tmp_path / "process.py"
        script.write_text(HEAD + code)
        process = subprocess.Popen(
            [sys.executable, "-W", "error", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield run
    for process in running:
        with process:
            process.kill()
