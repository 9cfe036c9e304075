"""What shares of functions say: measured files whose truth was found with an emulator (docs/inspection.md)."""

import pytest

from nodeworthy_resolver.inspection.instructions.baseline import find_baseline
from nodeworthy_resolver.inspection.instructions.usage import Usage

NUMPY = Usage(
    8415, plain=2993, modern=1237, wide=542, counts={"AVX": 1219, "SSE4": 813, "SSE3": 316, "SSSE3": 291, "POPCNT": 128}
)
OPENBLAS = Usage(
    12560, plain=6836, modern=1763, mixing=frozenset(range(55)), counts={"AVX": 1817, "SSE3": 606, "SSE4": 140}
)
LIBC = Usage(3713, plain=536, modern=114, wide=48, counts={"AVX": 80, "BMI2": 72, "AVX2": 65, "SSE4": 2})
POLARS = Usage(100_000, plain=40, modern=39_960, counts={"AVX": 39_000, "AVX2": 5000, "BMI2": 7000, "LZCNT": 4000})
POLARS_LTS = Usage(
    90_000, plain=29_940, modern=60, counts={"AVX": 60, "SSE4": 3900, "SSSE3": 2000, "SSE42": 1200, "POPCNT": 3000}
)
TENSORFLOW = Usage(300_000, plain=1000, modern=99_000, wide=900, counts={"AVX": 99_000, "AVX2": 120, "AVX512F": 900})


@pytest.mark.parametrize(
    ("usage", "likely"),
    [
        (NUMPY, {"SSE4", "SSE3", "SSSE3", "POPCNT"}),
        (OPENBLAS, set()),
        (LIBC, set()),
        (POLARS, {"AVX", "AVX2", "BMI2"}),
        (POLARS_LTS, {"SSE4", "SSSE3", "SSE42", "POPCNT"}),
        (TENSORFLOW, {"AVX"}),
    ],
)
def test_measured_libraries_are_judged_as_they_behave(usage: Usage, likely: set[str]) -> None:
    assert find_baseline("amd64", usage, chooses=True).likely == likely


def test_only_what_is_in_nearly_all_of_many_functions_is_certain() -> None:
    assert find_baseline("amd64", POLARS, chooses=True).certain == {"AVX"}
    assert find_baseline("amd64", POLARS, chooses=False).certain == {"AVX", "AVX2", "BMI2"}
    assert find_baseline("amd64", POLARS._replace(modern=400, plain=0), chooses=False).certain == frozenset()


def test_avx512_in_most_avx_functions_is_v4() -> None:
    counts = {"AVX": 600, "AVX512F": 500, "AVX512VL": 450}

    assert "AVX512F" in find_baseline("amd64", Usage(1000, modern=700, wide=500, counts=counts), chooses=False).likely
    assert (
        "AVX512F" not in find_baseline("amd64", Usage(1000, modern=700, wide=300, counts=counts), chooses=False).likely
    )


def test_few_chosen_functions_are_no_baseline() -> None:
    usage = Usage(30, plain=1, modern=18, counts={"AVX": 18})

    assert find_baseline("amd64", usage, chooses=True).likely == frozenset()
    assert find_baseline("amd64", usage, chooses=False).likely == {"AVX"}


@pytest.mark.parametrize(
    ("usage", "certain", "likely"),
    [
        (Usage(3340, mixing=frozenset(range(22)), counts={"ATOMICS": 22}), set(), set()),  # outline helpers alone
        (Usage(3000, plain=40, counts={}), set(), set()),
        (Usage(3000, modern=60, plain=2, counts={"ATOMICS": 60}), set(), {"ATOMICS"}),
        (Usage(30_000, modern=900, plain=4, counts={"ATOMICS": 900}), {"ATOMICS"}, {"ATOMICS"}),
        (Usage(3000, modern=30, plain=30, counts={"ATOMICS": 30}), set(), set()),
    ],
)
def test_atomics_of_armv8_1_are_a_baseline_where_no_others_are(
    usage: Usage, certain: set[str], likely: set[str]
) -> None:
    found = find_baseline("arm64", usage, chooses=True)

    assert (set(found.certain), set(found.likely)) == (certain, likely)
