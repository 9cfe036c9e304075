"""Templates of rules: what they see, and how their output becomes names and values.

The language itself is :mod:`nodeworthy.rules.templating`.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeAlias

from nodeworthy.errors import RuleError
from nodeworthy.features import FeatureSet, Instance, clean_text
from nodeworthy.rules.matching import CompiledTerm, term_elements

if TYPE_CHECKING:
    from nodeworthy.rules.templating import Program

Elements: TypeAlias = Mapping[str, Mapping[str, list[Instance]]]
"""What a list of terms has matched: domain to feature to elements, as ``.pci.device`` in a template."""


class TemplateEngine(Protocol):
    """Turns a template and what a rule has matched into names and values."""

    def expand(self, template: str, elements: Elements) -> Mapping[str, str]:
        """The lines ``name=value`` of the expanded template; raises RuleError if it cannot be expanded."""


class Template:
    """One template of a rule. It is parsed when it is first expanded: most rules of most nodes do not match."""

    __slots__ = ("_parsed", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._parsed: Program | RuleError | None = None

    def expand(self, elements: Elements) -> Mapping[str, str]:
        """The lines ``name=value`` of the expanded template.

        Raises:
            RuleError: it is no template, cannot be expanded on these elements, or gives a line without ``=``.
        """
        return parse_lines(self.expand_text(elements))

    def expand_text(self, elements: Elements) -> str:
        """The expanded template.

        Raises:
            RuleError: it is no template, or cannot be expanded on these elements.
        """
        from nodeworthy.rules.templating.values import domain_map

        program = self._parsed or self._parse()
        if isinstance(program, RuleError):
            raise RuleError(program.what, why=program.why, todo=program.todo)
        return clean_text(program.expand(domain_map(elements)))

    def problem(self) -> RuleError | None:
        """Why the text is no template; ``None`` if it is one."""
        program = self._parsed or self._parse()
        return program if isinstance(program, RuleError) else None

    def _parse(self) -> "Program | RuleError":
        # 200 functions, which take 15 ms to import; few rules have templates.
        from nodeworthy.rules.templating import compile_template

        try:
            self._parsed = compile_template(self.text)
        except RuleError as error:
            self._parsed = error
        return self._parsed


def parse_lines(text: str) -> dict[str, str]:
    r"""The names and values of an expanded template: ``"a=1\n\n b = 2 \n"`` is ``a`` with ``1`` and ``"b "`` with ``" 2"``.

    As in NFD: lines are trimmed, empty ones left out, what stands around the first ``=`` is kept as it is, and the last
    line of a name counts.

    Raises:
        RuleError: a line has no ``=``.
    """
    from nodeworthy.rules.templating.letters import SPACES

    found: dict[str, str] = {}
    for line in text.split("\n"):
        entry = line.strip(SPACES)
        if not entry:
            continue
        name, equals, value = entry.partition("=")
        if not equals:
            raise RuleError(
                f"the template gives the line {entry[:80]!r}", why="it has no =", todo="every line must be name=value"
            )
        found[name] = value
    return found


def collect_elements(matched: Iterable[tuple[CompiledTerm, FeatureSet]]) -> dict[str, dict[str, list[Instance]]]:
    """What terms that hold have matched in their sets; two terms of one set give one list."""
    elements: dict[str, dict[str, list[Instance]]] = {}
    for term, content in matched:
        domain, feature = template_address(term.source.feature)
        elements.setdefault(domain, {}).setdefault(feature, []).extend(term_elements(term, content))
    return elements


def template_address(feature: str) -> tuple[str, str]:
    """Where a template finds a feature: before and after the first dot, in the case of the rule.

    A name without a dot is a domain in lower case with the empty feature; that is NFD's behaviour, not a choice.
    """
    domain, dot, rest = feature.partition(".")
    return (domain, rest) if dot else (feature.lower(), "")
