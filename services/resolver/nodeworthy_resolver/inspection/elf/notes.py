r"""Notes of the owner "GNU" (gABI, "Note Section"; Linux Extensions to gABI; x86-64 psABI, "GNU Property").

::

    namesz 4 | descsz 4 | type 4 | "GNU\0" | description, padded
    property of type 5:  pr_type 4 | pr_datasz 4 | pr_data, padded to 8 (64-bit) or 4
"""

from collections.abc import Iterable, Iterator

from nodeworthy_resolver.inspection.elf.content import Bytes
from nodeworthy_resolver.inspection.elf.records import Notes, Segment, SegmentKind

_ABI_TAG, _BUILD_ID, _PROPERTY = 1, 3, 5
_ISA_NEEDED, _ISA_USED = 0xC0008002, 0xC0010002
_FEATURES = frozenset({0xC0000002, 0xC0000000})
"""GNU_PROPERTY_X86_FEATURE_1_AND and GNU_PROPERTY_AARCH64_FEATURE_1_AND."""

_MAX_NOTES = 256
"""Of one segment; real ones have fewer than ten."""
_MAX_BYTES = 64 * 1024
"""Of one segment of notes; those of core files are larger."""


def read_notes(data: Bytes, segments: Iterable[Segment]) -> Notes:
    """What all notes of a file say; of the same thing said twice, the first."""
    abi_tag: tuple[int, int, int, int] | None = None
    build_id = ""
    properties: dict[int, int] = {}
    for segment in segments:
        if segment.kind not in {SegmentKind.NOTE, SegmentKind.PROPERTY}:
            continue
        part = data.part(segment.offset, min(segment.file_size, _MAX_BYTES))
        for kind, description in _gnu_notes(data, part, segment.align):
            if kind == _ABI_TAG and abi_tag is None and len(description) >= 16:  # noqa: PLR2004 # four numbers
                abi_tag = data.shape("4I").unpack_from(description, 0)
            elif kind == _BUILD_ID and not build_id:
                build_id = description.hex()
            elif kind == _PROPERTY:
                for name, value in _properties(data, description):
                    properties.setdefault(name, value)
    features = next((properties[name] for name in _FEATURES if name in properties), None)
    return Notes(abi_tag, build_id, properties.get(_ISA_NEEDED), properties.get(_ISA_USED), features)


def _gnu_notes(data: Bytes, part: memoryview, align: int) -> Iterator[tuple[int, memoryview]]:
    # GNU's rule: names and descriptions are padded to 8 in a segment that is aligned to 8, else to 4.
    step = 8 if align == 8 else 4  # noqa: PLR2004 # see above
    head = data.shape("3I")
    position = 0
    for _ in range(_MAX_NOTES):
        if position + head.size > len(part):
            return
        name_size, size, kind = head.unpack_from(part, position)
        begin = _padded(position + head.size + name_size, step)
        if begin + size > len(part):
            return
        if name_size == 4 and bytes(part[position + head.size :][:4]) == b"GNU\0":  # noqa: PLR2004 # its length
            yield kind, part[begin : begin + size]
        position = _padded(begin + size, step)


def _properties(data: Bytes, description: memoryview) -> Iterator[tuple[int, int]]:
    """The properties that are one 4-byte number."""
    head, number = data.shape("2I"), data.shape("I")
    position = 0
    while position + head.size <= len(description):
        name, size = head.unpack_from(description, position)
        position += head.size
        if size == number.size and position + size <= len(description):
            yield name, number.unpack_from(description, position)[0]
        position = _padded(position + size, data.bits // 8)


def _padded(position: int, step: int) -> int:
    return -(-position // step) * step
