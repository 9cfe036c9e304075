"""Default labels of programs in sources.d, under the names that they give (docs/custom-detectors.md)."""

from nodeworthy.features import FeatureSet
from nodeworthy.labels.defaults.makers import LabelMaker, Made
from nodeworthy.labels.origins import Claims

SET_NAME = "programs.label"

_ANYTHING = "*"
"""Among the unobserved names: a program has not said anything yet, so nobody knows which labels it gives."""


def makers() -> tuple[LabelMaker, ...]:
    """The maker of this source; a program that fails keeps the labels that it gave last, and no others."""
    return (LabelMaker(SET_NAME, _make, Claims(anything=True), takes_names_as_they_are=True),)


def _make(content: FeatureSet) -> Made:
    doubtful = content.unobserved - {_ANYTHING}
    return Made(dict(content.attributes or {}), doubtful, may_be_more=_ANYTHING in content.unobserved)
