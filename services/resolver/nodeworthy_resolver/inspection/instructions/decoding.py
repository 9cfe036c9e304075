"""One instruction for people: what ``diagnose`` asks of the bytes at which a program died."""

from typing import NamedTuple

from nodeworthy_resolver.inspection.instructions.machines import find_machine
from nodeworthy_resolver.inspection.instructions.steps import Flow

_MAX_BYTES = 16


class Decoded(NamedTuple):
    """The first instruction of some bytes."""

    text: str
    """x86: as ``vpaddd ymm0,ymm1,ymm2``. Arm: the feature and the word, as ``ATOMICS 0xb8e20021``."""
    features: frozenset[str]
    """Names of ``cpu.cpuid`` without which it is an illegal instruction; empty where every CPU has it."""
    is_trap: bool
    """Made to crash: ``ud2``, ``int3``, ``brk``, ``udf``."""
    is_valid: bool
    """Whether the bytes are an instruction at all, as far as the decoder knows."""


def decode_at(code: bytes, architecture: str, address: int = 0) -> Decoded | None:
    """The instruction with which bytes begin; ``architecture`` is Go's name of it.

    ``None`` where code of that architecture is not read, or the bytes are too few for an instruction.

    Raises:
        NoDecoderError: iced-x86 is needed and not installed.
    """
    machine = find_machine(architecture)
    first = bytes(code[:_MAX_BYTES])
    step = next(machine.steps(first, address), None) if machine else None
    if machine is None or step is None:
        return None
    text = machine.text(first, address)
    return Decoded(text, step.features, step.flow is Flow.TRAP, not (step.flow is Flow.END and "bad" in text))
