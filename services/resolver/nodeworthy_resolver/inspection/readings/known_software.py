"""What software that is known by name and version needs of a node: table ``data/software.json``."""

import re
from collections.abc import Iterator
from functools import cache

import msgspec

from nodeworthy.requirements import Effect, Evidence, Layer, Requirement, Sureness
from nodeworthy.rules import Term
from nodeworthy_resolver.inspection.readings.findings import weaker
from nodeworthy_resolver.inspection.readings.ranges import in_range
from nodeworthy_resolver.inspection.readings.tables import read_table


class Need(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that some versions need."""

    code: str
    text: str
    layer: Layer
    effect: Effect
    sureness: Sureness
    """At most, and only where the software surely runs."""
    source: str
    versions: str = ""
    """A range as of ranges.py; empty for all."""
    architectures: tuple[str, ...] = ()
    """Go's names; empty for all."""
    match_features: tuple[Term, ...] = ()
    match_any: tuple[tuple[Term, ...], ...] = ()
    remedy: str = ""
    needless_with: tuple[str, ...] = ()
    """Arguments with one of which the software does without it, as ``--no-sandbox``."""


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One piece of software, by what it is recognised and what it needs."""

    name: str
    needs: tuple[Need, ...]
    wheels: tuple[str, ...] = ()
    """Normalised names of Python packages."""
    modules: tuple[str, ...] = ()
    """Paths of Go modules."""
    programs: tuple[str, ...] = ()
    """File names of programs."""
    libraries: tuple[str, ...] = ()
    """Names of shared libraries (DT_NEEDED) that only programs for this purpose are linked to."""
    packages: tuple[str, ...] = ()
    """Of dpkg, apk or rpm: they tell the version of the programs."""
    variables: tuple[str, ...] = ()
    """Of the image's environment, which official images set to the version."""
    version_text: str = ""
    """A regular expression over the bytes of the program; its first group is the version."""


def known_software() -> tuple[Known, ...]:
    """The table, in its order."""
    return read_table("software", Known)


def version_pattern(known: Known) -> re.Pattern[bytes] | None:
    """The compiled ``version_text``."""
    return _compiled(known.version_text) if known.version_text else None


@cache
def _compiled(text: str) -> re.Pattern[bytes]:
    return re.compile(text.encode())


def ask(
    known: Known,
    version: str,
    machine: str,
    sureness: Sureness | None,
    evidence: tuple[Evidence, ...],
    arguments: tuple[str, ...] = (),
) -> Iterator[Requirement]:
    """What this version needs; where the version is unknown, what some versions need is at most probable."""
    for need in known.needs:
        applies = in_range(version, need.versions)
        if applies is False or (need.architectures and machine not in need.architectures):
            continue
        if not set(need.needless_with).isdisjoint(arguments):
            continue
        limit = sureness if applies else weaker(Sureness.PROBABLE, sureness)
        yield Requirement(
            code=need.code,
            text=need.text,
            layer=need.layer,
            effect=need.effect,
            sureness=weaker(need.sureness, limit),
            match_features=need.match_features,
            match_any=need.match_any,
            evidence=tuple(msgspec.structs.replace(one, rule=f"table of software: {need.source}") for one in evidence),
            remedy=need.remedy,
        )
