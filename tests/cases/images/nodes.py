"""Nodes of cases: an ordinary one of each architecture, with the facts that a case is about put in."""

from collections.abc import Mapping

from tests.resolver.inspection.nodes import node

from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.platforms import parse
from nodeworthy.verdicts import NodeFacts

Attributes = Mapping[str, Mapping[str, str]]

_V2 = ("CX16", "LAHF", "POPCNT", "SSE3", "SSE4", "SSE42", "SSSE3")
_V3 = (*_V2, "AVX", "AVX2", "BMI1", "BMI2", "F16C", "FMA3", "LZCNT", "MOVBE")
_LEVELS = {1: ("SSE3",), 2: _V2, 3: _V3}
_ARMV8_0 = ("fp", "asimd", "evtstrm", "crc32", "cpuid")
_ARMV8_2 = (
    *_ARMV8_0,
    "aes",
    "pmull",
    "sha1",
    "sha2",
    "atomics",
    "fphp",
    "asimdhp",
    "asimdrdm",
    "dcpop",
    "lrcpc",
    "asimddp",
)
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64", "loong64": "loongarch64"}


def _made(architecture: str, attributes: Attributes, flags: Mapping[str, tuple[str, ...]], emulates: str) -> Snapshot:
    common: dict[str, Mapping[str, str]] = {
        "system.architecture": {"architecture": architecture, "machine": _MACHINES.get(architecture, architecture)},
        "kernel.version": {"full": "6.8.0-45-generic"},
        "memory.page": {"size": "4096"},
    }
    handlers: tuple[Mapping[str, str], ...] = ()
    if emulates:
        found = {"architecture": emulates, "enabled": "true", "interpreter": f"/usr/bin/qemu-{emulates}", "flags": "F"}
        handlers = ({"name": f"qemu-{emulates}", **found},)
    sets = {name.replace(".", "_"): FeatureSet(flags=frozenset(names)) for name, names in flags.items()}
    return node({**common, **attributes}, kernel_binfmt=FeatureSet(instances=handlers), **sets)


def amd64(level: int = 3, *, ia32: str = "true", emulates: str = "", **attributes: Mapping[str, str]) -> NodeFacts:
    """An x86-64 node of a level; ``ia32`` is empty where nobody knows. Other sets by their names, ``_`` for the point."""
    flags = (*(f"X86_64_V{number}" for number in range(1, level + 1)), *_LEVELS[level])
    given = {**({"cpu.execution": {"ia32": ia32}} if ia32 else {}), **_named(attributes)}
    return NodeFacts.of(_made("amd64", given, {"cpu.cpuid": flags}, emulates), "node")


def arm64(
    *,
    page: int = 4096,
    aarch32: str = "false",
    bits: int = 48,
    version: str = "8.2",
    emulates: str = "",
    **attributes: Mapping[str, str],
) -> NodeFacts:
    """A 64-bit Arm node: its page in bytes, whether 32-bit programs run, bits of addresses, version of Armv8."""
    words = _ARMV8_0 if version == "8.0" else _ARMV8_2
    given = {
        "cpu.execution": {"aarch32": aarch32},
        "memory.page": {"size": str(page)},
        "cpu.address": {"virtual_bits": str(bits)},
        **_named(attributes),
    }
    flags = {"cpu.hwcap": words, "cpu.cpuid": tuple(word.upper() for word in words)}
    return NodeFacts.of(_made("arm64", given, flags, emulates), "node")


def arm(machine: str) -> NodeFacts:
    """A 32-bit Arm node, by what uname calls it."""
    given = {"system.architecture": {"architecture": "arm", "machine": machine}}
    return NodeFacts.of(_made("arm", given, {}, ""), "node")


def other(architecture: str, **attributes: Mapping[str, str]) -> NodeFacts:
    """A node of another architecture."""
    return NodeFacts.of(_made(architecture, _named(attributes), {}, ""), "node")


def windows(build: str) -> NodeFacts:
    """A Windows host, as a cluster tells of it: nothing runs on it that could look for more."""
    facts = Snapshot({"kernel.version": FeatureSet(attributes={"full": build})}, catalogue=frozenset())
    return NodeFacts("node", facts, parse(f"windows({build})/amd64"), variant_known=True)


def kernel(release: str) -> Mapping[str, str]:
    """The set ``kernel.version`` of a release."""
    return {"full": release}


def _named(attributes: Attributes) -> dict[str, Mapping[str, str]]:
    return {name.replace("_", ".", 1): values for name, values in attributes.items()}
