"""AArch64 code: 32-bit words against the table of encodings; only branches are understood beyond that.

Words whose upper half is zero are UDF, which nobody writes but by mistake: a function that holds one holds data (constants
between instructions), and its words count for nothing.
"""

# ruff: noqa: PLR2004 # encodings are numbers; the manual's name of each stands beside it

import struct
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache

from nodeworthy_resolver.inspection.instructions.arm64_words import BASELINE, CANDIDATES, EXCLUSIVES, feature_of
from nodeworthy_resolver.inspection.instructions.steps import NOTHING, Flow, Step, Style

_WORD = struct.Struct("<I")
_UPPER = 21
_MAX_STUB = 5
"""Words of a stub of the linkage table up to its jump: with BTI five."""
_MAX_ENTRY = 64
_MASK64 = 2**64 - 1


class Arm64:
    """The machine AArch64, little-endian."""

    architecture = "arm64"

    def steps(self, code: bytes, address: int) -> Iterator[Step]:
        """See :class:`~nodeworthy_resolver.inspection.instructions.steps.Machine`."""
        for offset in range(0, len(code) - 3, 4):
            (word,) = _WORD.unpack_from(code, offset)
            flow, distance = _flow(word)
            at = address + offset
            yield Step(at, 4, flow, at + distance & _MASK64 if distance else 0, _features(word), _argument(word))

    def styles(self, code: memoryview, address: int, borders: Sequence[tuple[int, int]]) -> Iterator[Style]:
        """See :class:`~nodeworthy_resolver.inspection.instructions.steps.Machine`."""
        starts = [first - address >> 2 for first, _ in borders]
        words = _words(code)
        found: list[set[int]] = [set() for _ in borders]
        for index in _candidates(words):
            place = bisect_right(starts, index) - 1
            if place >= 0 and index << 2 < borders[place][1] - address:
                found[place].add(int(words[index]))
        return (_style(frozenset(seen)) for seen in found)

    def slot_of(self, code: bytes, address: int) -> int:
        """See :class:`~nodeworthy_resolver.inspection.instructions.steps.Machine`.

        ``adrp x16, slot; ldr x17, [x16, slot]; add x16, x16, slot; br x17``.
        """
        page = 0
        slot = 0
        for offset in range(0, min(len(code) - 3, 4 * _MAX_STUB), 4):
            (word,) = _WORD.unpack_from(code, offset)
            if word & 0x9F00001F == 0x90000010:
                page = _page(word, address + offset)
            elif word & 0xFFC003FF == 0xF9400211 and page:
                slot = page + (word >> 10 & 0xFFF) * 8
            elif word == 0xD61F0220:
                return slot
        return 0

    def start_argument(self, code: bytes, address: int) -> tuple[int, int]:
        """See :class:`~nodeworthy_resolver.inspection.instructions.steps.Machine`.

        ``adrp x0, main; add x0, x0, main``, or ``ldr x0, [x0, slot]``, or ``adr x0, main``, then ``bl __libc_start_main``.
        """
        found = (0, 0)
        for offset in range(0, min(len(code) - 3, 4 * _MAX_ENTRY), 4):
            (word,) = _WORD.unpack_from(code, offset)
            if word & 0x9F00001F == 0x90000000:
                found = (_page(word, address + offset), 0)
            elif word & 0x9F00001F == 0x10000000:
                found = (address + offset + _signed((word >> 5 & 0x7FFFF) << 2 | word >> 29 & 3, 21), 0)
            elif word & 0xFFC003FF == 0x91000000:
                found = (found[0] + (word >> 10 & 0xFFF), 0)
            elif word & 0xFFC003FF == 0xF9400000:
                found = (0, found[0] + (word >> 10 & 0xFFF) * 8)
            elif word & 0xFFE0FFFF == 0xAA0003E0:
                found = (0, 0)
            elif _flow(word)[0] is not Flow.NEXT:
                break
        return found

    def text(self, code: bytes, address: int) -> str:  # noqa: ARG002 # the words of branches are not told
        """See :class:`~nodeworthy_resolver.inspection.instructions.steps.Machine`: the feature and the word."""
        (word,) = _WORD.unpack_from(code, 0)
        feature = feature_of(word)
        name = {BASELINE: _flow(word)[0].name.lower(), EXCLUSIVES: "exclusive"}.get(feature, feature)
        return f"{name} 0x{word:08x}"


def _words(code: memoryview) -> Sequence[int]:
    """Little-endian words; with numpy where it is installed, which is some forty times as fast."""
    part = code[: len(code) & ~3]
    try:
        import numpy as np
    except ImportError:
        words = array("I", part.tobytes())
        if _WORD.pack(1) != array("I", [1]).tobytes():
            words.byteswap()
        return words
    return np.frombuffer(part, "<u4")  # type: ignore[return-value] # an array is no registered Sequence


def _candidates(words: Sequence[int]) -> Iterator[int]:
    """Where words are that may need a feature, and UDF."""
    if isinstance(words, array):
        return (index for index, word in enumerate(words) if CANDIDATES[word >> _UPPER] or not word >> 16)
    import numpy as np

    table = np.frombuffer(CANDIDATES, "u1").astype(bool)
    numbers = np.asarray(words)
    return iter(np.flatnonzero(table[numbers >> _UPPER] | (numbers < 0x10000)).tolist())


@lru_cache(65536)
def _style(words: frozenset[int]) -> Style:
    if any(not word >> 16 for word in words):
        return Style(has_data=True)
    found = {feature_of(word) for word in words} - {BASELINE}
    features = frozenset(found - {EXCLUSIVES})
    return Style(features, EXCLUSIVES in found, "ATOMICS" in found, asks="CPUID" in found)


_EMPTY_OR_ONE: dict[str, frozenset[str]] = {BASELINE: NOTHING, EXCLUSIVES: NOTHING}


def _features(word: int) -> frozenset[str]:
    feature = feature_of(word)
    return _EMPTY_OR_ONE.setdefault(feature, frozenset({feature}))


def _flow(word: int) -> tuple[Flow, int]:
    """Where a word leads, and how far from its own address (DDI 0487, "Branches, Exception Generating and System")."""
    upper = word >> 24
    if upper >> 2 == 0b000101:
        return Flow.JUMP, _signed(word & 0x3FFFFFF, 26) << 2
    if upper >> 2 == 0b100101:
        return Flow.CALL, _signed(word & 0x3FFFFFF, 26) << 2
    if upper == 0x54 or upper & 0x7E == 0x34:
        return Flow.BRANCH, _signed(word >> 5 & 0x7FFFF, 19) << 2
    if upper & 0x7E == 0x36:
        return Flow.BRANCH, _signed(word >> 5 & 0x3FFF, 14) << 2
    if upper & 0xFE == 0xD6:
        kind = word >> 21 & 7
        return {0: Flow.JUMP_THROUGH, 1: Flow.CALL_THROUGH, 2: Flow.RETURN}.get(kind, Flow.END), 0
    if word & 0xFFE0001F == 0xD4200000 or not word >> 16:
        return Flow.TRAP, 0
    return Flow.NEXT, 0


def _argument(word: int) -> int | None:
    """The number of ``mov w0, 1``."""
    if word & 0x7F80001F == 0x52800000:
        return (word >> 5 & 0xFFFF) << 16 * (word >> 21 & 3)
    return None


def _page(word: int, address: int) -> int:
    """Of ``adrp``."""
    return (address & ~0xFFF) + (_signed((word >> 5 & 0x7FFFF) << 2 | word >> 29 & 3, 21) << 12)


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 else value
