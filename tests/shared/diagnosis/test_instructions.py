"""What an instruction is by its bytes alone."""

import pytest

from nodeworthy.diagnosis.instructions import Kind, recognize


@pytest.mark.parametrize(
    ("code", "machine", "kind", "text"),
    [
        ("0f0b9090", "amd64", Kind.TRAP, "ud2"),
        ("0fb9c0", "amd64", Kind.TRAP, "ud1"),
        ("cc", "amd64", Kind.TRAP, "int3"),
        ("c5f5fed0", "amd64", Kind.UNKNOWN, ""),
        ("00000000", "arm64", Kind.TRAP, "udf #0x0"),
        ("200020d4", "arm64", Kind.TRAP, "brk #0x1"),
        ("000638d5", "arm64", Kind.ID_REGISTER, "mrs of an ID register"),
        ("1f0638d5", "arm64", Kind.ID_REGISTER, "mrs of an ID register"),
        ("40d03bd5", "arm64", Kind.UNKNOWN, ""),
        ("2100e2b8", "arm64", Kind.UNKNOWN, ""),
        ("000638", "arm64", Kind.UNKNOWN, ""),
        ("0f0b", "s390x", Kind.UNKNOWN, ""),
    ],
)
def test_traps_and_reads_of_id_registers_are_known(code: str, machine: str, kind: Kind, text: str) -> None:
    found = recognize(bytes.fromhex(code), machine)
    assert (found.kind, found.text) == (kind, text)


def test_an_instruction_is_told_with_its_place() -> None:
    assert str(recognize(b"\xc5\xf5\xfe\xd0", "amd64")) == "bytes c5 f5 fe d0"
