"""The place of the node's own rules among the default labels: behind the sources, before its files, as in NFD's worker.

What they give is made of more sets than one, by :mod:`nodeworthy.labels.custom_rules`; this says only that nobody knows it
where the rules are not known.
"""

from nodeworthy.labels.defaults.makers import LabelMaker, Made
from nodeworthy.labels.origins import Claims

SET_NAME = "custom.rules"


def makers() -> tuple[LabelMaker, ...]:
    """The maker of this source, which makes nothing."""
    return (LabelMaker(SET_NAME, lambda _content: Made({}), Claims(anything=True), takes_names_as_they_are=True),)
