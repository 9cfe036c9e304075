"""What a file was compiled for, from how its functions are encoded.

A compiler that may use AVX writes all arithmetic of vectors and floating point in its encoding, one that may use the
atomics of ARMv8.1 writes no other. So nearly all such functions of a file are in the new way, or it chooses at run time.
The shares are measured: table in docs/inspection.md.
"""

from typing import NamedTuple

from nodeworthy_resolver.inspection.instructions.usage import Usage
from nodeworthy_resolver.inspection.instructions.x86_features import LEVELS

_MODERN = 0.9
"""Of the functions with vectors: from here on AVX is the file's baseline. Dispatching libraries stay below 0.6."""
_MODERN_SURE, _MODERN_MANY = 0.98, 500
"""From here on no such program could do anything without it: none that runs on plain CPUs was above 0.6."""
_COMMON = 0.01
"""Of all functions: a feature that compilers use wherever they may is in more."""
_COMMON_SURE, _COMMON_MANY = 0.05, 100
_FEW = 20
"""Functions with vectors: of fewer, in a file that chooses, all have to be in AVX encoding, the one for all CPUs too."""
_PAIR = 2
"""A file that chooses has at least two functions to choose from."""
_SSE4_LIKELY, _SSE4_POSSIBLE = 0.08, 0.03
"""SSE4.1 in functions with vectors: v2 above 8 %, not below 3 %."""
_ATOMIC_MANY = 200
"""Functions with atomics."""


class Baseline(NamedTuple):
    """Features without which most of the file's functions cannot run; none where it is built for all CPUs."""

    certain: frozenset[str] = frozenset()
    likely: frozenset[str] = frozenset()
    possible: frozenset[str] = frozenset()
    why: str = ""


def find_baseline(architecture: str, usage: Usage, *, chooses: bool) -> Baseline:
    """``chooses``: something shows that the file has code which it only uses where the CPU can."""
    return _of_arm(usage, chooses=chooses) if architecture == "arm64" else _of_x86(usage, chooses=chooses)


def _of_x86(usage: Usage, *, chooses: bool) -> Baseline:
    told = usage.told
    is_built_so = usage.modern_share >= (_MODERN_SURE if chooses and told < _FEW else _MODERN)
    if is_built_so and not (chooses and told < _PAIR):
        common = {one for one in usage.counts if usage.share(one) > _COMMON and one != "LZCNT"}
        if usage.wide <= usage.modern / 2:
            common = {one for one in common if not one.startswith("AVX512")}
        certain = frozenset[str]()
        if usage.modern_share >= _MODERN_SURE and usage.modern >= _MODERN_MANY:
            certain = frozenset({"AVX"} | (set() if chooses else {one for one in common if _is_everywhere(usage, one)}))
        why = f"{usage.modern} of {told} functions with vectors or floating point are in AVX encoding"
        return Baseline(certain, frozenset({"AVX", *common}), why=why)
    share = usage.counts.get("SSE4", 0) / told if told else 0.0
    if share <= _SSE4_POSSIBLE or (chooses and told < _FEW):
        return Baseline()
    v2 = LEVELS["X86_64_V2"]
    common = {"SSE4", *(one for one in v2 if usage.share(one) > _COMMON and one != "CX16")}
    why = f"{usage.counts['SSE4']} of {told} functions with vectors or floating point use SSE4.1"
    likely = share > _SSE4_LIKELY
    return Baseline(likely=frozenset(common) if likely else frozenset(), possible=frozenset(common), why=why)


def _of_arm(usage: Usage, *, chooses: bool) -> Baseline:
    told = usage.plain + usage.modern
    if not usage.modern or usage.modern / told < _MODERN or (chooses and told < _FEW):
        return Baseline()
    sure = usage.modern >= _ATOMIC_MANY and usage.modern / told >= _MODERN_SURE
    features = frozenset({"ATOMICS"})
    why = f"{usage.modern} of {told} functions with atomic operations use those of ARMv8.1 alone"
    return Baseline(features if sure else frozenset(), features, why=why)


def _is_everywhere(usage: Usage, feature: str) -> bool:
    return usage.share(feature) >= _COMMON_SURE and usage.counts[feature] >= _COMMON_MANY
