"""Default labels of the source ``pci`` (NFD, source/pci/pci.go)."""

from nodeworthy.features import FeatureSet
from nodeworthy.labels.defaults.device_labels import DeviceNaming, name_devices
from nodeworthy.labels.defaults.makers import LabelMaker, Made, claim_prefix
from nodeworthy.labels.settings import PciLabels

_NAMING = DeviceNaming(
    source="pci",
    known=("class", "vendor", "device", "subsystem_vendor", "subsystem_device"),
    default=PciLabels().name_fields,
)


def makers(settings: PciLabels) -> tuple[LabelMaker, ...]:
    """The maker of this source: ``pci-<class>_<vendor>.present`` and ``….sriov.capable`` for each kind of function."""
    fields = _NAMING.select_fields(settings.name_fields)

    def make(content: FeatureSet) -> Made:
        labels: dict[str, str] = {}
        for name, device in name_devices(content.instances or (), fields, settings.class_prefixes):
            labels[f"{name}.present"] = "true"
            if "sriov_totalvfs" in device:
                labels[f"{name}.sriov.capable"] = "true"
        return Made(labels)

    # A name begins with any hexadecimal digit, so the claim is all names of the source.
    return (LabelMaker("pci.device", make, claim_prefix("pci.device", "")),)


def field_problems(settings: PciLabels) -> tuple[str, ...]:
    """What of the setting is not used, in words."""
    return _NAMING.field_problems(settings.name_fields)
