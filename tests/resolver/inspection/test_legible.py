"""Names that are not UTF-8 become words; everything else stays as it is."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.requirements import Effect, Evidence, Inspection, Layer, Requirement, Sureness
from nodeworthy.requirements.conditions import has_flags
from nodeworthy_resolver.inspection.legible import make_legible


def inspection(name: str) -> Inspection:
    needed = Requirement(
        "level",
        name,
        Layer.INSTRUCTION_SET,
        Effect.CRASHES,
        Sureness.CERTAIN,
        (has_flags("cpu.cpuid", ["AVX2"]),),
        evidence=(Evidence(f"/{name}", offset=3),),
    )
    return Inspection(1, "amd64", (f"/{name}",), (needed,))


@given(st.text(st.characters(), max_size=5))
def test_whatever_a_file_is_called_the_record_can_be_written(name: str) -> None:
    found = make_legible(inspection(name))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(found), type=Inspection) == found
    assert found.requirements[0].match_features == inspection(name).requirements[0].match_features


def test_bytes_that_are_no_text_are_spelt_out() -> None:
    assert make_legible(inspection(b"a\xff".decode("utf-8", "surrogateescape"))).start == ("/a\\udcff",)


def test_a_record_of_plain_text_is_the_same_record() -> None:
    plain = inspection("app")
    assert make_legible(plain) is plain
