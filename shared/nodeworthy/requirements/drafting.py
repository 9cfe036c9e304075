"""A draft of a compatibility specification, from what an image's files ask for."""

import textwrap
from collections.abc import Iterable, Iterator

from nodeworthy.requirements.grades import Sureness
from nodeworthy.requirements.records import Evidence, Inspection, Requirement
from nodeworthy.rules import Expression, Operator, Rule, Term
from nodeworthy.rules.conversion import write_rule, write_yaml

_WIDTH = 110
"""Of a comment, in characters."""
_MOST_EVIDENCE = 3
"""Places that are named for one requirement; ``nodeworthy inspect`` names all."""

_ANY_LINUX = Rule("linux", (Term("kernel.version", {"full": Expression(Operator.EXISTS)}),))
"""What every node of Linux meets: a set needs a rule, and the platform itself is not asked for here."""


def draft_specification(inspection: Inspection, image: str) -> str:
    """A specification that asks for what is certain; what is only probable stands in it as comments.

    It is a draft: what a program loads by name, asks other services for or computes with is not in any file.
    """
    certain = [one for one in inspection.requirements if one.sureness is Sureness.CERTAIN]
    others = [one for one in inspection.requirements if one.sureness is not Sureness.CERTAIN]
    lines = [
        *_comment(f"A draft for {_one_line(image)}, made from its files; read it before it is attached."),
        "#",
        *_comment("  nodeworthy spec validate FILE         everything that is wrong with it, with lines"),
        *_comment("  nodeworthy check IMAGE --spec FILE    try it on this machine"),
        *_comment("  nodeworthy spec attach IMAGE FILE     put it beside the image"),
        "#",
        *(line for one in inspection.defects for line in _comment(f"The image itself is at fault: {one.text}")),
        *(line for one in inspection.information for line in _comment(f"Good to know: {one.text}")),
        *(line for one in inspection.unexplored for line in _comment(f"Not looked at: {one.what}: {one.why}")),
        "version: v1alpha1",
        "compatibilities:",
        '- description: "what its files ask for"',
        "  weight: 1",
        "  rules:",
    ]
    names: dict[str, int] = {}
    for one in certain:
        lines += [*_explain(one), *_rule(Rule(_name(one, names), one.match_features, one.match_any))]
    if not certain:
        lines += [*_comment("Its files ask for nothing that is certain.", "  "), *_rule(_ANY_LINUX)]
    for one in others:
        lines += [*_explain(one), *_commented(_rule(Rule(_name(one, names), one.match_features, one.match_any)))]
    return "\n".join(lines) + "\n"


def _name(one: Requirement, names: dict[str, int]) -> str:
    """The code; the second of the same code gets a number."""
    names[one.code] = names.get(one.code, 0) + 1
    return one.code if names[one.code] == 1 else f"{one.code}-{names[one.code]}"


def _explain(one: Requirement) -> Iterator[str]:
    yield from _comment(f"{one.sureness.value}: {one.text}; without it: {one.effect.value}", "  ")
    for found in one.evidence[:_MOST_EVIDENCE]:
        yield from _comment(f"  {describe_evidence(found)}", "  ")
    if len(one.evidence) > _MOST_EVIDENCE:
        yield from _comment(f"  and {len(one.evidence) - _MOST_EVIDENCE} places more", "  ")


def describe_evidence(found: Evidence) -> str:
    """One place in words, as ``/app at 0x1234 (main): vpaddd ymm0, ymm1, ymm2``."""
    place = found.file or "the image config"
    if found.offset is not None:
        place += f" at {found.offset:#x}"
    if found.symbol:
        place += f" ({found.symbol})"
    told = f"{place}: {found.seen}" if found.seen else place
    return f"{told} [{found.rule}]" if found.rule else told


def _rule(rule: Rule) -> list[str]:
    return [f"  {line}" for line in write_yaml([[write_rule(rule)]]).splitlines()]


def _commented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  # {line.removeprefix('  ')}" for line in lines)


def _comment(text: str, indent: str = "") -> Iterator[str]:
    """One comment, broken between words where it is long."""
    lines = textwrap.wrap(
        _one_line(text), _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    return (f"{indent}# {line}" for line in lines)


def _one_line(text: str) -> str:
    """A stranger's text as part of one line of YAML."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
