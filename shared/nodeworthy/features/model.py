"""Feature sets: flags, attributes and instances under one name, as Node Feature Discovery (NFD) shapes them."""

from collections.abc import Mapping

import msgspec

Instance = Mapping[str, str]
"""One instance: attribute name to value."""


class FeatureSet(msgspec.Struct, frozen=True):
    """The content of one set, such as ``cpu.cpuid``.

    A set usually has one of the three kinds; NFD's ``cpu.cpuid`` has flags and attributes. A kind that is ``None`` is not
    there, which differs from an empty one: ``{}`` matches a rule's empty ``matchExpressions``, ``None`` does not.
    """

    flags: frozenset[str] | None = None
    """Names without a value."""
    attributes: Mapping[str, str] | None = None
    """Name to value; values are always text."""
    instances: tuple[Instance, ...] | None = None
    """In the order in which the machine lists them."""
    unobserved: frozenset[str] = frozenset()
    """Names of elements of which it is not known whether they are there, or what their value is.

    Such a name may be there as a flag where the set has flags, and with any value where it has attributes. It is never among
    the flags or attributes themselves; instances know no such names.
    """

    def __post_init__(self) -> None:
        if self.unobserved and not self.unobserved.isdisjoint(self.names()):
            raise ValueError(f"observed and unobserved at once: {sorted(self.unobserved & self.names())[:3]}")

    def names(self) -> frozenset[str]:
        """The names of all flags and attributes."""
        return frozenset(self.flags or ()) | frozenset(self.attributes or ())


def clean_text(text: str) -> str:
    r"""Replace what is not Unicode text by U+FFFD, so that every string can be encoded.

    File names and file contents of a machine may hold any bytes; Python hands undecodable ones over as lone surrogates.

    >>> clean_text("caf\udce9")
    'caf\ufffd'
    """
    if text.isascii():
        return text
    return "".join("\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in text)
