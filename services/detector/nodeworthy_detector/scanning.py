"""Passes over the sources of a running service: in a thread, so that a file system that hangs stops nobody but itself."""

import asyncio
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.processes import EventLog
from nodeworthy_detector.discovery import SourceAnswer, ask, assemble, disabled, failed, not_asked
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import Source

_LOG = EventLog("detector")


class Look(NamedTuple):
    """How one look at one source went."""

    time: float
    """Unix time of its end."""
    seconds: float
    """How long it took."""
    cpu_seconds: float
    facts: int
    """Flags, attributes and devices that it found."""
    expires_in: float | None
    """Seconds after which the source would say something else though nothing has changed; ``None``: never."""


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
        self._seconds = seconds
        self._on_return = on_return
        self._sources: tuple[Source, ...] = ()
        self._answers: dict[str, SourceAnswer] = {}
        self._away: set[str] = set()
        self._disabled: frozenset[str] = frozenset()
        self.last_looks: Mapping[str, Look] = {}
        """The looks of the last scan, by source."""
        self.looks: dict[str, Look] = {}
        """The last look at each source that came to an end."""
        self.set_sources(sources)

    def set_sources(self, sources: Sequence[Source], disabled_names: Collection[str] = ()) -> frozenset[str]:
        """Ask these sources from now on, but for the disabled ones; gives the names of those that are not as before."""
        before = {source.name: source for source in self._sources if source.name not in self._disabled}
        self._sources, self._disabled = tuple(sources), frozenset(disabled_names)
        answers = {}
        for source in self._sources:
            if source.name in self._disabled:
                answers[source.name] = disabled(source)
            elif before.get(source.name) == source:
                answers[source.name] = self._answers[source.name]
            else:
                answers[source.name] = not_asked(source)
        self._answers = answers
        self.looks = {name: look for name, look in self.looks.items() if name in self.names}
        return frozenset(source.name for source in sources if before.get(source.name) != source) & self.names

    @property
    def names(self) -> frozenset[str]:
        """The names of all sources that are asked."""
        return frozenset(self._answers) - self._disabled

    @property
    def away(self) -> frozenset[str]:
        """The sources that have not come back."""
        return frozenset(self._away)

    async def scan(self, only: Collection[str] | None = None) -> Snapshot:
        """Ask all sources, or ``only`` some; what the others said last still counts."""
        chosen = self.names - self._away if only is None else (self.names - self._away) & frozenset(only)
        pending = [source for source in self._sources if source.name in chosen]
        self.last_looks = {}
        while pending:
            pending = await self._pass_over(pending)
        return self.snapshot()

    def snapshot(self) -> Snapshot:
        """What all sources said last."""
        return assemble((source.name, self._answers[source.name]) for source in self._sources)

    async def _pass_over(self, sources: list[Source]) -> list[Source]:
        """Ask the sources in turn; gives those that were not reached because the one before them hangs."""
        run = _Pass(self._host, sources, self._answers, asyncio.get_running_loop())
        run.start()
        while not await run.wait(self._seconds):
            if run.waited() >= self._seconds:
                return self._leave(run, sources)
        self._take(run)
        return []

    def _take(self, run: "_Pass") -> None:
        self._answers |= run.answers
        self.looks |= run.looks
        self.last_looks = {**self.last_looks, **run.looks}

    def _leave(self, run: "_Pass", sources: list[Source]) -> list[Source]:
        source = run.abandon(self._welcome)
        self._take(run)
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
        self.looks: dict[str, Look] = {}
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
            cpu = time.thread_time()
            answer = ask(source, self._host, self._before[source.name])
            look = _look(answer, time.monotonic() - self._since, time.thread_time() - cpu)
            with self._lock:
                self._current = None
                if self._welcome is not None:
                    self._tell(self._welcome, source.name)
                    return
                self.answers[source.name] = answer
                self.looks[source.name] = look
        self._tell(self._done.set)

    def _tell(self, call: Callable[..., object], *arguments: str) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *arguments)
        except RuntimeError:  # the loop was closed in between: nobody is left to be told
            _LOG.debug("detector.scan_unheard")


def _look(answer: SourceAnswer, seconds: float, cpu_seconds: float) -> Look:
    facts = sum(_count(content) for content in answer.sets.values() if isinstance(content, FeatureSet))
    return Look(time.time(), seconds, cpu_seconds, facts, answer.expires_in)


def _count(content: FeatureSet) -> int:
    return sum(len(part or ()) for part in (content.flags, content.attributes, content.instances))
