"""Free text of a machine as the value of a label."""

import re

from nodeworthy.rules.labels import MAX_VALUE

_ILLEGAL = re.compile(r"[^-A-Za-z0-9_.]+")
_NO_ENDS = "-_."


def legal_value(text: str) -> str:
    """The text as a legal value: each run of other characters becomes one ``_``, and both ends are a letter or digit.

    What is legal already stays as it is; what is longer than 63 characters is cut. The raw text stays a fact, so nothing is
    lost. NFD writes kernel releases so and leaves every other illegal value out.

    >>> legal_value("NVIDIA-TITAN-X-(Pascal)"), legal_value("6.12.43+deb13"), legal_value("()")
    ('NVIDIA-TITAN-X-_Pascal', '6.12.43_deb13', '')
    """
    return _ILLEGAL.sub("_", text).strip(_NO_ENDS)[:MAX_VALUE].rstrip(_NO_ENDS)
