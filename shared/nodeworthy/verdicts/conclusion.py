"""The answer: what platform, declaration and inspection say together.

A certain failure of any layer is a no. A declared set that is met is a yes, with its weight as score; without a declaration
the files of an image can say yes, if everything that decides was looked at. Everything else is unknown.
"""

from typing import NamedTuple

from nodeworthy.requirements import Inspection
from nodeworthy.verdicts.declared import Declaration, DeclaredResult, Wishes
from nodeworthy.verdicts.inspected import InspectedResult, doubt, refusal
from nodeworthy.verdicts.platform import PlatformChoice
from nodeworthy.verdicts.records import Answer, Finding, State

NOTHING_DECLARED = "nothing-declared"
"""The code of the finding that says so."""


class Declared(NamedTuple):
    """What is declared for the chosen image: a declaration, or a finding why there is none."""

    declaration: Declaration | None
    finding: Finding | None
    notices: tuple[str, ...] = ()


class Claims(NamedTuple):
    """What index, config and artifact say of an image, as far as it concerns one node."""

    choice: PlatformChoice
    declared: Declared
    emulator: str = ""
    """What the node would hand the image's programs to, which are for another machine than its own."""

    @property
    def inspection(self) -> Inspection | None:
        """What the chosen image's files ask for, where somebody looked."""
        return self.choice.image.inspection if self.choice.image else None


def conclude(
    claims: Claims, declared: DeclaredResult | None, inspected: InspectedResult | None, wishes: Wishes
) -> tuple[Answer, str]:
    """The answer and its reason; ``declared`` and ``inspected`` are there where the claims have what they judge."""
    platform = claims.choice.finding
    if platform.state is State.UNMET:
        return Answer.INCOMPATIBLE, _platform_reason(platform)
    refused = refusal(inspected, is_emulated=bool(claims.emulator)) if inspected else None
    if refused:
        return refused
    if declared and declared.state is State.UNMET:
        return Answer.INCOMPATIBLE, declared.reason
    if platform.state is State.UNKNOWN:
        return Answer.UNKNOWN, f"whether {platform.requirement} is unknown"
    if claims.emulator:
        return Answer.UNKNOWN, f"its programs are for another machine, and would run under {claims.emulator} if at all"
    if declared:
        return (Answer.COMPATIBLE if declared.state is State.MET else Answer.UNKNOWN), declared.reason
    return _without_declaration(claims.declared.finding, inspected, wishes)


def _without_declaration(
    missing: Finding | None, inspected: InspectedResult | None, wishes: Wishes
) -> tuple[Answer, str]:
    assert missing is not None
    if missing.code != NOTHING_DECLARED:
        return Answer.UNKNOWN, missing.observed
    doubtful = doubt(inspected) if inspected else ""
    if inspected and not doubtful:
        return Answer.COMPATIBLE, "the platform fits, and its files ask for nothing that the node lacks"
    if wishes.undeclared_is_compatible:
        return (
            Answer.COMPATIBLE,
            "the platform fits; the image declares nothing, which was asked to count as compatible",
        )
    return Answer.UNKNOWN, doubtful or missing.observed


def _platform_reason(finding: Finding) -> str:
    if finding.code == "platform-missing":
        return f"the image is not offered for {finding.expected}, only for {finding.observed}"
    return f"the image is for {finding.expected}, the node is {finding.observed}"
