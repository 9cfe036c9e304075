"""Default labels of the source ``local``: what files of features.d say, under their own names (NFD, source/local)."""

from nodeworthy.labels.defaults.makers import LabelMaker, attribute_labels
from nodeworthy.labels.origins import Claims


def makers() -> tuple[LabelMaker, ...]:
    """The maker of this source; nobody knows which labels a file that was not read would give."""
    maker = attribute_labels("local.label", str, Claims(anything=True))
    return (LabelMaker(maker.set_name, maker.make, maker.claims, takes_names_as_they_are=True),)
