"""How much one inspection may do, and the edition whose results count."""

from dataclasses import dataclass

ENGINE = 2
"""Raised whenever results change: what an older edition found is then found anew."""


@dataclass(frozen=True)
class InspectingLimits:
    """Of looking at files, once they are here."""

    seconds: float = 120.0
    """From its beginning; what was not looked at by then is said. Disassembling takes most: some 15 MB of code a second."""
    elf_files: int = 20_000
    """Images of scientific Python have some 3,000."""


DEFAULT_LIMITS = InspectingLimits()
