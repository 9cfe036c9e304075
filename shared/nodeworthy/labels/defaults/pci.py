"""Default labels of the source ``pci`` (NFD, source/pci/pci.go)."""

from collections.abc import Iterable

from nodeworthy.features import FeatureSet, Instance
from nodeworthy.labels.defaults.makers import LabelMaker, Made, claim_prefix
from nodeworthy.labels.settings import PciLabels

NAME_FIELDS = ("class", "vendor", "device", "subsystem_vendor", "subsystem_device")
"""What a name can be made of, in the order in which it always is (case P2)."""


def makers(settings: PciLabels) -> tuple[LabelMaker, ...]:
    """The maker of this source: ``pci-<class>_<vendor>.present`` and ``….sriov.capable`` for each kind of function."""
    fields = select_fields(settings.name_fields)
    prefixes = tuple(prefix.lower() for prefix in settings.class_prefixes)

    def make(content: FeatureSet) -> Made:
        return Made(_labels(content.instances or (), fields, prefixes))

    # A name begins with any hexadecimal digit, so the claim is all names of the source.
    return (LabelMaker("pci.device", make, claim_prefix("pci.device", "")),)


def select_fields(names: Iterable[str]) -> tuple[str, ...]:
    """The known ones in their fixed order; where none is known, NFD's default."""
    wanted = frozenset(names)
    return tuple(field for field in NAME_FIELDS if field in wanted) or PciLabels().name_fields


def field_problems(settings: PciLabels) -> tuple[str, ...]:
    """What of the setting is not used, in words."""
    unknown = sorted(set(settings.name_fields) - set(NAME_FIELDS))
    known = ", ".join(NAME_FIELDS)
    problems = [
        f"labels of pci: {name[:60]!r} is no field of a name and is not used; there are {known}" for name in unknown
    ]
    if not set(settings.name_fields) & set(NAME_FIELDS):
        problems.append(
            f"labels of pci: no field of a name is left, so {' and '.join(PciLabels().name_fields)} are used"
        )
    return tuple(problems)


def _labels(devices: Iterable[Instance], fields: tuple[str, ...], prefixes: tuple[str, ...]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for device in devices:
        if device.get("class", "").startswith(prefixes):
            name = "_".join(device.get(field, "") for field in fields)
            labels[f"{name}.present"] = "true"
            if "sriov_totalvfs" in device:
                labels[f"{name}.sriov.capable"] = "true"
    return labels
