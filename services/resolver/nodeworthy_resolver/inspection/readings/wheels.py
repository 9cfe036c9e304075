"""Python packages: what is installed, for which C library it was built, and the processors that it needs.

The folders and files are those of "Recording installed projects" and "Platform compatibility tags" of the Python packaging
specifications (https://packaging.python.org/en/latest/specifications/).
"""

import re
from collections.abc import Iterator
from posixpath import basename
from typing import NamedTuple

from nodeworthy.requirements import Defect, Effect, Evidence, Requirement, Software, Sureness
from nodeworthy_resolver.inspection.readings.findings import Findings, architecture, weaker
from nodeworthy_resolver.inspection.readings.known_software import Known, ask, known_software
from nodeworthy_resolver.inspection.readings.libcs import GLIBC, Libc, running_libc
from nodeworthy_resolver.inspection.readings.python_baselines import read_baseline
from nodeworthy_resolver.inspection.readings.python_environments import SiteFolder, find_site_folders
from nodeworthy_resolver.inspection.subject import Outcome, Subject

_INSTALLED = re.compile(r"(.+?)-([^-]+)(?:-py[0-9.]+)?\.(dist-info|egg-info)")
_TAG = re.compile(r"^Tag: *\S+-\S+-(\S+)", re.MULTILINE)
_GLIBC_FLOOR = re.compile(r"manylinux_([0-9]{1,3})_([0-9]{1,3})_")
_LEGACY_FLOORS = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}
"""PEP 513, 571 and 599; PEP 600 writes the version itself."""
_PORTABLE = ("manylinux", "musllinux")


class Wheel(NamedTuple):
    """One installed package."""

    name: str
    """Normalised: small letters, runs of ``-_.`` written as ``-``."""
    version: str
    path: str
    """The folder that tells of it."""
    tags: tuple[str, ...]
    """Platform tags, as ``manylinux_2_28_x86_64``; none for an egg."""
    folder: SiteFolder

    @property
    def is_portable(self) -> bool:
        """Whether it is a build for many distributions, as PyPI has it, and not made by a distribution or on the spot."""
        return any(tag.startswith(_PORTABLE) for tag in self.tags)

    @property
    def glibc_floor(self) -> tuple[int, int] | None:
        """The oldest glibc for which one of its tags is; ``None`` for others than manylinux."""
        floors = [floor for tag in self.tags if (floor := _floor(tag))]
        return min(floors, default=None)


def read_wheels(subject: Subject) -> Outcome:
    """The Python packages of the image, and what those that are known need."""
    findings = Findings()
    machine = architecture(subject)
    libc = running_libc(subject)
    for wheel in find_wheels(subject, findings):
        findings.software.append(Software(wheel.name, wheel.version, "wheel", wheel.path))
        findings.requirements.extend(_needs(subject, wheel, machine, findings))
        if wheel.is_portable:
            findings.defects.extend(_too_new(wheel, libc))
    return findings.outcome()


def find_wheels(subject: Subject, findings: Findings) -> Iterator[Wheel]:
    """Every installed package, by folder and name."""
    for folder in find_site_folders(subject, findings):
        for name in subject.tree.names(folder.path):
            found = _INSTALLED.fullmatch(name)
            if found is None:
                continue
            path = f"{folder.path}/{name}"
            text = findings.text(subject, f"{path}/WHEEL") or ""
            tags = tuple(tag for match in _TAG.finditer(text) for tag in match[1].split("."))
            yield Wheel(normalized(found[1]), found[2], path, tags, folder)


def normalized(name: str) -> str:
    """A package's name as it is compared ("Names and normalization").

    >>> normalized("Polars_LTS.CPU")
    'polars-lts-cpu'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def _floor(tag: str) -> tuple[int, int] | None:
    found = _GLIBC_FLOOR.match(tag)
    if found:
        return int(found[1]), int(found[2])
    return next((floor for name, floor in _LEGACY_FLOORS.items() if tag.startswith(f"{name}_")), None)


def _needs(subject: Subject, wheel: Wheel, machine: str, findings: Findings) -> Iterator[Requirement]:
    """What its own files say, whoever built them; else, for the builds of PyPI, what the table does."""
    exact = read_baseline(subject, wheel.folder, wheel.name, findings)
    if exact is not None or not wheel.is_portable:
        yield from exact or ()
        return
    evidence = (Evidence(wheel.path, f"{wheel.name} {wheel.version}"),)
    for known in _known(wheel.name):
        yield from ask(known, wheel.version, machine, wheel.folder.sureness, evidence)


def _known(name: str) -> Iterator[Known]:
    return (known for known in known_software() if name in known.wheels)


def _too_new(wheel: Wheel, libc: Libc | None) -> Iterator[Defect]:
    floor = wheel.glibc_floor
    if floor is None or libc is None or libc.kind != GLIBC or libc.numbers[:2] >= floor:
        return
    yield Defect(
        code="wheel-needs-newer-glibc",
        text=f"{wheel.name} {wheel.version} was built for glibc {floor[0]}.{floor[1]}, the image has {libc.version}",
        effect=Effect.CRASHES,
        # The tag is a promise of the oldest library that works; which symbols are really used, its files say.
        sureness=weaker(Sureness.PROBABLE, wheel.folder.sureness),
        evidence=(Evidence(f"{wheel.path}/WHEEL", ", ".join(wheel.tags), rule="PEP 600"), libc.evidence),
        remedy=f"a base image with glibc {floor[0]}.{floor[1]}, or an older {basename(wheel.path).partition('-')[0]}",
    )
