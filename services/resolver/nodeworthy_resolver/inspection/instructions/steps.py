"""One instruction as the analysis sees it, and what a machine's decoder has to tell."""

from collections.abc import Iterator, Sequence
from enum import IntEnum, auto
from typing import NamedTuple, Protocol

NOTHING: frozenset[str] = frozenset()


class Flow(IntEnum):
    """Where execution goes on after an instruction. Integers, because they are looked up for every instruction."""

    NEXT = auto()
    BRANCH = auto()
    """To the target or on, as a condition says."""
    JUMP = auto()
    JUMP_THROUGH = auto()
    """To where a slot in memory, or a register, points."""
    CALL = auto()
    CALL_THROUGH = auto()
    RETURN = auto()
    TRAP = auto()
    """A deliberate crash, as ``ud2`` and ``brk``: compilers write it where execution cannot come."""
    END = auto()
    """``hlt``, or bytes that are no instruction."""


GOING_ON = frozenset({Flow.NEXT, Flow.BRANCH, Flow.CALL, Flow.CALL_THROUGH})
"""Execution may go on with the next instruction."""
JUMPING = frozenset({Flow.BRANCH, Flow.JUMP, Flow.JUMP_THROUGH})
LEADING = JUMPING | {Flow.CALL, Flow.CALL_THROUGH}
"""Execution may go on elsewhere."""


class Step(NamedTuple):
    """One instruction."""

    address: int
    size: int
    flow: Flow
    target: int = 0
    """BRANCH, JUMP, CALL: the address. JUMP_THROUGH, CALL_THROUGH: the address of the slot, 0 where a register says it."""
    features: frozenset[str] = NOTHING
    """NFD's names of the CPU features without which it is an illegal instruction; baseline ones are left out."""
    argument: int | None = None
    """The number that it puts into the register of a function's first argument."""
    memory: int = 0
    """x86: the fixed address that it reads, writes or loads, or that a table begins at; 0 where there is none."""
    compared: int | None = None
    """x86: the number with which it compares something."""

    @property
    def end(self) -> int:
        """The address behind it."""
        return self.address + self.size


class Style(NamedTuple):
    """How the code of one function is written."""

    features: frozenset[str] = NOTHING
    is_plain: bool = False
    """x86: SSE code in the old encoding. Arm: atomics as exclusive loads and stores."""
    is_modern: bool = False
    """x86: AVX encoding (VEX). Arm: the atomic instructions of ARMv8.1."""
    is_wide: bool = False
    """x86: AVX-512 encoding (EVEX)."""
    asks: bool = False
    """It asks the CPU what it can: CPUID, XGETBV, or an ID register."""
    has_data: bool = False
    """Some of its bytes are no instructions."""


class Machine(Protocol):
    """The decoder of one architecture."""

    architecture: str
    """Go's name."""

    def steps(self, code: bytes, address: int) -> Iterator[Step]:
        """Instruction by instruction, to the end of the bytes."""
        ...

    def styles(self, code: memoryview, address: int, borders: Sequence[tuple[int, int]]) -> Iterator[Style]:
        """The style of each function; ``borders`` are addresses (first, behind the last), ascending and in ``code``."""
        ...

    def slot_of(self, code: bytes, address: int) -> int:
        """The slot through which a stub of the procedure linkage table jumps; 0 where the code is no such stub."""
        ...

    def start_argument(self, code: bytes, address: int) -> tuple[int, int]:
        """What an entry point passes on as first argument of its first call: (address, slot that holds it); 0 if none."""
        ...

    def text(self, code: bytes, address: int) -> str:
        """The first instruction in words."""
        ...
