"""The programs that the scripts which start call by name, beside the one that they become.

Which of a script's lines are carried out is not known, so nothing that is found here is sure.
"""

import re

from nodeworthy_resolver.inspection.closure.executables import DEFAULT_PATH, look_up
from nodeworthy_resolver.inspection.readings.findings import Findings
from nodeworthy_resolver.inspection.subject import Subject

_MAX_SCRIPT = 256 * 1024
"""Bytes of one script; entrypoint scripts of official images have up to 40 kB."""
_MAX_WORDS = 5_000
"""Of all scripts together, each once."""
_COMMENT = re.compile(r"(?:^|\s)#.*")
_WORD = re.compile(r"(?<![\w./$-])/?[A-Za-z_][\w.+-]*(?:/[\w.+-]+)*")
"""What may be a command's name or path."""


def called_programs(subject: Subject, findings: Findings) -> frozenset[str]:
    """Canonical paths of the files that words of the scripts name, by their path or through the image's PATH."""
    words: dict[str, None] = {}
    for path in subject.start.chain:
        if path not in subject.elves:
            text = findings.text(subject, path, _MAX_SCRIPT) or ""
            words |= dict.fromkeys(
                word[0] for line in text.splitlines() for word in _WORD.finditer(_COMMENT.sub("", line))
            )
    search = subject.config.environment.get("PATH", DEFAULT_PATH)
    candidates = (
        look_up(subject.tree, word, subject.config.working_folder, search) for word in list(words)[:_MAX_WORDS]
    )
    return frozenset(one.path for one in candidates if one.is_executable)
