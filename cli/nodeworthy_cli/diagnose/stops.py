"""The instruction at which a program was stopped, where its bytes are known."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from nodeworthy.diagnosis.cores import Core
from nodeworthy.diagnosis.instructions import AMD64, ARM64, Instruction, Kind, recognize
from nodeworthy.diagnosis.kernel_log import Crash, Event, GoCrash


class Stops(NamedTuple):
    """Where programs were stopped, as far as texts and a core file tell."""

    events: Sequence[Event] = ()
    core: Core | None = None
    nearby: Sequence[Crash] = ()
    """Of the node's own log, the newest first: perhaps of another program, so that only those count whose file is found."""

    @property
    def machine(self) -> str:
        """The architecture that they tell by themselves; empty where they do not."""
        if self.core is not None:
            return self.core.machine
        crash = next((one for one in self.events if isinstance(one, Crash)), None)
        return (ARM64 if crash.is_arm else AMD64) if crash is not None else ""


def recognize_stop(stops: Stops, machine: str) -> Instruction | None:
    """The instruction whose bytes are known without an image; ``machine`` is of the node, for texts that do not tell."""
    code, told = bytes_of(stops)
    name = stops.machine or machine
    return decode(recognize(code, name, source=told)) if code and name else None


def bytes_of(stops: Stops) -> tuple[bytes, str]:
    """The bytes at the address, and where they are from."""
    if stops.core is not None and stops.core.code:
        return stops.core.code, "the core file"
    for event in stops.events:
        if isinstance(event, Crash | GoCrash) and event.code:
            return event.code, "Go's message" if isinstance(event, GoCrash) else "the kernel log"
    return b"", ""


def decode(known: Instruction) -> Instruction:
    """The instruction with its text and the features that it needs, where a decoder knows it."""
    if known.kind is not Kind.UNKNOWN:
        return known
    from nodeworthy_resolver.inspection.instructions import decode_at  # loads the decoder

    decoded = decode_at(known.code, known.machine)
    if decoded is None or not decoded.is_valid:
        return known
    # The table for Arm holds the features that it knows: a word without one may be of another.
    is_known = bool(decoded.features) or known.machine != ARM64
    kind = Kind.TRAP if decoded.is_trap else Kind.ORDINARY if is_known else Kind.UNKNOWN
    return msgspec.structs.replace(known, kind=kind, text=decoded.text, features=tuple(sorted(decoded.features)))
