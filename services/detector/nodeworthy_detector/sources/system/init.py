"""The program that started everything else on the host, process 1."""

import os.path
import re

from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.reading import Answer, Faults, attributes, unknown

_SYSTEMD_RUNS = "run/systemd/system"
"""The folder that is there while systemd is process 1: sd_booted(3)."""

_OPENRC_RUNS = "run/openrc"
"""OpenRC keeps its state there; process 1 beside it is BusyBox's or sysvinit's ``init``."""

_COMMAND = "proc/1/comm"
_PROGRAM = "proc/1/exe"
_INSTALLED = "sbin/init"

_SYSTEMD_LIBRARY = re.compile(r"libsystemd-shared-([0-9]+)(?:[.~-][^/]*)?\.so")
"""The version stands in the name of systemd's own library (systemd, src/shared/meson.build)."""

_SYSTEMD_FOLDERS = (
    "usr/lib/systemd",
    "lib/systemd",
    "usr/lib64/systemd",
    "usr/lib/x86_64-linux-gnu/systemd",
    "usr/lib/aarch64-linux-gnu/systemd",
)


def read_init(host: Host, faults: Faults) -> Answer:
    """``name`` of what manages services, ``command`` of process 1, and ``version`` where files tell it (systemd)."""
    command = _read_command(host, faults)
    name = _find_name(host, command)
    if name is None:
        return unknown(f"neither {_SYSTEMD_RUNS} nor {_COMMAND} is there, and {_INSTALLED} leads nowhere")
    return attributes(
        {
            "name": name,
            "command": command,
            "version": _read_systemd_version(host) if name == "systemd" else None,
        }
    )


def _read_command(host: Host, faults: Faults) -> str | None:
    try:
        return host.read_value(_COMMAND) or None
    except HostReadError as error:
        faults.add(error)
        return None


def _find_name(host: Host, command: str | None) -> str | None:
    """Its name, asked of what runs first, and of what is installed only where nothing tells what runs."""
    if host.is_folder(_SYSTEMD_RUNS):
        return "systemd"
    if host.is_folder(_OPENRC_RUNS):
        return "openrc"
    if command is not None and command != "init":
        return command
    # ``init`` is what many call themselves; the program's own file tells more.
    for path in (_PROGRAM, _INSTALLED):
        program = _program_name(host, path)
        if program is not None:
            return program
    return command


def _program_name(host: Host, path: str) -> str | None:
    """The name of the file at the end of the links; ``None`` if it is not there, or may not be seen."""
    try:
        place = host.locate(path)
        # The kernel marks the file of a running program that was replaced since.
        return os.path.basename(os.path.realpath(place)).removesuffix(" (deleted)") if os.path.lexists(place) else None  # noqa: PTH119 # a name, not a file
    except (HostReadError, OSError):
        return None


def _read_systemd_version(host: Host) -> str | None:
    for folder in _SYSTEMD_FOLDERS:
        for name in host.list_names(folder) or ():
            if found := _SYSTEMD_LIBRARY.fullmatch(name):
                return found[1]
    return None
