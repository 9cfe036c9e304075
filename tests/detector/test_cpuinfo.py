import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy_detector.cpuinfo import cpu_list, parse_cpu_list, parse_cpuinfo

TEXT = """\
processor\t: 0
vendor_id\t: GenuineIntel
flags\t\t: fpu sse avx2
power management:

processor\t: 1
vendor_id\t: GenuineIntel
flags\t\t: fpu sse

this line says nothing
"""


def test_each_processor_is_a_block() -> None:
    info = parse_cpuinfo(TEXT)
    assert [block["processor"] for block in info.blocks] == ["0", "1"]
    assert info.values("vendor_id") == ("GenuineIntel", "GenuineIntel")


def test_words_are_those_of_every_processor() -> None:
    info = parse_cpuinfo(TEXT)
    assert info.words("flags") == frozenset({"fpu", "sse"})
    assert info.uneven_words("flags") == {"avx2"}
    assert info.words("Features") is None
    assert info.uneven_words("Features") == frozenset()


def test_a_value_counts_only_if_all_processors_agree() -> None:
    info = parse_cpuinfo(TEXT)
    assert info.only("vendor_id") == "GenuineIntel"
    assert info.only("processor") is None
    assert info.only("power management") is None


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("0-3,8", {0, 1, 2, 3, 8}),
        ("1\n", {1}),
        ("", set()),
        ("3-1", set()),
        ("0-", None),
        ("a", None),
        ("0-4294967295", None),
        ("٣", None),
    ],
)
def test_lists_of_processors(text: str, numbers: set[int] | None) -> None:
    assert parse_cpu_list(text) == (None if numbers is None else frozenset(numbers))


@given(st.sets(st.integers(0, 9_000), max_size=50))
def test_a_list_of_processors_reads_back_as_it_was_written(numbers: set[int]) -> None:
    assert parse_cpu_list(cpu_list(numbers)) == frozenset(numbers)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    info = parse_cpuinfo(text)
    for key in ("flags", "Features", "processor"):
        info.words(key)
        info.uneven_words(key)
        info.only(key)
    parse_cpu_list(text)
