"""The page that jemalloc was built for, out of the comparison in its ``pages_boot`` (arm64).

The code is ``cmp x0, #page`` and a branch to where the address of the message is put together (``adrp``, ``add``), or one
around it. Only this shape is taken; any other is no answer. Encodings: Arm Architecture Reference Manual, C6.2 (ADRP, ADD
immediate, SUBS immediate, B.cond).
"""

from collections.abc import Iterator

from nodeworthy_resolver.inspection.elf import Elf

_ARM64 = 183
_MAX_CODE = 256 * 1024 * 1024
"""Of one segment; programs that bundle jemalloc have up to 100 MB."""
_ADRP, _ADRP_MASK = 0x90000000, 0x9F000000
_ADD, _ADD_MASK = 0x91000000, 0xFFC00000
_COMPARE, _COMPARE_MASK = 0xF100001F, 0xFF80001F
"""``subs xzr, xn, #immediate``, shifted by 12 bits or not."""
_BRANCH, _BRANCH_MASK = 0x54000000, 0xFF000010
_HIGHER, _LOWER_OR_SAME = 8, 9
"""Conditions ``hi`` and ``ls``."""
_NEAR = 8
"""Instructions between the halves of an address, and between the branch and what it decides."""
_REACH = 1 << 18
"""Instructions that a conditional branch reaches, either way."""
_PAGES = frozenset({4096, 8192, 16384, 65536})


def find_page_size(elf: Elf, view: memoryview, message: int) -> int | None:
    """The page in bytes, by the offset of jemalloc's message; ``None`` where the code has another shape."""
    address = elf.address_of(message)
    if elf.machine != _ARM64 or elf.order != "<" or address is None:
        return None
    found: set[int] = set()
    for segment in elf.loads():
        if segment.is_executable and segment.file_size <= _MAX_CODE:
            size = segment.file_size // 4 * 4
            code = memoryview(bytes(view[segment.offset : segment.offset + size]))
            words = code[: len(code) // 4 * 4].cast("I")
            for place in _uses(words, segment.address, address):
                found |= set(_compared(words, place))
    sizes = found & _PAGES
    return sizes.pop() if len(sizes) == 1 else None


def _uses(words: memoryview, base: int, address: int) -> Iterator[int]:
    """The indexes of the ``adrp`` of each pair that makes an address."""
    page = address >> 12
    low = address & 0xFFF
    for index, word in enumerate(words):
        if word & _ADRP_MASK != _ADRP:
            continue
        distance = ((word >> 5) & 0x7FFFF) << 2 | (word >> 29) & 3
        if distance >> 20:
            distance -= 1 << 21
        if ((base + 4 * index) >> 12) + distance != page:
            continue
        register = word & 31
        for later in words[index + 1 : index + 1 + _NEAR]:
            if later & _ADD_MASK == _ADD and (later >> 5) & 31 == register and (later >> 10) & 0xFFF == low:
                yield index
                break


def _compared(words: memoryview, place: int) -> Iterator[int]:
    """What is compared before a branch to the message, or before one around it."""
    for index in range(max(0, place - _REACH), min(len(words), place + _REACH)):
        word = words[index]
        if word & _BRANCH_MASK != _BRANCH:
            continue
        distance = (word >> 5) & 0x7FFFF
        target = index + (distance - (1 << 19) if distance >> 18 else distance)
        jumps_to = word & 15 == _HIGHER and place - _NEAR <= target <= place
        jumps_over = word & 15 == _LOWER_OR_SAME and place - _NEAR <= index < place < target
        if not jumps_to and not jumps_over:
            continue
        for earlier in range(index - 1, max(-1, index - 1 - _NEAR), -1):
            compare = words[earlier]
            if compare & _COMPARE_MASK == _COMPARE:
                yield ((compare >> 10) & 0xFFF) << (12 if compare & 1 << 22 else 0)
                break
