"""Passes over the sources of a running service: in a thread, so that a file system that hangs stops nobody but itself."""

import asyncio
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence

from nodeworthy.features import Snapshot
from nodeworthy.processes import EventLog
from nodeworthy_detector.discovery import SourceAnswer, ask, assemble, failed, not_asked
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import Source

_LOG = EventLog("detector")


class Scanner:
    """Asks the sources of one host again and again, and keeps the last answer of each.

    One thread makes a pass, which is some milliseconds of reading files. A source that does not answer within its time is
    left behind with its thread: its sets are unknown, the other sources go on in a new thread, and it is asked again when
    it has come back. So there are never more threads than sources, and one more. One scan at a time.
    """

    def __init__(
        self, host: Host, sources: Sequence[Source], *, seconds: float, on_return: Callable[[str], None]
    ) -> None:
        """``seconds`` is a source's time; ``on_return`` is told the name of a source that came back."""
        self._host = host
        self._sources = tuple(sources)
        self._seconds = seconds
        self._on_return = on_return
        self._answers: dict[str, SourceAnswer] = {source.name: not_asked(source) for source in sources}
        self._away: set[str] = set()
        self.cpu_seconds = 0.0
        """Processor time of the last pass."""

    @property
    def names(self) -> frozenset[str]:
        """The names of all sources."""
        return frozenset(self._answers)

    @property
    def away(self) -> frozenset[str]:
        """The sources that have not come back."""
        return frozenset(self._away)

    async def scan(self, only: Collection[str] | None = None) -> Snapshot:
        """Ask all sources, or ``only`` some; what the others said last still counts."""
        pending = [s for s in self._sources if (only is None or s.name in only) and s.name not in self._away]
        self.cpu_seconds = 0.0
        while pending:
            pending = await self._pass_over(pending)
        return assemble((source.name, self._answers[source.name]) for source in self._sources)

    async def _pass_over(self, sources: list[Source]) -> list[Source]:
        """Ask the sources in turn; gives those that were not reached because the one before them hangs."""
        run = _Pass(self._host, sources, self._answers, asyncio.get_running_loop())
        run.start()
        while not await run.wait(self._seconds):
            if run.waited() >= self._seconds:
                return self._leave(run, sources)
        self._answers |= run.answers
        self.cpu_seconds += run.cpu_seconds
        return []

    def _leave(self, run: "_Pass", sources: list[Source]) -> list[Source]:
        source = run.abandon(self._welcome)
        self._answers |= run.answers
        if source is None:  # it came back this very moment
            return [left for left in sources if left.name not in run.answers]
        why = f"no answer within {self._seconds:g} s"
        _LOG.error("detector.source_hangs", source=source.name, seconds=self._seconds)
        self._answers[source.name] = failed(source, f"source {source.name}: {why}", why)
        self._away.add(source.name)
        return [left for left in sources if left.name not in run.answers and left is not source]

    def _welcome(self, name: str) -> None:
        _LOG.info("detector.source_returned", source=name)
        self._away.discard(name)
        self._on_return(name)


class _Pass:
    """One thread that asks sources in turn. It is no thread of a pool: the end of the process would wait for those."""

    def __init__(
        self,
        host: Host,
        sources: Sequence[Source],
        before: Mapping[str, SourceAnswer],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._before = {source.name: before[source.name] for source in sources}
        self.answers: dict[str, SourceAnswer] = {}
        self.cpu_seconds = 0.0
        self._host = host
        self._sources = sources
        self._loop = loop
        self._done = asyncio.Event()
        self._lock = threading.Lock()
        self._current: Source | None = None
        self._since = time.monotonic()
        self._welcome: Callable[[str], None] | None = None

    def start(self) -> None:
        threading.Thread(target=self._run, name="scan", daemon=True).start()

    async def wait(self, seconds: float) -> bool:
        """Whether the pass ended within the time that its present source has left."""
        try:
            async with asyncio.timeout(max(seconds - self.waited(), 0)):
                await self._done.wait()
        except TimeoutError:
            return False
        return True

    def waited(self) -> float:
        """For how long the present source has been asked, in seconds."""
        return time.monotonic() - self._since

    def abandon(self, welcome: Callable[[str], None]) -> Source | None:
        """Give up the source that is being asked, and the thread with it; ``welcome`` is called when it comes back."""
        with self._lock:
            self._welcome = welcome
            return self._current

    def _run(self) -> None:
        for source in self._sources:
            with self._lock:
                if self._welcome is not None:
                    return
                self._current, self._since = source, time.monotonic()
            answer = ask(source, self._host, self._before[source.name])
            with self._lock:
                self._current = None
                if self._welcome is not None:
                    self._tell(self._welcome, source.name)
                    return
                self.answers[source.name] = answer
        self.cpu_seconds = time.thread_time()  # the thread has done nothing else
        self._tell(self._done.set)

    def _tell(self, call: Callable[..., object], *arguments: str) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *arguments)
        except RuntimeError:  # the loop was closed in between: nobody is left to be told
            _LOG.debug("detector.scan_unheard")
