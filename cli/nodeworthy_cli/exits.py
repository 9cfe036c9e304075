"""Exit codes, the same for every verb.

0 yes or done; 1 no; 2 usage or environment; 3 unknown. Several answers end with the first of 2, 1, 3, 0 that occurs among
them: what must be corrected comes before what is known to fail, and that before what is not known.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from nodeworthy import errors

if TYPE_CHECKING:
    from nodeworthy.verdicts import Answer  # which loads the rules, for verbs that need none

YES = 0
NO = 1
USAGE = 2
UNKNOWN = 3
INTERRUPTED = 130
"""128 + SIGINT, as shells have it."""
NO_READER = 141
"""128 + SIGPIPE: nobody read the answer to its end, so the code must not pass for one."""

_OF_ANSWER = {"compatible": YES, "incompatible": NO, "image-defect": NO, "unknown": UNKNOWN}


def of_answer(answer: "Answer") -> int:
    """The exit code of one verdict."""
    return _OF_ANSWER[answer]


def of_error(error: errors.NodeworthyError) -> int:
    """The exit code of an error: 3 where an answer may exist and could not be had, else 2."""
    return UNKNOWN if isinstance(error, errors.RegistryError | errors.ArtifactError | errors.InspectionError) else USAGE


def combine(codes: Iterable[int]) -> int:
    """The exit code of several answers; none at all is 0."""
    seen = set(codes)
    return next((code for code in (USAGE, NO, UNKNOWN) if code in seen), YES)
