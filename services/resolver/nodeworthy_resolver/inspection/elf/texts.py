"""Looking for texts in a file's content."""

import re

from nodeworthy_resolver.inspection.elf.content import Content


def find_text(content: Content, needle: bytes, start: int = 0) -> int:
    """The offset of the first place of some bytes; -1 where they are not. Unlike ``bytes.find``, works on a mapped file."""
    found = re.compile(re.escape(needle)).search(content, start)
    return found.start() if found else -1


def has_text(content: Content, needle: bytes) -> bool:
    """Whether some bytes stand anywhere in a file."""
    return find_text(content, needle) >= 0
