"""The bytes of one ELF file with its class and byte order: every access is checked."""

import struct

Content = bytes | bytearray | memoryview
"""What a file's bytes may come as; a memoryview over a mapped file is read page by page."""

MAX_TEXT_BYTES = 4096
"""Of one name or path: PATH_MAX of Linux. C++ symbols are longer and are read from a whole table."""


class ElfError(Exception):
    """A table of an ELF file is not where it says, or not what it says; ``args[0]`` says which."""


class Bytes:
    """The file's bytes as numbers of its own class and byte order."""

    def __init__(self, content: Content, order: str, bits: int) -> None:
        """``order`` is ``<`` or ``>``, ``bits`` 32 or 64."""
        self.view = memoryview(content)
        self.order = order
        self.bits = bits
        self.word = "Q" if bits == 64 else "I"  # noqa: PLR2004 # the class
        """An address or a size, in the letters of module struct."""

    def shape(self, letters: str) -> struct.Struct:
        """A record of the file's byte order; ``W`` stands for a word of its class."""
        return struct.Struct(self.order + letters.replace("W", self.word))

    def numbers(self, letters: str, offset: int) -> tuple[int, ...]:
        """One record at an offset.

        Raises:
            ElfError: the file ends before it does.
        """
        shape = self.shape(letters)
        if not 0 <= offset <= len(self.view) - shape.size:
            raise ElfError(f"the file ends before offset {offset} + {shape.size}")
        return shape.unpack_from(self.view, offset)

    def part(self, offset: int, size: int) -> memoryview:
        """Bytes of the file, fewer where it ends before."""
        return self.view[offset : offset + size] if offset >= 0 and size > 0 else self.view[:0]

    def text(self, offset: int) -> str:
        """The text that begins at an offset and ends with a zero byte; names that are not UTF-8 carry surrogate escapes."""
        return text_of(self.part(offset, MAX_TEXT_BYTES).tobytes(), 0)


def text_of(table: bytes, position: int) -> str:
    """The text that begins there in a table of names; empty where the table has none, or it does not end."""
    if not 0 <= position < len(table):
        return ""
    end = table.find(b"\0", position)
    return table[position:end].decode("utf-8", "surrogateescape") if end > position else ""
