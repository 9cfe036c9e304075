"""What the validator says unasked: a running image no longer fits its node, or fits again."""

from nodeworthy.bus.records import Message
from nodeworthy.verdicts import Verdict


class FindingMessage(Message, frozen=True, kw_only=True):
    """A running image no longer fits its node, or fits again."""

    node: str
    verdict: Verdict
    before: str = ""
    """The answer of the verdict before this one; empty: there was none."""
    workload: str = ""
    """What runs it, as ``namespace/pod/container``; empty where that is not known."""
