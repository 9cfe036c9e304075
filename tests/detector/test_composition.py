from pathlib import Path

import pytest

from nodeworthy_detector.composition import Composer, Notices, choose_intervals
from nodeworthy_detector.configuration import Configuration
from nodeworthy_detector.device_events import DeviceEvents
from nodeworthy_detector.folder_watch import FolderWatch, WatchedSource
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.programs.runner import ProgramRunner
from nodeworthy_detector.programs.settings import ProgramSettings
from nodeworthy_detector.settings import Pace, Settings
from nodeworthy_detector.sources import SOURCES, CustomSource, KernelSource, LocalSource, Source, SystemSource

PACE = Pace()


def nobody(_name: str) -> None:
    """Hears of a change, and does nothing."""


@pytest.fixture
async def notices(tmp_path: Path) -> Notices:
    """Listeners that listen to nothing: no folder is armed, no socket is open."""
    host = Host(tmp_path)
    return Notices(FolderWatch(host, nobody), DeviceEvents(host, nobody))


def compose(notices: Notices, configuration: Configuration, **settings: str) -> dict[str, Source]:
    """The sources by name, without the watches around them."""
    runner = ProgramRunner(ProgramSettings(), Host(Path("/nowhere")), lambda: None)
    composer = Composer(Settings(node="node-1", **settings), notices.folders, runner)  # type: ignore[arg-type] # of a test
    made = composer.make(SOURCES, configuration)
    return {source.name: source.source if isinstance(source, WatchedSource) else source for source in made}


async def test_settings_and_configuration_reach_their_sources(notices: Notices) -> None:
    configuration = Configuration(
        kernel_config="boot/config",
        custom_d="srv/custom.d",
        custom_rules="[]",
        libraries={"libfoo": ("libfoo.so",)},
        library_folders=("opt/lib",),
    )
    made = compose(notices, configuration)
    kernel, custom, system = made["kernel"], made["custom"], made["system"]
    assert isinstance(kernel, KernelSource)
    assert isinstance(custom, CustomSource)
    assert isinstance(system, SystemSource)
    assert kernel.config_file == "boot/config"
    assert (custom.folder, custom.rules) == ("srv/custom.d", "[]")
    assert (system.node_name, system.libraries[-1].name, system.library_folders[-1]) == ("node-1", "libfoo", "opt/lib")
    assert made.keys() == {"programs", *(source.name for source in SOURCES)}


@pytest.mark.parametrize(
    ("settings", "configuration", "folder"),
    [
        ({}, Configuration(), LocalSource().folder),
        ({}, Configuration(features_d="a"), "a"),
        ({"features_d": "b"}, Configuration(features_d="a"), "b"),
    ],
)
async def test_of_two_folders_the_one_of_the_command_line_counts(
    notices: Notices, settings: dict[str, str], configuration: Configuration, folder: str
) -> None:
    local = compose(notices, configuration, **settings)["local"]
    assert isinstance(local, LocalSource)
    assert local.folder == folder


def test_devices_are_polled_where_nothing_tells_of_them_and_what_is_stated_counts(notices: Notices) -> None:
    configuration = Configuration(intervals={"usb": 77.0}, disabled=frozenset({"accel"}))
    intervals = choose_intervals(SOURCES, configuration, notices, PACE)
    assert intervals["cpu"] == intervals["kernel"] == intervals["memory"] == intervals["system"] == 600
    assert intervals["network"] == intervals["pci"] == intervals["storage"] == 10
    assert intervals["usb"] == 77
    assert "accel" not in intervals


async def test_devices_are_looked_at_seldom_where_the_kernel_tells_of_them(tmp_path: Path) -> None:
    host = Host(tmp_path)
    (tmp_path / "features.d").mkdir()
    devices = DeviceEvents(host, nobody, find_problem=lambda _host: "")
    folders = FolderWatch(host, nobody)
    folders.open()
    folders.arm("features.d")
    devices.open()
    try:
        sources = (*SOURCES[:3], WatchedSource(LocalSource(), folders, "features.d"))
        intervals = choose_intervals(sources, Configuration(), Notices(folders, devices), PACE)
    finally:
        devices.close()
        folders.close()
    assert intervals["accel"] == intervals["cpu"] == intervals["local"] == 600
