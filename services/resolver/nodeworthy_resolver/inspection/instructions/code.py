"""The code of one ELF file: its bytes by address, its functions, and the names of what it calls."""

import struct
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import islice, pairwise

from nodeworthy_resolver.inspection.elf import (
    Content,
    Elf,
    ElfError,
    Relocation,
    Symbol,
    dynamic,
    read_dynamic_symbols,
    read_initializers,
    read_relocations,
    read_static_symbols,
)
from nodeworthy_resolver.inspection.elf.records import WRITABLE, Segment
from nodeworthy_resolver.inspection.instructions.functions import Borders, executable_segments, find_functions
from nodeworthy_resolver.inspection.instructions.steps import Flow, Machine, Step

_RUN = 4096
"""Bytes that are decoded at once where nothing tells how long a function is."""
_STUB = 32
"""Bytes of a stub of the linkage table."""
_MAX_RELOCATIONS = 3_000_000
"""The largest libraries have a million."""
_MAX_IN_ROW = 100_000
"""Instructions that are gone through one behind the other; some tenths of a second."""
_MAX_UNTOLD = 4 * 1024 * 1024
"""Bytes of code that are decoded one by one to find functions; some five seconds."""
_INDIRECT = {"amd64": 37, "arm64": 1032}
"""R_X86_64_IRELATIVE and R_AARCH64_IRELATIVE: a function chosen by a function, mostly by what the CPU can."""
_RELATIVE = {"amd64": 8, "arm64": 1027}

_SIZE_AND_ALIGNMENT = struct.pack("<2Q", 8, 8)
"""Of a closure that holds one address, in its table of methods."""


class Code:
    """The code of a file, read on demand. Whatever cannot be read is as if it were not there."""

    def __init__(self, content: Content, elf: Elf, machine: Machine) -> None:
        """``content`` is the whole file, as ``elf`` was read from it."""
        self.elf = elf
        self.machine = machine
        self._view = memoryview(content)
        self._callees: dict[int, tuple[int, str]] = {}

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The loader's symbols, by their index."""
        try:
            return read_dynamic_symbols(self._view, self.elf)
        except ElfError:
            return ()

    @cached_property
    def _all_symbols(self) -> tuple[Symbol, ...]:
        try:
            return (*self.symbols, *read_static_symbols(self._view, self.elf))
        except ElfError:
            return self.symbols

    @cached_property
    def relocations(self) -> tuple[Relocation, ...]:
        """What the loader fills."""
        try:
            return tuple(islice(read_relocations(self._view, self.elf), _MAX_RELOCATIONS))
        except ElfError:
            return ()

    @cached_property
    def imports(self) -> dict[int, str]:
        """Names by the address of the slot that the loader fills with them."""
        known = self.symbols
        return {
            one.address: known[one.symbol].name
            for one in self.relocations
            if one.symbol and one.symbol < len(known) and not one.addend
        }

    @cached_property
    def names(self) -> dict[int, str]:
        """Names of the file's own functions by their address."""
        return {one.address: one.name for one in self._all_symbols if one.section and one.name and one.kind in {2, 10}}

    @cached_property
    def variables(self) -> dict[int, str]:
        """Names of the file's own variables by their address."""
        return {one.address: one.name for one in self._all_symbols if one.section and one.name and one.kind == 1}

    @cached_property
    def exports(self) -> dict[str, int]:
        """Addresses of the functions that other files may call, without those that are chosen at run time."""
        return {one.name: one.address for one in self.symbols if one.section and one.kind == 2 and one.binding}  # noqa: PLR2004

    @cached_property
    def chooses(self) -> bool:
        """Whether some of its functions are chosen when it is loaded (STT_GNU_IFUNC, R_..._IRELATIVE)."""
        kind = _INDIRECT[self.machine.architecture]
        return any(one.kind == kind for one in self.relocations) or any(one.is_indirect for one in self._all_symbols)

    @cached_property
    def functions(self) -> Borders:
        """Its functions: what unwind tables and symbols tell, and where they tell nothing, what is called."""
        return find_functions(self._view, self.elf, self._all_symbols) or self._called()

    @cached_property
    def _executable(self) -> tuple[Segment, ...]:
        return executable_segments(self.elf)

    def _called(self) -> Borders:
        """What direct calls of a short file lead to, each to the next."""
        found: list[tuple[int, int]] = []
        for segment in self._executable:
            if segment.file_size <= _MAX_UNTOLD:
                low, high = segment.address, segment.address + segment.file_size
                calls = {
                    step.target for step in self.machine.steps(self.read(low, high), low) if step.flow is Flow.CALL
                }
                starts = sorted({low, *(one for one in calls if low < one < high)})
                found.extend(pairwise([*starts, high]))
        return tuple(found)

    @cached_property
    def starts(self) -> frozenset[int]:
        """The addresses at which functions begin."""
        return frozenset(first for first, _ in self.functions)

    @cached_property
    def initializers(self) -> tuple[int, ...]:
        """What the loader calls, before anything else of the file."""
        try:
            return (*read_initializers(self._view, self.elf), *self._named_initializers())
        except ElfError:
            return ()

    def _named_initializers(self) -> Iterator[int]:
        """Exported functions in DT_INIT_ARRAY: there the loader fills in what their symbol is."""
        first = self.elf.value(dynamic.INIT_ARRAY)
        end = first + self.elf.value(dynamic.INIT_ARRAY_BYTES)
        for one in self.relocations:
            if first <= one.address < end and 0 < one.symbol < len(self.symbols):
                yield self.symbols[one.symbol].address + one.addend

    def read(self, address: int, size: int) -> bytes:
        """Instructions, fewer where their segment ends before; empty outside of executable segments."""
        for segment in self._executable:
            if segment.address <= address < segment.address + segment.file_size:
                start = segment.offset + address - segment.address
                left = segment.address + segment.file_size - address
                return bytes(self._view[start : start + min(size, left)])
        return b""

    def read_data(self, address: int, size: int) -> bytes:
        """Bytes of any segment, fewer where the file ends before."""
        offset = self.elf.offset_of(address)
        return bytes(self._view[offset : offset + size]) if offset is not None else b""

    def is_writable(self, address: int) -> bool:
        """Whether a variable may be there."""
        return any(
            one.flags & WRITABLE and one.address <= address < one.address + one.memory_size for one in self.elf.loads()
        )

    def pointer_at(self, address: int) -> int:
        """The function whose address stands in the file's data there, before the program runs; 0 if none does."""
        value = self._filled.get(address) or int.from_bytes(self.read_data(address, 8), "little")
        return value if value in self.starts else 0

    def runs(self) -> Iterator[tuple[memoryview, int, Borders]]:
        """Each executable segment with its address and the functions in it."""
        for segment in self._executable:
            low, high = segment.address, segment.address + segment.file_size
            part = self._view[segment.offset : segment.offset + segment.file_size]
            inside = tuple(one for one in self.functions if low <= one[0] and one[1] <= low + len(part))
            if inside and high > low:
                yield part, low, inside

    def steps_from(self, address: int) -> Iterator[Step]:
        """The instructions from an address on, to the end of its function or segment, or until they are very many."""
        return islice(self._steps_from(address), _MAX_IN_ROW)

    def _steps_from(self, address: int) -> Iterator[Step]:
        place = bisect_right(self.functions, (address, 2**64)) - 1
        end = self.functions[place][1] if place >= 0 else 0
        while True:
            size = min(_RUN, end - address) if address < end else _RUN
            last = None
            for step in self.machine.steps(self.read(address, size), address):
                # The last instruction of a part may be cut: it is decoded anew with what follows.
                if step.end > address + size - 16 and size == _RUN and last is not None:
                    break
                last = step
                yield step
            if last is None or size < _RUN:
                return
            address = last.end

    def callee(self, step: Step) -> tuple[int, str]:
        """Whom a call or jump leads to: (address in this file, name); 0 and empty where that is not known."""
        if step.flow in {Flow.CALL_THROUGH, Flow.JUMP_THROUGH}:
            return self._through(step.target)
        if step.target not in self._callees:
            self._callees[step.target] = self._direct(step.target)
        return self._callees[step.target]

    def _direct(self, target: int) -> tuple[int, str]:
        if target in self.names:
            return target, self.names[target]
        if target not in self.starts and (slot := self.machine.slot_of(self.read(target, _STUB), target)):
            return self._through(slot)
        return target, ""

    def _through(self, slot: int) -> tuple[int, str]:
        name = self.imports.get(slot, "")
        address = self._filled.get(slot, 0)
        return (address, self.names.get(address, "")) if address else (self.exports.get(name, 0), name)

    @cached_property
    def _filled(self) -> dict[int, int]:
        kind = _RELATIVE[self.machine.architecture]
        return {one.address: one.addend for one in self.relocations if one.kind == kind}

    def main(self) -> int:
        """The address of ``main``: what the entry point passes on, at once or one call deeper (musl); 0 if not told."""
        address = self.elf.entry
        for _ in range(2):
            found, slot = self.machine.start_argument(self.read(address, _RUN), address)
            if slot:
                found = self._through(slot)[0]
            if found and self.read(found, 1):
                return found
            address = next((one.target for one in self._first_steps(address) if one.flow in {Flow.CALL, Flow.JUMP}), 0)
            if not address:
                return 0
        return 0

    def main_of_rust(self) -> int:
        """The address of Rust's own ``main``, which C's ``main`` hands on to be called; 0 if there is none.

        It stands on the stack as the data of a closure, passed with the table of the closure's methods: what drops it, size
        and alignment of one address, functions (library/std/src/rt.rs, ``lang_start``). Read for x86-64 only.
        """
        named = [step.memory for step in self._first_steps(self.main()) if step.memory]
        functions = [one for one in named if one in self.starts]
        has_table = any(
            self.read_data(one + 8, 16) == _SIZE_AND_ALIGNMENT and self.pointer_at(one + 24) for one in named
        )
        return functions[0] if len(functions) == 1 and has_table else 0

    def _first_steps(self, address: int) -> Iterator[Step]:
        for step in self.steps_from(address):
            yield step
            if step.flow is not Flow.NEXT:
                return
