"""Small ELF files, made for one test each: the loader's view of a file, without sections."""

import builtins
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.resolver.inspection.trees import MemoryTree

from nodeworthy_resolver.inspection.closure import find_start
from nodeworthy_resolver.inspection.elf import Elf, read_elf
from nodeworthy_resolver.inspection.subject import ImageConfig, Subject


@dataclass(frozen=True)
class Made:
    """What the file says; what is left out is not there."""

    machine: int = 62
    bits: int = 64
    order: str = "<"
    kind: int = 3
    flags: int = 0
    interpreter: str = ""
    needed: Sequence[str] = ()
    soname: str = ""
    rpath: str = ""
    runpath: str = ""
    needs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Library to versions; a version that begins with ``?`` is weak."""
    defines: Sequence[str] = ()
    imports: Sequence[str] = ()
    """Symbols that a relocation asks for; one that begins with ``?`` is weak."""
    exports: Sequence[str] = ()
    notes: "builtins.bytes" = b""
    tags: Mapping[int, int] = field(default_factory=dict)
    segments: Sequence[tuple[int, int, int]] = ()
    """More PT_LOADs: offset, address, align; of 16 bytes each."""
    tail: "builtins.bytes" = b""
    """Whatever else the file holds."""

    def bytes(self) -> "builtins.bytes":
        """The file."""
        return _Writer(self).written()

    def with_section(self, kind: int, content: "builtins.bytes") -> "builtins.bytes":
        """The file with one section behind the empty one, without a name."""
        data = bytearray(self.bytes())
        at = len(data)
        wide = self.bits == 64
        letters = self.order + ("IIQQQQIIQQ" if wide else "IIIIIIIIII")
        table = struct.pack(letters, *[0] * 10) + struct.pack(letters, 0, kind, 0, 0, at, len(content), 0, 0, 1, 0)
        struct.pack_into(self.order + ("Q" if wide else "I"), data, 40 if wide else 32, at + len(content))
        struct.pack_into(self.order + "HHH", data, 58 if wide else 46, 64 if wide else 40, 2, 0)
        return builtins.bytes(data) + content + table


def gnu_note(kind: int, description: bytes, order: str = "<", align: int = 4) -> bytes:
    """A note of the owner GNU."""
    padded = description + bytes(-len(description) % align)
    return struct.pack(f"{order}III", 4, len(description), kind) + b"GNU\0" + padded


def abi_tag(*numbers: int) -> bytes:
    """The oldest kernel."""
    return gnu_note(1, struct.pack("<IIII", 0, *numbers))


def isa_needed(bits: int, name: int = 0xC0008002) -> bytes:
    """The GNU property of needed (or, by another number, used) levels."""
    return gnu_note(5, struct.pack("<III4x", name, 4, bits), align=8)


class _Writer:
    def __init__(self, made: Made) -> None:
        self.made = made
        self.wide = made.bits == 64
        self.word = "Q" if self.wide else "I"
        self.names = bytearray(b"\0")
        self.body = bytearray()
        self.entries: list[tuple[int, int]] = []
        self.count = 3 + len(made.segments) + (1 if made.interpreter else 0)
        self.start = (64 + 56 * self.count) if self.wide else (52 + 32 * self.count)

    def pack(self, letters: str, *values: int) -> bytes:
        return struct.pack(self.made.order + letters.replace("W", self.word), *values)

    def place(self, data: bytes) -> int:
        self.body += bytes(-len(self.body) % 8)
        at = self.start + len(self.body)
        self.body += data
        return at

    def name(self, text: str) -> int:
        at = len(self.names)
        self.names += text.encode() + b"\0"
        return at

    def written(self) -> bytes:
        made = self.made
        interpreter = made.interpreter.encode() + b"\0"
        interpreter_at = self.place(interpreter)
        notes_at = self.place(made.notes)
        self.entries += [(1, self.name(one)) for one in made.needed]
        for tag, text in ((14, made.soname), (15, made.rpath), (29, made.runpath)):
            if text:
                self.entries.append((tag, self.name(text)))
        self._symbols()
        self._needs()
        self._defines()
        self.entries += made.tags.items()
        names_at = self.place(bytes(self.names))
        self.entries += [(5, names_at), (10, len(self.names)), (0, 0)]
        dynamic = b"".join(self.pack("WW", tag, value) for tag, value in self.entries)
        dynamic_at = self.place(dynamic)
        self.place(made.tail)
        size = self.start + len(self.body)
        headers = [(1, 5, 0, 0, size, 0x1000), (2, 6, dynamic_at, dynamic_at, len(dynamic), 8)]
        headers.append((4, 4, notes_at, notes_at, len(made.notes), 8 if made.notes[8:9] == b"\5" else 4))
        headers[1:1] = [(1, 4, offset, address, 16, align) for offset, address, align in made.segments]
        if made.interpreter:
            headers.insert(0, (3, 4, interpreter_at, interpreter_at, len(interpreter), 1))
        return self._header() + b"".join(self._segment(*one) for one in headers) + bytes(self.body)

    def _header(self) -> bytes:
        made = self.made
        ident = b"\x7fELF" + bytes([2 if self.wide else 1, 1 if made.order == "<" else 2, 1]) + bytes(9)
        size = 64 if self.wide else 52
        numbers = (
            made.kind,
            made.machine,
            1,
            0x40,
            size,
            0,
            made.flags,
            size,
            56 if self.wide else 32,
            self.count,
            0,
            0,
            0,
        )
        return ident + self.pack("HHIWWWIHHHHHH", *numbers)

    def _segment(self, kind: int, flags: int, offset: int, address: int, size: int, align: int) -> bytes:
        if self.wide:
            return self.pack("IIQQQQQQ", kind, flags, offset, address, address, size, size, align)
        return self.pack("IIIIIIII", kind, offset, address, address, size, size, flags, align)

    def _symbols(self) -> None:
        symbols = [self._symbol("", 0, 0)]
        symbols += [self._symbol(one.lstrip("?"), 2 if one[0] == "?" else 1, 0) for one in self.made.imports]
        symbols += [self._symbol(one, 1, 1) for one in self.made.exports]
        if len(symbols) == 1:
            return
        self.entries.append((6, self.place(b"".join(symbols))))
        hash_letters = "QQ" if self.made.machine == 22 and self.wide else "II"
        self.entries.append((4, self.place(self.pack(hash_letters, 0, len(symbols)))))
        filled = [
            self.pack("WWW", 8 * index, ((index << 32) | 6) if self.wide else ((index << 8) | 6), 0)
            for index in range(1, len(self.made.imports) + 1)
        ]
        self.entries += [(7, self.place(b"".join(filled))), (8, len(b"".join(filled)))]

    def _symbol(self, name: str, binding: int, section: int) -> bytes:
        at = self.name(name) if name else 0
        info = binding << 4 | 2
        if self.wide:
            return self.pack("IBBHQQ", at, info, 0, section, 0x10 if section else 0, 0)
        return self.pack("IIIBBH", at, 0x10 if section else 0, 0, info, 0, section)

    def _needs(self) -> None:
        table = b""
        libraries = list(self.made.needs.items())
        for index, (library, versions) in enumerate(libraries):
            following = 16 + 16 * len(versions) if index + 1 < len(libraries) else 0
            table += self.pack("HHIII", 1, len(versions), self.name(library), 16, following)
            for place, version in enumerate(versions):
                weak = 2 if version.startswith("?") else 0
                after = 16 if place + 1 < len(versions) else 0
                table += self.pack("IHHII", 0, weak, 2, self.name(version.lstrip("?")), after)
        if table:
            self.entries += [(0x6FFFFFFE, self.place(table)), (0x6FFFFFFF, len(libraries))]

    def _defines(self) -> None:
        if not self.made.defines:
            return
        table = b""
        every = (self.made.soname, *self.made.defines)
        for index, version in enumerate(every):
            following = 28 if index + 1 < len(every) else 0
            table += self.pack("HHHHIII", 1, 0 if index else 1, index + 1, 1, 0, 20, following)
            table += self.pack("II", self.name(version), 0)
        self.entries += [(0x6FFFFFFC, self.place(table)), (0x6FFFFFFD, len(every))]


def index(tree: MemoryTree) -> dict[str, Elf]:
    """The ELF files of a tree, as an inspection indexes them."""
    contents = {path: content for path, content in sorted(tree.files.items()) if isinstance(content, bytes)}
    return {path: elf for path, content in contents.items() if (elf := read_elf(content)) is not None}


def prepared(tree: MemoryTree, config: ImageConfig) -> Subject:
    """An image, with what runs when it starts, and no end of time."""
    elves = index(tree)
    return Subject(tree, config, find_start(tree, elves, config), elves, lambda: 0.0, 1.0)
