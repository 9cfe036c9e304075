"""The distribution of an image, and the processor that its packages were compiled for.

The table ``data/distributions.json`` has only what is above the first processors of an architecture; it is asked where the
loader's own check (libcs.py) does not tell.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from nodeworthy.formats.os_release import PLACES, parse_os_release
from nodeworthy.requirements import Effect, Evidence, Information, Layer, Requirement, Software, Sureness
from nodeworthy_resolver.inspection.closure.records import Loaded, Role
from nodeworthy_resolver.inspection.readings.findings import Findings, architecture, weaker
from nodeworthy_resolver.inspection.readings.levels import BASELINES
from nodeworthy_resolver.inspection.readings.libcs import (
    GLIBC,
    LoaderCheck,
    find_loader_check,
    is_glibc_loader,
    running_libc,
    unused_sureness,
)
from nodeworthy_resolver.inspection.readings.ranges import in_range
from nodeworthy_resolver.inspection.readings.tables import read_table
from nodeworthy_resolver.inspection.subject import Outcome, Subject

_CHECKED_SINCE = (2, 34)
"""glibc whose loader checks the processor it was compiled for (NEWS of glibc 2.33 and 2.34)."""
_CHECKED = frozenset({"amd64", "ppc64le", "s390x"})


class DistributionRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the packages of a distribution were compiled for."""

    architecture: str
    baseline: str
    """A key of ``levels.BASELINES``."""
    sureness: Sureness
    """CERTAIN: everything is compiled so; PROBABLE: other builds carry the same name."""
    source: str
    ids: tuple[str, ...] = ()
    """``ID`` of os-release; a derived distribution's own, not what it is like."""
    platform_ids: tuple[str, ...] = ()
    """``PLATFORM_ID``: the same for all that are rebuilt from one, as ``platform:el9``."""
    versions: str = ""
    """A range of ``VERSION_ID``."""


class Distribution(NamedTuple):
    """What os-release says, and where."""

    values: Mapping[str, str]
    path: str


def read_distribution(subject: Subject) -> Outcome:
    """The distribution by its os-release, and what its packages ask of a CPU."""
    findings = Findings()
    found = find_distribution(subject, findings)
    if found is not None and found.values.get("ID"):
        name, version = found.values["ID"], found.values.get("VERSION_ID", "")
        findings.software.append(Software(name, version, "distribution", found.path))
        for row in _matching(found, architecture(subject)):
            _apply(subject, found, row, findings)
    return findings.outcome()


def find_distribution(subject: Subject, findings: Findings) -> Distribution | None:
    """What os-release says; ``None`` where there is none, as in an image of one program."""
    for path in (f"/{place}" for place in PLACES):
        text = findings.text(subject, path)
        if text is not None:
            return Distribution(parse_os_release(text).values, path)
    return None


def _matching(found: Distribution, machine: str) -> Iterator[DistributionRow]:
    values = found.values
    for row in read_table("distributions", DistributionRow):
        is_named = values["ID"] in row.ids or values.get("PLATFORM_ID") in row.platform_ids
        if is_named and row.architecture == machine and in_range(values.get("VERSION_ID", ""), row.versions):
            yield row


def _apply(subject: Subject, found: Distribution, row: DistributionRow, findings: Findings) -> None:
    seen = ", ".join(
        f"{name}={found.values[name]}" for name in ("ID", "VERSION_ID", "PLATFORM_ID") if name in found.values
    )
    baseline = BASELINES[row.baseline]
    evidence = (Evidence(found.path, seen, rule=f"table of distributions: {row.source}"),)
    loader = next((one for one in subject.start.loaded if one.role is Role.LOADER and one.path in subject.elves), None)
    check = _check(subject, loader.path, findings) if loader else None
    if check is not None:
        # libcs.py asks for it already, and is exact: AlmaLinux 10 has builds for an older level under the same name.
        if check.baseline != row.baseline:
            text = f"this distribution's packages are for {baseline.text}, but the loader asks for {check.baseline}"
            findings.information.append(Information("distribution-baseline", text, evidence))
        return
    findings.requirements.append(
        Requirement(
            code=baseline.code,
            text=baseline.text,
            layer=Layer.INSTRUCTION_SET,
            effect=Effect.CRASHES,
            sureness=weaker(row.sureness, _sureness(subject, row, loader)),
            match_any=baseline.ways,
            evidence=evidence,
            remedy="an image of a distribution with a lower baseline; in a virtual machine, a CPU type that shows it",
        )
    )


def _check(subject: Subject, loader: str, findings: Findings) -> LoaderCheck | None:
    with findings.content(subject, loader) as view:
        return find_loader_check(subject.elves[loader], view)


def _sureness(subject: Subject, row: DistributionRow, loader: Loaded | None) -> Sureness:
    """How sure it is that what starts is the distribution's and was compiled so."""
    if loader is None or not is_glibc_loader(loader.path):
        return unused_sureness(subject)
    libc = running_libc(subject)
    tells = row.architecture in _CHECKED and libc is not None and libc.kind == GLIBC and libc.numbers >= _CHECKED_SINCE
    # A loader without the check was not compiled for it: files of another distribution lie under this one's name.
    return Sureness.PROBABLE if tells else loader.sureness
