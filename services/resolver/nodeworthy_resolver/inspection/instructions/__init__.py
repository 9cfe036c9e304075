"""What instructions a file uses, which of them surely run, and what CPU that asks for.

Belongs here: decoding x86-64 (with iced-x86) and AArch64 (by a table of encodings), the borders of functions, what is
executed on every way through a program, and what the code of a whole file says of how it was compiled. Does not belong
here: what files say in so many words (readings/), and verdicts. The rules are in docs/inspection.md.
"""

from nodeworthy_resolver.inspection.instructions.decoding import Decoded, decode_at
from nodeworthy_resolver.inspection.instructions.machines import NoDecoderError
from nodeworthy_resolver.inspection.instructions.reading import read_instructions

__all__ = ["Decoded", "NoDecoderError", "decode_at", "read_instructions"]
