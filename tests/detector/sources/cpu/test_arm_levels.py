import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy_detector.sources.cpu.arm_levels import levels_of
from nodeworthy_detector.sources.cpu.hwcap import bit_names

HOSTS = Path(__file__).parents[3] / "data" / "hosts"
PROCESSORS: dict[str, Any] = json.loads((HOSTS / "arm-processors.json").read_text(encoding="utf-8"))["processors"]

A76 = "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp ssbs"
WORDS = sorted({word for names in bit_names("aarch64") for word in names})


def highest(levels: frozenset[str]) -> str | None:
    return max(levels, default=None, key=lambda level: [int(part) for part in level.removeprefix("ARMv").split(".")])


def test_e5_a_cortex_a76_reaches_8_1_and_8_2_and_not_8_3() -> None:
    found = levels_of(set(A76.split()))
    assert found.reached == {"ARMv8.1", "ARMv8.2"}
    assert not found.untold


@pytest.mark.parametrize("name", PROCESSORS)
def test_the_level_of_a_recorded_processor(name: str) -> None:
    found = levels_of(set(PROCESSORS[name]["Features"].split()))
    assert highest(found.reached) == PROCESSORS[name]["highest"]
    assert highest(found.untold) == PROCESSORS[name]["untold"]


def test_levels_of_9_include_those_of_8() -> None:
    found = levels_of(set(PROCESSORS["linux-ubuntu24.04-dgx_gb10"]["Features"].split())).reached
    assert found == {f"ARMv8.{minor}" for minor in range(1, 8)} | {"ARMv9.0", "ARMv9.1", "ARMv9.2"}


def test_what_no_program_can_fail_for_want_of_is_not_asked_for() -> None:
    words = set(PROCESSORS["linux-unknown-neoverse_v2"]["Features"].split())
    assert highest(levels_of(words - {"ssbs", "bti", "dgh", "rng"}).reached) == "ARMv9.0"


def test_a_kernel_or_a_hypervisor_without_pointer_authentication_leaves_levels_open() -> None:
    words = set(PROCESSORS["linux-unknown-neoverse_v2"]["Features"].split())
    found = levels_of(words - {"paca", "pacg"})
    assert found.reached == {"ARMv8.1", "ARMv8.2"}
    assert found.untold == {"ARMv8.3", "ARMv8.4", "ARMv8.5", "ARMv9.0"}


def test_every_word_together_reaches_every_level() -> None:
    assert levels_of(set(WORDS)).reached == {
        *(f"ARMv8.{minor}" for minor in range(1, 10)),
        *(f"ARMv9.{minor}" for minor in range(7)),
    }


@given(st.frozensets(st.sampled_from(WORDS)), st.sampled_from(WORDS))
def test_levels_are_cumulative_and_one_more_word_takes_none_away(words: frozenset[str], more: str) -> None:
    found, grown = levels_of(words), levels_of(words | {more})
    assert found.reached <= grown.reached
    assert not found.reached & found.untold
    for major in ("8", "9"):
        minors = sorted(int(level[6:]) for level in found.reached if level.startswith(f"ARMv{major}."))
        assert minors == list(range(9 - int(major), 9 - int(major) + len(minors)))
