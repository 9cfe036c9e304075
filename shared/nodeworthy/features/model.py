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


def clean_text(text: str) -> str:
    r"""Replace what is not Unicode text by U+FFFD, so that every string can be encoded.

    File names and file contents of a machine may hold any bytes; Python hands undecodable ones over as lone surrogates.

    >>> clean_text("caf\udce9")
    'caf\ufffd'
    """
    if text.isascii():
        return text
    return "".join("\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in text)
