"""Default labels of the source ``kernel`` (NFD, source/kernel/kernel.go); modules and KVM give none."""

from nodeworthy.labels.defaults.makers import LabelMaker, attribute_labels, claim_names, select, true_attribute
from nodeworthy.labels.settings import KernelLabels

_VERSION = ("full", "major", "minor", "revision")


def makers(settings: KernelLabels) -> tuple[LabelMaker, ...]:
    """The makers of this source."""
    return (
        attribute_labels(
            "kernel.config",
            select(settings.config_options, "config."),
            claim_names("kernel.config", (f"config.{option}" for option in settings.config_options)),
            _config_value,
        ),
        true_attribute("kernel.selinux", "selinux.enabled", "enabled"),
        attribute_labels(
            "kernel.version",
            select(_VERSION, "version."),
            claim_names("kernel.version", (f"version.{part}" for part in _VERSION)),
            # NFD's own facts have empty texts for the parts that a release does not have (case L5).
            lambda value: value or None,
        ),
    )


def _config_value(value: str) -> str:
    """``true`` for what is built in or a module, else the value itself."""
    return "true" if value in {"y", "m"} else value
