"""The decoders of the architectures whose code is read."""

from functools import cache

from nodeworthy_resolver.inspection.instructions.arm64 import Arm64
from nodeworthy_resolver.inspection.instructions.steps import Machine


class NoDecoderError(Exception):
    """The library that decodes an architecture is not installed; ``args[0]`` names it."""


@cache
def find_machine(architecture: str) -> Machine | None:
    """The decoder for Go's name of an architecture; ``None`` where its code is not read.

    Raises:
        NoDecoderError: iced-x86 is needed and not installed.
    """
    if architecture == "arm64":
        return Arm64()
    if architecture != "amd64":
        return None
    try:
        from nodeworthy_resolver.inspection.instructions.x86 import X86
    except ImportError as error:
        # The extra "inspect" brings it; it has no wheels for Arm with musl.
        raise NoDecoderError("iced-x86") from error
    return X86()
