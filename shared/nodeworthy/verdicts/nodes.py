"""What a verdict needs to know of a node beside its feature sets: its name and platform."""

import re
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from nodeworthy.features import SetState
from nodeworthy.platforms import Platform, normalize
from nodeworthy.rules import Facts


class NodeFacts(NamedTuple):
    """A node as verdicts see it.

    ``platform`` is ``None`` where the facts do not tell the architecture. ``variant_known`` says whether the platform's
    variant is all that the CPU can do, or only what every CPU of the architecture can.
    """

    name: str
    facts: Facts
    platform: Platform | None
    variant_known: bool

    @property
    def platforms(self) -> tuple[Platform, ...]:
        """What the node takes images for, the first choice first.

        Where its variant is unknown, the second is as high as any: what only that takes is looked at and judged afterwards.
        """
        if self.platform is None:
            return ()
        if self.variant_known or self.platform.architecture not in {"amd64", "arm64", "arm"}:
            return (self.platform,)
        return (self.platform, Platform(self.platform.os, self.platform.architecture, "v99"))

    @classmethod
    def of(cls, facts: Facts, name: str = "") -> "NodeFacts":
        """The node of these facts; ``name`` is used where the facts do not name it."""
        windows = _windows(facts)
        if windows is not None:
            return cls(_name(facts) or name, facts, windows, variant_known=True)
        architecture = _architecture(facts)
        if architecture is None:
            return cls(_name(facts) or name, facts, None, variant_known=False)
        if architecture == "arm":
            variant = _arm_variant(facts)
            is_known = variant is not None
            platform = normalize("linux", architecture, variant or _OLDEST_ARM)
        else:
            variant = _variant(facts, architecture)
            is_known = variant is not None and not any(map(_LEVEL.match, _unobserved(facts)))
            platform = normalize("linux", architecture, variant or "")
        return cls(_name(facts) or name, facts, platform, variant_known=is_known)


def _name(facts: Facts) -> str:
    content = facts.lookup("system.name").content
    return (content.attributes or {}).get("nodename", "") if content else ""


_WINDOWS_VERSION = re.compile(r"10\.0\.[0-9]{5}(?:\.[0-9]+)?")
"""The version of a Windows that runs containers, as ``10.0.20348.2113``; no Linux has a third number of five digits."""


def _windows(facts: Facts) -> Platform | None:
    """The platform of a Windows node: as its kubelet says (set ``kubernetes.node``), or by the version of its kernel."""
    said = _attributes(facts, "kubernetes.node")
    build = said.get("kernel_version", "") or _attributes(facts, "kernel.version").get("full", "")
    if said.get("os", "") != "windows" and not (not said and _WINDOWS_VERSION.fullmatch(build)):
        return None
    architecture = said.get("architecture", "") or _architecture(facts) or "amd64"
    return msgspec.structs.replace(normalize("windows", architecture), os_version=build)


def _attributes(facts: Facts, name: str) -> Mapping[str, str]:
    content = facts.lookup(name).content
    return (content.attributes or {}) if content else {}


def _architecture(facts: Facts) -> str | None:
    content = facts.lookup("system.architecture").content
    if content and (content.attributes or {}).get("architecture"):
        return (content.attributes or {})["architecture"]
    # NFD's own export tells no architecture; only x86-64 CPUs raise the level flags (spec: x86-64 psABI).
    return "amd64" if "X86_64_V1" in _cpu_flags(facts) else None


def _cpu_flags(facts: Facts) -> frozenset[str]:
    content = facts.lookup("cpu.cpuid").content
    return (content.flags if content else None) or frozenset()


def _unobserved(facts: Facts) -> frozenset[str]:
    content = facts.lookup("cpu.cpuid").content
    return content.unobserved if content else frozenset()


_OLDEST_ARM = "v5"
"""What every 32-bit Arm machine can do that images are built for; in an image the name alone means v7."""


def _arm_variant(facts: Facts) -> str | None:
    """What the kernel says by the name of a 32-bit Arm machine, as ``armv6l``."""
    content = facts.lookup("system.architecture").content
    machine = (content.attributes or {}).get("machine", "") if content else ""
    named = normalize("linux", machine)
    return named.variant if machine != "arm" and named.architecture == "arm" else None


_LEVEL = re.compile(r"X86_64_V|ARMv")
_AMD64_LEVEL = re.compile(r"X86_64_V[0-9]")
_ARM64_VERSION = re.compile(r"ARMv([0-9]+)\.([0-9]+)")


def _variant(facts: Facts, architecture: str) -> str | None:
    """The highest variant that the CPU's flags prove; ``None`` where they say nothing of variants."""
    if facts.lookup("cpu.cpuid").state is not SetState.PRESENT:
        return None
    flags = _cpu_flags(facts)
    if architecture == "amd64":
        levels = [int(flag[-1]) for flag in flags if flag.startswith("X86_64_V") and _AMD64_LEVEL.fullmatch(flag)]
        return f"v{max(levels)}" if levels else None
    if architecture == "arm64":
        named = (flag for flag in flags if flag.startswith("ARMv"))
        versions = [(int(found[1]), int(found[2])) for flag in named if (found := _ARM64_VERSION.fullmatch(flag))]
        return "v{}.{}".format(*max(versions)) if versions else None
    return None
