"""A running detector's eyes: what is looked at and when, and what is made of it. It knows no bus."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from nodeworthy.features import Snapshot, SourceHealth, is_blind
from nodeworthy.processes import EventLog
from nodeworthy_detector.agenda import Agenda
from nodeworthy_detector.composition import Composer, Notices, choose_intervals
from nodeworthy_detector.configuration_file import ConfigurationFile
from nodeworthy_detector.device_events import DeviceEvents
from nodeworthy_detector.folder_watch import FolderWatch, WatchedSource
from nodeworthy_detector.heap import trim_heap
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.metrics import Metrics
from nodeworthy_detector.programs.runner import ProgramRunner
from nodeworthy_detector.scanning import Scanner
from nodeworthy_detector.settings import Settings
from nodeworthy_detector.sources import Source

_LOG = EventLog("detector")

CONFIGURATION = "configuration"
"""The name under which the configuration file stands among the sources in a snapshot's health, while it is wrong."""

Offer = Callable[[Snapshot, tuple[str, ...]], None]
"""Takes what was found, and the requests that it answers."""


class Detection:
    """Looks at one machine whenever it is time."""

    def __init__(
        self,
        settings: Settings,
        host: Host,
        sources: Sequence[Source],
        file: ConfigurationFile,
        metrics: Metrics,
        offer: Offer,
    ) -> None:
        """``sources`` are as they are without settings; ``offer`` is told what is new, or was asked for."""
        self._settings = settings
        self._plain_sources = tuple(sources)
        self._file = file
        self._metrics = metrics
        self._offer = offer
        self._notices = Notices(FolderWatch(host, self._note_folder), DeviceEvents(host, self._note_change))
        self._runner = ProgramRunner(file.current.programs, host, partial(self._note_change, "programs"))
        self._composer = Composer(settings, self._notices.folders, self._runner)
        self._sources = self._composer.make(sources, file.current)
        self.scanner = Scanner(host, (), seconds=settings.pace.source, on_return=self._note_change)
        self.scanner.set_sources(self._sources, file.current.disabled)
        self.agenda = Agenda(settings.pace, asyncio.get_running_loop().time, {})
        self._looking = asyncio.Lock()
        self._last: Snapshot | None = None

    @property
    def source_names(self) -> frozenset[str]:
        """The names of all sources, also of those that are switched off; always the same."""
        return frozenset(source.name for source in self._sources)

    def open(self) -> None:
        """Begin to listen for changes."""
        self._notices.folders.open()
        self._notices.devices.open()
        self.agenda.set_intervals(self._intervals())

    def close(self) -> None:
        """Listen no more."""
        self._notices.folders.close()
        self._notices.devices.close()

    async def run(self) -> None:
        """Look whenever it is time, and offer what was found if it is new or somebody waits for it; until cancelled."""
        while True:
            wanted = await self.agenda.take()
            async with self._looking:
                snapshot = await self.scanner.scan(wanted.sources)
                for name, look in self.scanner.last_looks.items():
                    self.agenda.note_look(name, look.cpu_seconds, look.expires_in)
                self._metrics.passes_total += 1
                self._metrics.pass_cpu_seconds = sum(look.cpu_seconds for look in self.scanner.last_looks.values())
                self._metrics.pass_time_seconds = time.time()
                self._say(snapshot, wanted.rescans)
            if self._metrics.passes_total == 1:
                trim_heap()

    async def follow_configuration(self) -> None:
        """Look as the configuration file says, whenever it changes; until cancelled."""
        await self._file.follow(self._reconfigure)

    async def run_programs(self) -> None:
        """Run the programs that administrators have put there; until cancelled."""
        await self._runner.run()

    async def _reconfigure(self) -> None:
        async with self._looking:
            configuration, old = self._file.current, self._sources
            self._sources = self._composer.make(self._plain_sources, configuration)
            if "programs" in configuration.disabled:
                self._runner.accept(())
            changed = self.scanner.set_sources(self._sources, configuration.disabled)
            self._say(await self.scanner.scan(changed), ())  # what is asked anew must not be unknown in between
            for folder in _folders(old) - _folders(self._sources):
                self._notices.folders.forget(folder)

    @property
    def health(self) -> Mapping[str, SourceHealth]:
        """How each source fares, and the configuration file if it is wrong."""
        return self._last.sources if self._last else {}

    def _say(self, snapshot: Snapshot, rescans: tuple[str, ...]) -> None:
        intervals = self._intervals()
        if intervals != self.agenda.intervals:
            self.agenda.set_intervals(intervals)
        snapshot = msgspec.structs.replace(snapshot, sources=dict(self._judge(snapshot)))
        self._note_health(snapshot.sources, intervals)
        if snapshot != self._last or rescans:
            self._last = snapshot
            self._offer(snapshot, rescans)

    def _intervals(self) -> Mapping[str, float]:
        return choose_intervals(self._sources, self._file.current, self._notices, self._settings.pace)

    def _judge(self, snapshot: Snapshot) -> Mapping[str, SourceHealth]:
        health = dict(snapshot.sources)
        for source in self._sources:
            found = health.get(source.name)
            polled = self._notices.problem(source)
            if found is not None and not found.disabled and polled:
                health[source.name] = msgspec.structs.replace(found, polled=polled)
        if self._file.problem:
            health[CONFIGURATION] = SourceHealth(error=f"the one before holds: {self._file.problem}")
        return health

    def _note_health(self, health: Mapping[str, SourceHealth], intervals: Mapping[str, float]) -> None:
        metrics, before = self._metrics, self._metrics.source_failed
        of_sources = {name: found for name, found in health.items() if name != CONFIGURATION}
        for name, found in of_sources.items():
            if bool(found.error) != bool(before.get(name)):
                event = "detector.source_failed" if found.error else "detector.source_works"
                _LOG.warning(event, source=name, error=found.error)
        blind = is_blind(of_sources)
        if blind != bool(metrics.blind):
            say = _LOG.error if blind else _LOG.info
            say("detector.blind" if blind else "detector.sees_again", sources=sorted(of_sources))
        metrics.blind = int(blind)
        metrics.device_events_total = self._notices.devices.heard
        metrics.device_events_lost_total = self._notices.devices.lost
        metrics.configuration_failed = int(bool(self._file.problem))
        metrics.source_failed = {name: int(bool(found.error)) for name, found in of_sources.items()}
        metrics.source_faults = {name: len(found.faults) for name, found in of_sources.items()}
        metrics.source_disabled = {name: int(found.disabled) for name, found in of_sources.items()}
        metrics.source_polled = {name: int(bool(found.polled)) for name, found in of_sources.items()}
        metrics.source_interval_seconds = intervals
        looks = self.scanner.looks
        metrics.source_look_time_seconds = {name: look.time for name, look in looks.items()}
        metrics.source_look_seconds = {name: round(look.seconds, 6) for name, look in looks.items()}
        metrics.source_facts = {name: look.facts for name, look in looks.items()}

    def _note_folder(self, folder: str) -> None:
        for source in self._sources:
            if isinstance(source, WatchedSource) and source.folder == folder:
                count = self._metrics.folder_changes_total.get(source.name, 0) + 1
                self._metrics.folder_changes_total = {**self._metrics.folder_changes_total, source.name: count}
                self.agenda.note_change(source.name)

    def _note_change(self, source: str) -> None:
        self.agenda.note_change(source)


def _folders(sources: Sequence[Source]) -> set[str]:
    return {source.folder for source in sources if isinstance(source, WatchedSource)}
