"""The table of signatures: known words, exit codes and states, what they may mean, and what tells the meanings apart.

The table is ``signatures.json``; docs/diagnosis.md says how a row is added. Texts may hold ``{name}``: what the row's
pattern captured under that name.
"""

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from nodeworthy.requirements import Layer
from nodeworthy.requirements.conditions import Wanted, has_instance, has_value
from nodeworthy.rules import Expression, Operator, Term

_FLAG_WORDS = {
    "fma": "FMA3",
    "sse41": "SSE4",
    "sse42": "SSE42",
    "pclmulqdq": "CLMUL",
    "pclmul": "CLMUL",
    "aes": "AESNI",
    "abm": "LZCNT",
    "cmpxchg16b": "CX16",
    "shani": "SHA",
    "armv82a": "ARMv8.2",
}
"""CPU features as programs call them, without dots and underscores, where that is no flag of ``cpu.cpuid``."""


class NodeNeed(
    msgspec.Struct, frozen=True, tag_field="see", tag="node", forbid_unknown_fields=True, omit_defaults=True
):
    """A condition on the node's facts."""

    feature: str
    flags: tuple[str, ...] = ()
    """All of these. ``{features}`` alone stands for the list of that name in the text."""
    name: str = ""
    """An attribute, which ``op`` compares with ``values``."""
    op: Operator = Operator.EXISTS
    values: tuple[str, ...] = ()
    type: str = ""
    instance: Mapping[str, tuple[str, ...]] = {}
    """Of one device: attribute to operator and values."""
    holds: bool = msgspec.field(name="is", default=True)

    def term(self, details: Mapping[str, str]) -> Term:
        """The condition in the rule language, with what the text said filled in."""
        if self.instance:
            filled: dict[str, Wanted] = {
                key: (Operator(op), *(fill(value, details) for value in values))
                for key, (op, *values) in self.instance.items()
            }
            return has_instance(self.feature, filled, dict.fromkeys(filled, self.type))
        if self.name:
            values = (fill(value, details) for value in self.values)
            return has_value(self.feature, fill(self.name, details), self.op, *values, kind=self.type)
        flags = dict.fromkeys(flag for one in self.flags for flag in _flags(one, details))
        return Term(self.feature, {flag: Expression(Operator.EXISTS) for flag in flags})


class PlatformNeed(msgspec.Struct, frozen=True, tag_field="see", tag="platform", forbid_unknown_fields=True):
    """Whether the node's architecture is one for which the image is."""

    holds: bool = msgspec.field(name="is", default=True)


class RequirementNeed(msgspec.Struct, frozen=True, tag_field="see", tag="requirement", forbid_unknown_fields=True):
    """Whether the node has all that the image's files ask for on a layer."""

    layer: Layer
    holds: bool = msgspec.field(name="is", default=True)


class DefectNeed(msgspec.Struct, frozen=True, tag_field="see", tag="defect", forbid_unknown_fields=True):
    """Whether the image's files have a fault whose code matches."""

    codes: str
    """A regular expression over codes of defects."""
    settles: bool = False
    """Whether inspection would surely have found it; what is loaded by name while a program runs it does not see."""
    holds: bool = msgspec.field(name="is", default=True)


class LibraryNeed(msgspec.Struct, frozen=True, tag_field="see", tag="library", forbid_unknown_fields=True):
    """What the image has of the library that the message names."""

    kind: Literal["present", "of-another-machine"]
    """``present``: for the program's machine."""
    holds: bool = msgspec.field(name="is", default=True)


class PodNeed(msgspec.Struct, frozen=True, tag_field="see", tag="pod", forbid_unknown_fields=True):
    """A fact of the pod, by its name in :data:`nodeworthy.diagnosis.observations.POD_FACTS`."""

    fact: str
    holds: bool = msgspec.field(name="is", default=True)


class SignalNeed(msgspec.Struct, frozen=True, tag_field="see", tag="signal", forbid_unknown_fields=True):
    """Whether another signature was found too."""

    code: str
    holds: bool = msgspec.field(name="is", default=True)


class TextNeed(msgspec.Struct, frozen=True, tag_field="see", tag="text", forbid_unknown_fields=True):
    """Whether words stand anywhere in what was given."""

    pattern: str
    holds: bool = msgspec.field(name="is", default=True)


class InstructionNeed(msgspec.Struct, frozen=True, tag_field="see", tag="instruction", forbid_unknown_fields=True):
    """What the instruction at which the program was stopped is."""

    kind: Literal["missing", "trap", "id-register", "tile"]
    """``missing``: it needs a feature that the node lacks; where the instruction is not known, the image's files need one.
    ``tile``: of AMX, for which a process has to ask first."""
    holds: bool = msgspec.field(name="is", default=True)


Need = (
    NodeNeed
    | PlatformNeed
    | RequirementNeed
    | DefectNeed
    | LibraryNeed
    | PodNeed
    | SignalNeed
    | TextNeed
    | InstructionNeed
)


class Hypothesis(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that a signature may mean."""

    code: str
    text: str
    needs: tuple[Need, ...] = ()
    """All of these must hold; one that does not rules it out."""
    any_of: tuple[Need, ...] = ()
    """One of these must hold; it is ruled out where none does."""
    excludes: tuple[Need, ...] = ()
    """One of these that holds rules it out; nothing follows where nobody knows."""
    alone: bool = False
    """Whether the words are evidence enough, as long as nothing speaks against it."""
    separates: str = ""
    layer: Layer | None = None
    now: str = ""
    selector: Mapping[str, str] = {}
    cure: str = ""
    wants: tuple[NodeNeed, ...] = ()
    """What a node has on which it does not happen."""


class Signature(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One row of the table."""

    code: str
    speaker: str
    rank: int
    """1 a state or exit code, 2 a symptom, 3 words that name a cause, 4 words that are easily taken for another row's."""
    source: str
    """Where it is from: a file of the kernel or of a library, a manual, a public issue."""
    hypotheses: tuple[Hypothesis, ...]
    voices: tuple[tuple[str, str], ...] = ()
    """Patterns of the line that tell the speaker more exactly, each with that speaker; the first one counts."""
    fragments: tuple[str, ...] = ()
    """Stable parts of the message, in lower case."""
    patterns: tuple[str, ...] = ()
    """Regular expressions, letters of either case, for parts that differ."""
    lines: int = 1
    """How many lines from one on the patterns are held against, joined by blanks."""
    signals: tuple[str, ...] = ()
    """Names of signals whose exit codes are this sign."""
    exit_codes: tuple[int, ...] = ()


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table."""

    origin: str
    signatures: tuple[Signature, ...]

    def find(self, code: str) -> Signature:
        """The row of a code."""
        return next(one for one in self.signatures if one.code == code)


@functools.cache
def load() -> Table:
    """Read the table."""
    return msgspec.json.decode(Path(__file__).with_name("signatures.json").read_bytes(), type=Table)


def fill(text: str, details: Mapping[str, str]) -> str:
    """The text with ``{name}`` replaced by what is known under that name; others are left as they are.

    >>> fill("level {level} of {file}", {"level": "v3"})
    'level v3 of {file}'
    """
    return re.sub(r"\{(\w+)\}", lambda found: details.get(found[1], found[0]), text)


def flag_name(word: str) -> str:
    """NFD's name of a CPU feature that a program calls by another one.

    >>> [flag_name(word) for word in ("avx2", "SSE4_2", "fma", "avx512_bf16", "X86_V2")]
    ['AVX2', 'SSE42', 'FMA3', 'AVX512BF16', 'X86_64_V2']
    """
    if level := re.fullmatch(r"X86(?:[-_]64)?[-_]v([1-4])", word, re.IGNORECASE):
        return f"X86_64_V{level[1]}"
    plain = re.sub(r"[-_.]", "", word)
    return _FLAG_WORDS.get(plain.lower(), plain.upper())


def _flags(flag: str, details: Mapping[str, str]) -> list[str]:
    if flag == "{features}":
        return [flag_name(word) for word in re.findall(r"[\w.-]*\w", details.get("features", ""))]
    return [fill(flag, details)]
