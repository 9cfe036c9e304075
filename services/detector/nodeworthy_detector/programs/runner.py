"""When programs run, and what is known of each by what it said last."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from nodeworthy.processes import EventLog
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.programs.listing import ProgramFile
from nodeworthy_detector.programs.output import ProgramFacts, ProgramOutputError, parse_output
from nodeworthy_detector.programs.running import Run, run_program
from nodeworthy_detector.programs.settings import OneRun, ProgramSettings

_LOG = EventLog("detector")

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where a shell script finds its tools; the rest of a program's environment is what the configuration gives it."""


class Outcome(msgspec.Struct, frozen=True):
    """What is known of one program after a run."""

    file: ProgramFile
    """What ran."""
    facts: ProgramFacts | None
    """What it said when it last said something."""
    problem: str = ""
    """Why it says nothing now."""


class _Wanted(NamedTuple):
    """A program, and how it is to run."""

    file: ProgramFile
    way: OneRun


def _utc_now() -> datetime:
    return datetime.now(UTC)


class ProgramRunner:
    """Runs the programs of a list, each in its interval; :meth:`run` does the work.

    ``on_change`` is called on the loop when an outcome is another one than before; ``outcomes`` may be read in any thread.
    """

    def __init__(
        self,
        settings: ProgramSettings,
        host: Host,
        on_change: Callable[[], None],
        *,
        now: Callable[[], datetime] = _utc_now,
    ) -> None:
        self.settings = settings
        """May be replaced at any time: the next list of the folder follows it, and what is to run otherwise runs anew."""
        self.outcomes: Mapping[str, Outcome] = {}
        """By the program's name; one mapping is never changed, but replaced."""
        self._host = host
        self._on_change = on_change
        self._now = now
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._wanted: dict[str, _Wanted] = {}
        self._due: dict[str, float] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._said: dict[str, str] = {}
        """The standard error of each program that is in the log already."""

    def hand_over(self, files: tuple[ProgramFile, ...]) -> None:
        """As :meth:`accept`, from another thread."""
        self._loop.call_soon_threadsafe(self.accept, files)

    def accept(self, files: tuple[ProgramFile, ...]) -> None:
        """Take the folder's programs as they are now: what is new or changed runs at once, what is gone is ended."""
        wanted = {file.name: _Wanted(file, self.settings.of(file.file)) for file in files if not file.problem}
        for name in self._wanted.keys() - wanted.keys():
            self._forget(name)
        for name, program in wanted.items():
            if self._wanted.get(name) != program:
                self._due[name] = self._loop.time()
        self._wanted = wanted
        self.outcomes = {name: outcome for name, outcome in self.outcomes.items() if name in wanted}
        self._wake.set()

    async def run(self) -> None:
        """Run what is due until cancelled; then everything that was started is ended."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._wake.clear()
                for name in self._next():
                    self._running[name] = group.create_task(self._run(self._wanted[name]), name=f"program {name}")
                await self._wait()

    def _next(self) -> list[str]:
        """The programs that run now, the longest due first."""
        now = self._loop.time()
        due = sorted((time, name) for name, time in self._due.items() if time <= now and name not in self._running)
        room = self.settings.concurrency - len(self._running)
        return [name for _, name in due[: max(0, room)]]

    async def _wait(self) -> None:
        idle = [time for name, time in self._due.items() if name not in self._running]
        has_room = len(self._running) < self.settings.concurrency
        try:
            async with asyncio.timeout_at(min(idle) if idle and has_room else None):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _run(self, program: _Wanted) -> None:
        file, way = program
        environment = {"PATH": PATH, "NODEWORTHY_HOST_ROOT": str(self._host), **way.environment}
        try:
            run = await run_program(file.path, environment, way.timeout)
            if self._wanted.get(file.name) == program:
                self._due[file.name] = self._loop.time() + way.interval
                self._log_errors(file, run)
                self._note(self._judge(file, run))
        finally:
            del self._running[file.name]
            self._wake.set()

    def _judge(self, file: ProgramFile, run: Run) -> Outcome:
        problem = run.problem
        if not problem:
            try:
                return Outcome(file, parse_output(run.output, self._now()))
            except ProgramOutputError as error:
                problem = str(error)
        before = self.outcomes.get(file.name)
        return Outcome(file, before.facts if before else None, problem)

    def _note(self, outcome: Outcome) -> None:
        name = outcome.file.name
        before = self.outcomes.get(name)
        if outcome == before:
            return
        self.outcomes = {**self.outcomes, name: outcome}
        if outcome.problem and (before is None or outcome.problem != before.problem):
            _LOG.warning("detector.program_failed", program=outcome.file.file, problem=outcome.problem)
        elif before is not None and before.problem and not outcome.problem:
            _LOG.info("detector.program_works", program=outcome.file.file)
        self._on_change()

    def _log_errors(self, file: ProgramFile, run: Run) -> None:
        """The end of what it wrote to standard error, unless that is in the log from the run before."""
        if run.errors and run.errors != self._said.get(file.name):
            _LOG.info("detector.program_said", program=file.file, text=run.errors)
        self._said[file.name] = run.errors

    def _forget(self, name: str) -> None:
        self._due.pop(name, None)
        self._said.pop(name, None)
        task = self._running.get(name)
        if task is not None:
            task.cancel()
