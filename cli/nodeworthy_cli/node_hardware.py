"""What a node is, in words: the row of a ledger of hardware, made of what its detector found out."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from nodeworthy.bus.requests import AcceleratorKind, Hardware
from nodeworthy.features import FeatureSet

SETS = ("accel.device", "cpu.cpuid", "cpu.model", "kernel.version", "system.architecture", "system.osrelease")
"""The sets that are read for it."""

_X86_LEVEL = re.compile(r"X86_64_V([0-9]+)")
_ARM_LEVEL = re.compile(r"ARMv([0-9]+)\.([0-9]+)")


def describe_hardware(sets: Mapping[str, FeatureSet]) -> Hardware:
    """The hardware that these sets tell of; what they do not tell is empty."""
    system, release = _attributes(sets, "system.architecture"), _attributes(sets, "system.osrelease")
    return Hardware(
        architecture=system.get("architecture", ""),
        level=find_level(sets["cpu.cpuid"].flags or () if "cpu.cpuid" in sets else ()),
        model=_model(_attributes(sets, "cpu.model")),
        os=release.get("PRETTY_NAME") or f"{release.get('ID', '')} {release.get('VERSION_ID', '')}".strip(),
        kernel=_attributes(sets, "kernel.version").get("full", ""),
        accelerators=tuple(_accelerators(sets)),
    )


def find_level(flags: "frozenset[str] | tuple[()]") -> str:
    """The highest level among the flags of ``cpu.cpuid``; levels hold all below them."""
    x86 = [int(found[1]) for flag in flags if (found := _X86_LEVEL.fullmatch(flag))]
    if x86:
        return f"x86-64-v{max(x86)}"
    arm = [(int(found[1]), int(found[2])) for flag in flags if (found := _ARM_LEVEL.fullmatch(flag))]
    return "ARMv{}.{}".format(*max(arm)) if arm else ""


def describe_accelerators(hardware: Hardware) -> str:
    """All accelerators in one line: ``8x NVIDIA H100 (nvidia 550.54)``."""
    return ", ".join(_describe(kind) for kind in hardware.accelerators)


def _describe(kind: AcceleratorKind) -> str:
    driver = f"{kind.driver} {kind.driver_version}".strip()
    count = f"{kind.count}x " if kind.count > 1 else ""
    return f"{count}{kind.model}" + (f" ({driver})" if driver else " (no driver)")


def _attributes(sets: Mapping[str, FeatureSet], name: str) -> Mapping[str, str]:
    return (sets[name].attributes or {}) if name in sets else {}


def _model(model: Mapping[str, str]) -> str:
    if model.get("name"):
        return model["name"]
    vendor = model.get("vendor") or model.get("vendor_id", "")
    numbers = [f"{word} {model[key]}" for word, key in (("family", "family"), ("model", "id")) if key in model]
    return " ".join([vendor, *numbers]).strip()


def _accelerators(sets: Mapping[str, FeatureSet]) -> Iterator[AcceleratorKind]:
    devices = (sets["accel.device"].instances or ()) if "accel.device" in sets else ()
    counted = Counter(
        (
            device.get("model") or f"{device.get('vendor', '')} {device.get('device_id', '')}".strip() or "unknown",
            device.get("kind", ""),
            device.get("driver", ""),
            device.get("driver_version", ""),
        )
        for device in devices
    )
    for (model, kind, driver, version), count in sorted(counted.items()):
        yield AcceleratorKind(model, count, kind, driver, version)
