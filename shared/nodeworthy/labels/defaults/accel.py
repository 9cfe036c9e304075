"""Default labels of the source ``accel``, which NFD does not have: one group of labels for each vendor of accelerators."""

import re
from collections.abc import Iterable, Mapping, Sequence

from nodeworthy.features import FeatureSet, Instance
from nodeworthy.labels.defaults.makers import LabelMaker, Made, claim_prefix
from nodeworthy.labels.values import legal_value

_VERSION = re.compile(r"([0-9]+)(?:\.([0-9]+))?.*", re.DOTALL)

_NAMING_DRIVERS = frozenset({"", "amdgpu", "habanalabs", "nvidia"})
"""Drivers that name their devices; no driver at all may be one of them that is not loaded now."""


def makers() -> tuple[LabelMaker, ...]:
    """The maker of this source.

    Of a vendor's devices: ``accel-<vendor>.present``, ``.count``, and where all of them have the same, ``.model``,
    ``.gfx-target`` and ``.driver-version.full``, ``.major`` and ``.minor``. A node with two models has no label of a model:
    one of them would stand for both, and a rule on ``accel.device`` can ask for either.
    """
    return (LabelMaker("accel.device", _make, claim_prefix("accel.device", "")),)


def _make(content: FeatureSet) -> Made:
    by_vendor: dict[str, list[Instance]] = {}
    for device in content.instances or ():
        vendor = legal_value(device.get("vendor", ""))
        if vendor:
            by_vendor.setdefault(vendor, []).append(device)
    labels: dict[str, str] = {}
    doubtful: set[str] = set()
    for vendor, devices in by_vendor.items():
        labels |= {f"{vendor}.{name}": value for name, value in _labels(devices).items()}
        doubtful.update(f"{vendor}.{name}" for name in _doubtful(devices))
    return Made(labels, frozenset(doubtful))


def _labels(devices: Sequence[Instance]) -> dict[str, str]:
    labels = {"present": "true", "count": str(_count(devices))}
    model, target = _common(devices, "model"), _common(devices, "gfx_target")
    found = {"model": model, "gfx-target": target, **_version_labels(_common(devices, "driver_version"))}
    return labels | {name: legal_value(text) for name, text in found.items() if text and legal_value(text)}


def _count(devices: Iterable[Instance]) -> int:
    """Without virtual functions of devices of this node: the device itself is counted."""
    return sum(1 for device in devices if device.get("form") != "virtual-function")


def _common(devices: Sequence[Instance], attribute: str) -> str | None:
    """What all devices have; ``None`` where two differ, or one has none."""
    values = {device.get(attribute) for device in devices}
    return values.pop() if len(values) == 1 else None


def _version_labels(version: str | None) -> Mapping[str, str | None]:
    parts = _VERSION.fullmatch(version or "")
    if parts is None:
        return {"driver-version.full": version}
    return {"driver-version.full": version, "driver-version.major": parts[1], "driver-version.minor": parts[2]}


def _doubtful(devices: Sequence[Instance]) -> tuple[str, ...]:
    """A name that a driver gives is not known while that driver is not there: the label stays as it was."""
    nameless = [device for device in devices if "model" not in device]
    return ("model",) if any(device.get("driver", "") in _NAMING_DRIVERS for device in nameless) else ()
