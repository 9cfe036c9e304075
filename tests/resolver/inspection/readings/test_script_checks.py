"""What scripts look for in /proc/cpuinfo."""

import pytest

from nodeworthy_resolver.inspection.readings.script_checks import find_checks

_KNOWN = {"avx": "AVX", "avx2": "AVX2", "avx512f": "AVX512F", "fma": "FMA3", "sse4_2": "SSE42"}


@pytest.mark.parametrize(
    ("script", "flags"),
    [
        ("grep -q avx2 /proc/cpuinfo || exit 1\nexec /app", {"AVX2"}),
        ("grep -q avx2 /proc/cpuinfo || { echo 'needs avx2 or fma'; exit 1; }\nexec /app", {"AVX2"}),
        ("if ! lscpu | grep -qw sse4_2; then\n  echo no\n  exit 1\nfi\nexec /app", {"SSE42"}),
        ("if [ -z \"$(grep ' avx2 ' /proc/cpuinfo)\" ]\nthen\n  exit 132\nfi\nexec /app", {"AVX2"}),
        ("grep -q avx2 /proc/cpuinfo && grep -q fma /proc/cpuinfo || die 'too old'", {"AVX2", "FMA3"}),
        ("if grep -q avx2 /proc/cpuinfo; then\n  exec /fast\nelse\n  exit 1\nfi", {"AVX2"}),
        ("if grep avx512f /proc/cpuinfo; then\n a\nelif grep avx /proc/cpuinfo; then\n b\nelse\n exit 1\nfi", {"AVX"}),
    ],
)
def test_a_failing_end_makes_it_a_need(script: str, flags: set[str]) -> None:
    assert {flag for _, _, found in find_checks(script, _KNOWN) for flag in found} == flags


@pytest.mark.parametrize(
    "script",
    [
        "grep -q avx2 /proc/cpuinfo && exec /fast\nexec /app",
        "if grep -q avx2 /proc/cpuinfo; then exec /fast; fi\ntest -f /x || exit 1\nexec /app",
        "if ! grep -q avx /proc/cpuinfo; then\n  echo 'WARNING: needs AVX'\nfi\n[ -d /data ] || exit 1\nexec /app",
        "if grep -qE 'avx2|fma' /proc/cpuinfo; then :; else exit 1; fi",
        "# grep -q avx2 /proc/cpuinfo || exit 1\nexec /app",
        "grep -q avx2 /proc/cpuinfo\n[ -d /data ] || exit 1",
        "grep -c processor /proc/cpuinfo || exit 1",
    ],
)
def test_choosing_and_warning_is_none(script: str) -> None:
    assert list(find_checks(script, _KNOWN)) == []
