"""Default labels of the source ``usb`` (NFD, source/usb/usb.go)."""

from nodeworthy.features import FeatureSet
from nodeworthy.labels.defaults.device_labels import DeviceNaming, name_devices
from nodeworthy.labels.defaults.makers import LabelMaker, Made, claim_prefix
from nodeworthy.labels.settings import UsbLabels

_NAMING = DeviceNaming(source="usb", known=("class", "vendor", "device", "serial"), default=UsbLabels().name_fields)


def makers(settings: UsbLabels) -> tuple[LabelMaker, ...]:
    """The maker of this source: ``usb-<class>_<vendor>_<device>.present`` for each kind of device."""
    fields = _NAMING.select_fields(settings.name_fields)

    def make(content: FeatureSet) -> Made:
        named = name_devices(content.instances or (), fields, settings.class_prefixes)
        return Made({f"{name}.present": "true" for name, _ in named})

    # As of PCI functions.
    return (LabelMaker("usb.device", make, claim_prefix("usb.device", "")),)


def field_problems(settings: UsbLabels) -> tuple[str, ...]:
    """What of the setting is not used, in words."""
    return _NAMING.field_problems(settings.name_fields)
