"""Programs that run containers, their versions and sockets."""

import os.path
from collections.abc import Callable, Mapping
from functools import partial

import msgspec

from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.reading import Answer, Faults, attributes, unknown
from nodeworthy_detector.sources.system.go_programs import read_go_version
from nodeworthy_detector.sources.system.libraries import FOLDERS, version_in
from nodeworthy_detector.sources.system.packages import read_packages

_OWN_FOLDERS = ("usr/local/bin", "usr/local/sbin", "opt/bin")
"""Where people install beside the distribution's packages; these come first in PATH (opt/bin: Flatcar)."""

_DISTRIBUTION_FOLDERS = ("usr/bin", "usr/sbin", "bin", "sbin")


class Runtime(msgspec.Struct, frozen=True):
    """A program that runs containers, or takes part in it."""

    name: str
    program: str
    packages: tuple[str, ...]
    sockets: tuple[str, ...] = ()
    """Where it listens while it runs."""
    is_go: bool = True
    """Its build leaves a version in it."""


RUNTIMES = (
    Runtime(
        "containerd",
        "containerd",
        ("containerd", "containerd.io"),
        ("run/containerd/containerd.sock", "run/k3s/containerd/containerd.sock"),
    ),
    Runtime("cri-o", "crio", ("cri-o",), ("run/crio/crio.sock",)),
    Runtime("docker", "dockerd", ("docker.io", "docker-ce", "docker"), ("run/docker.sock",)),
    Runtime("podman", "podman", ("podman",), ("run/podman/podman.sock",)),
    Runtime("runc", "runc", ("runc",)),
    Runtime("crun", "crun", ("crun",), is_go=False),
    Runtime(
        "nvidia-container-runtime",
        "nvidia-container-runtime",
        ("nvidia-container-toolkit-base", "nvidia-container-toolkit"),
    ),
)
"""What runs containers on the nodes of clusters and on developers' machines."""

_SECCOMP = "libseccomp"
_SECCOMP_FILE = "libseccomp.so.2"
"""The link to the library that runtimes load."""


def read_runtimes(host: Host, faults: Faults) -> Answer:
    """Each program's version, and the path of its socket while it listens, as ``containerd`` and ``containerd.socket``.

    A program that is there and whose version no file tells is unobserved: for example on systems with rpm, whose database is
    not read, where the build has left no version in the program.
    """
    if not host.is_folder("usr/bin"):
        return unknown("usr/bin is not there")
    installed = _read_installed(host, faults)
    values: dict[str, str | None] = {}
    unobserved: set[str] = set()

    def observe(name: str, read: Callable[[], str | None]) -> None:
        """Keep what ``read`` finds; an empty text means that it is there and does not tell."""
        try:
            value = read()
        except HostReadError as error:
            faults.add(error)
            value = ""
        if value == "":
            unobserved.add(name)
        else:
            values[name] = value

    for runtime in RUNTIMES:
        observe(f"{runtime.name}.socket", partial(_find_socket, host, runtime))
        observe(runtime.name, partial(_find_version, host, runtime, installed))
    observe(_SECCOMP, partial(_read_seccomp, host))
    return attributes(values, unobserved)


def _read_installed(host: Host, faults: Faults) -> Mapping[str, str]:
    try:
        return read_packages(host, [package for runtime in RUNTIMES for package in runtime.packages]) or {}
    except HostReadError as error:
        faults.add(error)
        return {}


def _find_version(host: Host, runtime: Runtime, installed: Mapping[str, str]) -> str | None:
    """The version of the program that PATH leads to; empty where it does not tell, ``None`` where there is none."""
    own = _find_program(host, runtime.program, _OWN_FOLDERS)
    if own is not None:
        return _read_version(host, runtime, own)
    for package in runtime.packages:
        if package in installed:
            return installed[package]
    path = _find_program(host, runtime.program, _DISTRIBUTION_FOLDERS)
    if path is not None:
        return _read_version(host, runtime, path)
    return "" if _find_socket(host, runtime) else None  # k3s and others bring a program of their own


def _find_socket(host: Host, runtime: Runtime) -> str | None:
    return next((f"/{path}" for path in runtime.sockets if host.exists(path)), None)


def _find_program(host: Host, name: str, folders: tuple[str, ...]) -> str | None:
    return next((path for folder in folders if host.exists(path := f"{folder}/{name}")), None)


def _read_version(host: Host, runtime: Runtime, path: str) -> str:
    return (read_go_version(host, path) or "") if runtime.is_go else ""


def _read_seccomp(host: Host) -> str | None:
    """The version in the name of the file that the library's link leads to, as ``libseccomp.so.2.5.4``.

    Empty where the name tells none, ``None`` where there is no such library.
    """
    for folder in FOLDERS:
        path = f"{folder}/{_SECCOMP_FILE}"
        if host.exists(path):
            try:
                return version_in(os.path.realpath(host.locate(path))) or ""
            except OSError as error:
                raise HostReadError(path, "cannot be followed") from error
    return None
