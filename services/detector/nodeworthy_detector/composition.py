"""The sources as settings and configuration have them, and what tells of each source's changes."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from nodeworthy_detector.configuration import Configuration
from nodeworthy_detector.device_events import DeviceEvents
from nodeworthy_detector.folder_watch import FolderWatch, WatchedSource
from nodeworthy_detector.programs.runner import ProgramRunner
from nodeworthy_detector.programs.source import ProgramsSource
from nodeworthy_detector.settings import Pace, Settings
from nodeworthy_detector.sources import CustomSource, KernelSource, LocalSource, Source, SystemSource
from nodeworthy_detector.sources.kernel_log import KernelLogSource
from nodeworthy_detector.sources.system.libraries import Library


class Notices(NamedTuple):
    """What tells of changes."""

    folders: FolderWatch
    devices: DeviceEvents

    def problem(self, source: Source) -> str:
        """Why changes of a source may go unnoticed that could be told; empty if they do not."""
        if isinstance(source, WatchedSource):
            return self.folders.problem(source.folder)
        if isinstance(source, KernelLogSource):
            return "nothing tells of new lines of the kernel log"
        return self.devices.problem(source.name)


class Composer(NamedTuple):
    """Makes the sources of a service from those that have no settings."""

    settings: Settings
    folders: FolderWatch
    runner: ProgramRunner

    def make(self, sources: Sequence[Source], configuration: Configuration) -> tuple[Source, ...]:
        """The sources, those that can be set as settings and configuration have them; what settings say counts.

        Beside them stands what only a service has: the programs, which somebody has to run.
        """
        self.runner.settings = configuration.programs
        folder = configuration.programs.folder
        programs = self._watch(ProgramsSource(folder, self.runner), folder)
        return (*(self._set(source, configuration) for source in sources), programs)

    def _set(self, source: Source, configuration: Configuration) -> Source:
        if isinstance(source, LocalSource):
            folder = self.settings.features_d or configuration.features_d or source.folder
            return self._watch(msgspec.structs.replace(source, folder=folder), folder)
        if isinstance(source, CustomSource):
            folder = configuration.custom_d or source.folder
            set_up = msgspec.structs.replace(source, folder=folder, rules=configuration.custom_rules)
            return self._watch(set_up, folder, is_deep=True)
        if isinstance(source, KernelSource):
            return msgspec.structs.replace(source, config_file=configuration.kernel_config)
        if isinstance(source, SystemSource):
            more = (Library(name, file) for name, files in configuration.libraries.items() for file in files)
            return msgspec.structs.replace(
                source,
                node_name=self.settings.node,
                libraries=(*source.libraries, *more),
                library_folders=(*source.library_folders, *configuration.library_folders),
            )
        return source

    def _watch(self, source: Source, folder: str, *, is_deep: bool = False) -> WatchedSource:
        return WatchedSource(source, self.folders, folder, is_deep)


def choose_intervals(
    sources: Sequence[Source], configuration: Configuration, notices: Notices, pace: Pace
) -> Mapping[str, float]:
    """Seconds between two looks at each source that is not disabled."""
    return {
        source.name: configuration.intervals.get(source.name) or _interval(source, notices, pace)
        for source in sources
        if source.name not in configuration.disabled
    }


def _interval(source: Source, notices: Notices, pace: Pace) -> float:
    return min(pace.poll, pace.seconds) if notices.problem(source) else pace.seconds
