"""An inspection as a person reads it: what is needed first, with the places where it shows."""

from collections.abc import Iterable, Sequence

import click

from nodeworthy.requirements import Evidence, Inspection, Library, Requirement, Sureness
from nodeworthy.requirements.drafting import describe_evidence
from nodeworthy_cli.output import emphasize, print_table, printable

_COLORS = {Sureness.CERTAIN: "red", Sureness.PROBABLE: "yellow", Sureness.ADVISORY: "cyan"}
_PLACES = 3
"""Places that are shown for one requirement; ``-o json`` has all."""
_MOST = 20
"""Lines of one kind of good-to-know; ``-o json`` has all."""


def print_inspection(image: str, inspection: Inspection) -> None:
    """Print one image's inspection."""
    runs = " -> ".join(map(printable, inspection.start)) or "nothing that was found"
    click.echo(f"{printable(image)}: {inspection.machine or 'no machine code found'}")
    click.echo(f"  runs: {runs}")
    if inspection.defects:
        _head("At fault in the image itself, on every node")
        for defect in inspection.defects:
            _item(defect.sureness, f"{defect.text}; {defect.effect.value}", defect.evidence, defect.remedy)
    _head("Needs of a node")
    if not inspection.requirements:
        click.echo("  nothing beyond its platform")
    for one in sorted(inspection.requirements, key=_rank):
        _item(one.sureness, f"{one.text}; without it: {one.effect.value}", one.evidence, one.remedy)
    _list("Good to know", [(one.text, one.evidence) for one in inspection.information])
    _list("Not looked at", [(f"{one.what}: {one.why}", ()) for one in inspection.unexplored])
    if inspection.software:
        _head("Known software")
        rows = [(one.kind, one.name, one.version, one.file) for one in inspection.software[:_MOST]]
        print_table(("KIND", "NAME", "VERSION", "FROM"), rows, indent="  ")
        _more(len(inspection.software))


def print_libraries(libraries: Sequence[Library]) -> None:
    """Print every library with its version and what it needs of others."""
    rows = [
        (
            one.path,
            one.machine,
            one.version or "-",
            one.package or "-",
            " ".join(one.needs) or "-",
            ", ".join(one.symbol_versions) or "-",
        )
        for one in libraries
    ]
    print_table(("PATH", "MACHINE", "VERSION", "PACKAGE", "NEEDS", "SYMBOL VERSIONS"), rows)


def _rank(one: Requirement) -> tuple[int, str]:
    return list(Sureness).index(one.sureness), one.code


def _head(text: str) -> None:
    click.echo("")
    click.echo(text)


def _item(sureness: Sureness, text: str, evidence: Sequence[Evidence], remedy: str) -> None:
    click.echo(f"  {emphasize(sureness.value, _COLORS[sureness])}: {printable(text)}")
    for found in evidence[:_PLACES]:
        click.echo(f"      {printable(describe_evidence(found))}")
    if len(evidence) > _PLACES:
        click.echo(f"      and {len(evidence) - _PLACES} places more")
    if remedy:
        click.echo(f"      cure: {printable(remedy)}")


def _list(title: str, lines: Sequence[tuple[str, Iterable[Evidence]]]) -> None:
    if not lines:
        return
    _head(title)
    for text, evidence in lines[:_MOST]:
        place = next((f" ({printable(describe_evidence(found))})" for found in evidence), "")
        click.echo(f"  {printable(text)}{place}")
    _more(len(lines))


def _more(count: int) -> None:
    if count > _MOST:
        click.echo(f"  and {count - _MOST} more (-o json shows all)")
