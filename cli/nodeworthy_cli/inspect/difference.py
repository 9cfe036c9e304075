"""What changed between two images: needs, faults, software and libraries."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import click
import msgspec

from nodeworthy.requirements import Defect, Inspection, Library, Requirement, Software
from nodeworthy_cli.output import printable

_One = TypeVar("_One")


class Changes(msgspec.Struct, frozen=True, omit_defaults=True):
    """Of one kind of thing: only in the first image, only in the second, in both but different."""

    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    changed: tuple[tuple[str, str, str], ...] = ()
    """Name, before, after."""


class Difference(msgspec.Struct, frozen=True, omit_defaults=True):
    """Two inspections against each other."""

    before: str
    after: str
    requirements: Changes
    defects: Changes
    software: Changes
    libraries: Changes

    @property
    def is_empty(self) -> bool:
        """Whether the two are alike."""
        return all(part == Changes() for part in (self.requirements, self.defects, self.software, self.libraries))


def compare(names: tuple[str, str], before: Inspection, after: Inspection) -> Difference:
    """What is different in the second image, seen from the first."""
    return Difference(
        *names,
        requirements=_changes(before.requirements, after.requirements, _requirement),
        defects=_changes(before.defects, after.defects, _defect),
        software=_changes(before.software, after.software, _software),
        libraries=_changes(before.libraries, after.libraries, _library),
    )


def _changes(before: Iterable[_One], after: Iterable[_One], describe: Callable[[_One], tuple[str, str]]) -> Changes:
    old, new = dict(map(describe, before)), dict(map(describe, after))
    return Changes(
        removed=tuple(_told(name, old[name]) for name in old if name not in new),
        added=tuple(_told(name, new[name]) for name in new if name not in old),
        changed=tuple((name, old[name], new[name]) for name in old if name in new and old[name] != new[name]),
    )


def _told(name: str, value: str) -> str:
    return f"{name} {value}".strip()


def _requirement(one: Requirement) -> tuple[str, str]:
    return one.text, one.sureness.value


def _defect(one: Defect) -> tuple[str, str]:
    return one.text, one.sureness.value


def _software(one: Software) -> tuple[str, str]:
    return f"{one.kind} {one.name}", one.version


def _library(one: Library) -> tuple[str, str]:
    told = [one.version or one.package, *one.symbol_versions]
    return one.path, " ".join(filter(None, told))


def print_difference(difference: Difference) -> None:
    """Print it, a table for each kind of thing that changed."""
    click.echo(f"{printable(difference.before)} -> {printable(difference.after)}")
    if difference.is_empty:
        click.echo("no difference in needs, faults, software and libraries")
        return
    for title, part in (
        ("Needs", difference.requirements),
        ("Faults", difference.defects),
        ("Software", difference.software),
        ("Libraries", difference.libraries),
    ):
        _print_part(title, part)


def _print_part(title: str, part: Changes) -> None:
    lines = [
        *(f"- {one}" for one in part.removed),
        *(f"+ {one}" for one in part.added),
        *(f"~ {name}: {old or '-'} -> {new or '-'}" for name, old, new in part.changed),
    ]
    if lines:
        click.echo("")
        click.echo(title)
    for line in lines:
        click.echo(f"  {printable(line)}")
