"""One failure: all that is known of it beside the words in which it shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nodeworthy.diagnosis.instructions import Instruction
from nodeworthy.diagnosis.pods import PodReport
from nodeworthy.platforms import Platform
from nodeworthy.requirements import Inspection
from nodeworthy.rules import Facts
from nodeworthy.verdicts import Verdict


@dataclass(frozen=True)
class Case:
    """What was looked at; everything may be missing, and nothing follows from what is."""

    text: str = ""
    """Everything that was given in words."""
    node: str = ""
    facts: Facts | None = None
    node_platform: Platform | None = None
    image: str = ""
    image_platform: Platform | None = None
    """Of the image that the node would take; else the image's only one."""
    inspection: Inspection | None = None
    verdict: Verdict | None = None
    instruction: Instruction | None = None
    """Where the program was stopped."""
    pod: PodReport | None = None
    container: str = ""
    """Of the pod: the one that fails."""
    found: Mapping[str, str] = field(default_factory=dict)
    """Steps that were done beside these, by the names of :mod:`nodeworthy.diagnosis.steps`, with what was found."""
