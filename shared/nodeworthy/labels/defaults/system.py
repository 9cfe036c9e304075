"""Default labels of the source ``system`` (NFD, source/system/system.go, and ours); firmware tables give none."""

from nodeworthy.labels.defaults.makers import LabelMaker, attribute_labels, claim_names, select
from nodeworthy.labels.values import legal_value

_OS_RELEASE = ("ID", "VERSION_ID", "VERSION_ID.major", "VERSION_ID.minor")

_ARCHITECTURE = {
    "architecture": "architecture.name",
    "machine": "architecture.machine",
    "bits": "architecture.bits",
    "endianness": "architecture.endianness",
}
"""Attributes and their labels: images write ``amd64``, the kernel ``x86_64``."""

_INIT = {"name": "init"}


def makers() -> tuple[LabelMaker, ...]:
    """The makers of this source; VERSION is never used (case O8), and a text that is no legal value is made one."""
    return (
        attribute_labels(
            "system.architecture", _ARCHITECTURE.get, claim_names("system.architecture", _ARCHITECTURE.values()), _value
        ),
        attribute_labels("system.init", _INIT.get, claim_names("system.init", _INIT.values()), _value),
        attribute_labels(
            "system.osrelease",
            select(_OS_RELEASE, "os_release."),
            claim_names("system.osrelease", (f"os_release.{name}" for name in _OS_RELEASE)),
            _value,
        ),
    )


def _value(text: str) -> str | None:
    return legal_value(text) or None
