"""The folders from which an image's Python imports, as far as they follow from its files and its config.

What ``site`` does (https://docs.python.org/3/library/site.html): the prefix is that of the executable as it was called, so
a virtual environment counts where its ``bin`` was named; a ``pyvenv.cfg`` says whether the base's folders are seen too.
"""

import re
from collections.abc import Iterable, Iterator
from posixpath import basename, dirname, join
from typing import NamedTuple

from nodeworthy.requirements import Sureness
from nodeworthy_resolver.inspection.closure.executables import DEFAULT_PATH
from nodeworthy_resolver.inspection.readings.findings import Findings, exists, weaker
from nodeworthy_resolver.inspection.subject import Subject
from nodeworthy_resolver.inspection.tree import Kind, find_file, resolve

_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*")
_VERSION = re.compile(r"[0-9]+\.[0-9]+")
_SITE = re.compile(r"(.*/(?:site|dist)-packages)(?:/|$)")
_MAX_SHEBANG = 256
"""The kernel reads no more of a first line (include/uapi/linux/binfmts.h, BINPRM_BUF_SIZE)."""


class SiteFolder(NamedTuple):
    """One folder of installed packages."""

    path: str
    sureness: Sureness | None
    """How sure it is that the Python that starts imports from it; ``None`` where nothing says so."""


def find_site_folders(subject: Subject, findings: Findings) -> tuple[SiteFolder, ...]:
    """Every folder of packages that has a library in it or belongs to the Python that starts, by path."""
    imported = _imported(subject, findings)
    others = {found[1] for path in subject.elves if (found := _SITE.match(path))}
    return tuple(SiteFolder(path, imported.get(path)) for path in sorted({*imported, *others}))


def _imported(subject: Subject, findings: Findings) -> dict[str, Sureness]:
    """The folders of the Python that starts, and how sure its start is."""
    found: dict[str, Sureness] = {}
    for python in subject.start.loaded:
        if not _PYTHON.fullmatch(basename(python.path)):
            continue
        version = _VERSION.search(basename(python.path))
        for prefix in _prefixes(subject, python.path, findings):
            folders = [one for one in _folders_below(subject, prefix) if _is_for(one, version[0] if version else "")]
            named = {each[0] for one in folders if (each := _VERSION.search(basename(dirname(one))))}
            # A Python whose file does not tell its version has one of these folders, and nobody can say which.
            sureness = python.sureness if version or len(named) <= 1 else weaker(Sureness.PROBABLE, python.sureness)
            for folder in folders:
                found.setdefault(folder, sureness)
        for part in subject.config.environment.get("PYTHONPATH", "").split(":"):
            resolved = resolve(subject.tree, part, subject.config.working_folder) if part else None
            if resolved is not None:
                found.setdefault(resolved, python.sureness)
    return found


def _is_for(folder: str, version: str) -> bool:
    """Whether a folder of packages is that of a version of Python, as ``3.12``, or of every one, as Debian's ``python3``."""
    own = _VERSION.search(basename(dirname(folder)))
    return own is None or not version or own[0] == version


def _prefixes(subject: Subject, python: str, findings: Findings) -> Iterator[str]:
    """The prefix of a virtual environment if Python was called through one, and that of Python itself."""
    base = dirname(dirname(python))
    for named in _called_as(subject, findings):
        prefix = dirname(dirname(named))
        if prefix != base and resolve(subject.tree, named) == python:
            settings = findings.text(subject, f"{prefix}/pyvenv.cfg")
            if settings is not None:
                yield resolve(subject.tree, prefix) or prefix
                if not re.search(r"^include-system-site-packages\s*=\s*true", settings, re.MULTILINE | re.IGNORECASE):
                    return
                break
    yield base


def _called_as(subject: Subject, findings: Findings) -> Iterator[str]:
    """The paths by which programs are called, links kept: arguments through PATH, and interpreters of ``#!`` lines."""
    names = [*subject.start.arguments[:1], *_shebangs(subject, findings)]
    folders = subject.config.environment.get("PATH", DEFAULT_PATH).split(":")
    for name in names:
        if "/" in name:
            yield join("/", subject.config.working_folder, name)
            continue
        for folder in folders:
            if folder and exists(subject.tree, join("/", folder, name)):
                yield join("/", folder, name)
                break


def _shebangs(subject: Subject, findings: Findings) -> Iterator[str]:
    for path in subject.start.chain:
        if path in subject.elves:
            continue
        with findings.content(subject, path) as view:
            line = bytes(view[:_MAX_SHEBANG]).partition(b"\n")[0].decode("utf-8", "surrogateescape")
        words = line.removeprefix("#!").split() if line.startswith("#!") else []
        yield from (word for word in words if not word.startswith("-"))


def _folders_below(subject: Subject, prefix: str) -> Iterator[str]:
    """``site-packages`` of CPython, ``dist-packages`` of Debian's; ``lib64`` too on Red Hat's."""
    prefixes: Iterable[str] = (prefix, "/usr/local") if prefix == "/usr" else (prefix,)
    for one in prefixes:
        for library in ("lib", "lib64"):
            for name in subject.tree.names(resolve(subject.tree, f"{one}/{library}") or ""):
                if not _PYTHON.fullmatch(name):
                    continue
                for kind in ("site-packages", "dist-packages"):
                    folder = resolve(subject.tree, f"{one}/{library}/{name}/{kind}")
                    entry = subject.tree.entry(folder) if folder else None
                    if folder is not None and entry is not None and entry.kind is Kind.FOLDER:
                        yield folder


def find_module(subject: Subject, folder: str, path: str) -> str | None:
    """A file below a folder of packages, links followed."""
    return find_file(subject.tree, path, folder)
