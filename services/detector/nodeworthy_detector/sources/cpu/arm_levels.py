"""The levels of the Arm architecture, ARMv8.1 to ARMv9.6, that a processor reaches.

A level is given where Linux tells programs of every feature that the level makes mandatory and that brings instructions.
Three kinds of mandatory features cannot be asked for:

- those without a word of Linux (most of them are for kernels: PAN, VHE, RAS, FEAT_CPA of 9.5): the others stand for them;
- those whose instructions do nothing where the feature is missing, so that no program fails for want of them: FEAT_BTI,
  FEAT_RPRFM and FEAT_DGH live in the space of hints, and Linux hides ``bti`` where it was built without it;
- FEAT_SSBS, whose word Linux hides on many processors on which the feature does not work well (Arm's erratum 3194386).

An old kernel has no word for a newer feature. The level then reads as absent, as newer flags of x86 processors do.
"""

from collections.abc import Set as AbstractSet
from typing import NamedTuple

_ARM8 = (
    ("ARMv8.1", "atomics asimdrdm crc32"),  # FEAT_LSE, FEAT_RDM, FEAT_CRC32
    ("ARMv8.2", "dcpop"),  # FEAT_DPB
    ("ARMv8.3", "fcma jscvt lrcpc paca pacg"),  # FEAT_FCMA, FEAT_JSCVT, FEAT_LRCPC, FEAT_PAuth
    ("ARMv8.4", "asimddp dit flagm ilrcpc uscat"),  # FEAT_DotProd, FEAT_DIT, FEAT_FlagM, FEAT_LRCPC2, FEAT_LSE2
    ("ARMv8.5", "dcpodp flagm2 frint sb"),  # FEAT_DPB2, FEAT_FlagM2, FEAT_FRINTTS, FEAT_SB
    ("ARMv8.6", "bf16 ecv i8mm"),  # FEAT_BF16, FEAT_ECV, FEAT_I8MM
    ("ARMv8.7", "afp wfxt"),  # FEAT_AFP, FEAT_WFxT
    ("ARMv8.8", "hbc mops"),  # FEAT_HBC, FEAT_MOPS
    ("ARMv8.9", "cssc"),  # FEAT_CSSC
)
_ARM9 = (
    ("ARMv9.0", "ARMv8.5", "sve sve2"),  # FEAT_SVE, FEAT_SVE2
    ("ARMv9.1", "ARMv8.6", "svebf16 svei8mm"),  # FEAT_BF16 and FEAT_I8MM of SVE
    ("ARMv9.2", "ARMv8.7", ""),
    ("ARMv9.3", "ARMv8.8", ""),
    ("ARMv9.4", "ARMv8.9", "sve2p1"),  # FEAT_SVE2p1
    ("ARMv9.5", "ARMv8.9", "faminmax lut"),  # FEAT_FAMINMAX, FEAT_LUT
    ("ARMv9.6", "ARMv8.9", "cmpbr fprcvt sve2p2"),  # FEAT_CMPBR, FEAT_FPRCVT, FEAT_SVE2p2
)
"""Level, for 9 the level of 8 that it includes, and Linux' words for what it adds.

Arm Architecture Reference Manual for A-profile (DDI 0487), chapter A2, "mandatory from"; the features of each word: Linux,
Documentation/arch/arm64/elf_hwcaps.rst.
"""

_HIDDEN = frozenset({"paca", "pacg"})
"""Words that Linux also leaves out where it was built without pointer authentication: then the instructions still run. A
hypervisor that hides the feature makes them fail. The words do not tell which of the two it is."""


class ArmLevels(NamedTuple):
    """Levels by name, each only with those that it includes."""

    reached: frozenset[str]
    untold: frozenset[str]
    """Neither known to be reached nor known not to be."""


def levels_of(words: AbstractSet[str]) -> ArmLevels:
    """The levels that the words of Linux prove, and those that hidden words leave open.

    A Cortex-A76 has ``atomics asimdrdm crc32 dcpop lrcpc``: it reaches ARMv8.1 and ARMv8.2.
    """
    reached = _reach(words)
    return ArmLevels(reached, _reach(words | _HIDDEN) - reached)


def _reach(words: AbstractSet[str]) -> frozenset[str]:
    reached: set[str] = set()
    for level, adds in _ARM8:
        if not words >= set(adds.split()):
            break
        reached.add(level)
    for level, base, adds in _ARM9:
        if base not in reached or not words >= set(adds.split()):
            break
        reached.add(level)
    return frozenset(reached)
