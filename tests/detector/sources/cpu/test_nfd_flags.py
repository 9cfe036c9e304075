"""The table that the package uses, flag for flag against what NFD's detector was measured to read."""

import json
from pathlib import Path
from typing import Any

import pytest

from nodeworthy_detector.sources.cpu.knowledge import Flag, load

HOSTS = Path(__file__).parents[3] / "data" / "hosts"
MEASURED: dict[str, Any] = json.loads((HOSTS / "x86-flags.json").read_text(encoding="utf-8"))["flags"]
OURS = {flag.name: flag for flag in load().flags}

BY_RULE = {"AVXSLOW", "HTT", "TDX_GUEST"} | {
    f"PMU_FIXEDCOUNTER_{name}" for name in ("CYCLES", "INSTRUCTIONS", "REFCYCLES", "TOPDOWN_SLOTS")
}
"""Flags that no single bit tells; test_x86.py tells how they are raised."""

NEVER_RAISED = {"TBM"}
"""NFD knows the name and never gives it, so it is no flag here."""

OWN_BITS = {
    "AMXFP8": (["1e.1 eax 4"], ["AMXTILE"]),
    "FXSROPT": (["80000001.0 edx 25"], []),
    "OSXSAVE": (["1.0 ecx 27"], []),
    "XSAVE": (["1.0 ecx 26"], []),
}
"""Flags that NFD reads from the wrong bits: their own ones, and what they need (docs/nfd-differences.md)."""

NEEDS = {
    "XCR0_AVX": "state:avx",
    "XCR0_AVX512": "state:avx512",
    "VENDOR_AMD": "vendor:AMD",
    "LEAF1_OSXSAVE": "OSXSAVE",
}


def written(flag: Flag) -> list[str]:
    return sorted(f"{leaf:x}.{subleaf:x} {register} {bit}" for leaf, subleaf, register, bit in flag.bits)


def needs(requirements: list[str]) -> list[str]:
    # The highest leaf is looked at for every bit.
    named = (text for text in requirements if not text.startswith(("MAXLEAF", "MAXEXT")))
    return sorted(NEEDS.get(text) or text.removeprefix("FLAG:") for text in named)


def test_every_flag_of_nfd_is_in_the_table_or_follows_a_rule() -> None:
    assert len(MEASURED) == 210
    assert MEASURED.keys() - OURS.keys() == BY_RULE | NEVER_RAISED
    assert OURS.keys() - MEASURED.keys() == set()
    assert {name for name, (bits, *_) in MEASURED.items() if not bits} >= BY_RULE | NEVER_RAISED


@pytest.mark.parametrize("name", OURS)
def test_a_flag_is_read_as_nfd_reads_it(name: str) -> None:
    bits, logic, requirements, word = MEASURED[name]
    expected = OWN_BITS.get(name, (sorted(bits), needs(requirements)))
    assert (written(OURS[name]), sorted(OURS[name].needs)) == expected
    assert OURS[name].every is (logic == "all")
    if word:
        assert OURS[name].cpuinfo == word
