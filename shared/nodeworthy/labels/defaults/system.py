"""Default labels of the source ``system`` (NFD, source/system/system.go); firmware tables give none."""

from nodeworthy.labels.defaults.makers import LabelMaker, attribute_labels, claim_names, select
from nodeworthy.labels.values import legal_value

_OS_RELEASE = ("ID", "VERSION_ID", "VERSION_ID.major", "VERSION_ID.minor")


def makers() -> tuple[LabelMaker, ...]:
    """The maker of this source; VERSION is never used (case O8), and a text that is no legal value is made one."""
    return (
        attribute_labels(
            "system.osrelease",
            select(_OS_RELEASE, "os_release."),
            claim_names("system.osrelease", (f"os_release.{name}" for name in _OS_RELEASE)),
            lambda text: legal_value(text) or None,
        ),
    )
