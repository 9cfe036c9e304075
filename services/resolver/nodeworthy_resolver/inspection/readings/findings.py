"""What a reading gathers while it goes from file to file, and how sure it may be of a file."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from posixpath import basename
from typing import NamedTuple

from nodeworthy.requirements import Defect, Information, Requirement, Software, Sureness, Unexplored
from nodeworthy_resolver.inspection.subject import Outcome, Subject
from nodeworthy_resolver.inspection.tree import NotKeptError, Tree, find_file

MAX_TEXT_BYTES = 1024 * 1024
"""Of a text that is read as a whole: the largest such, dpkg's status of a desktop, is read by itself."""
MAX_FOUND = 256
"""Places of one pattern in one file."""

_ORDER = (Sureness.CERTAIN, Sureness.PROBABLE, Sureness.ADVISORY)


class Found(NamedTuple):
    """One place where a pattern stands in a file."""

    offset: int
    text: bytes
    groups: tuple[bytes, ...]


@dataclass
class Findings:
    """The lists that become one outcome."""

    requirements: list[Requirement] = field(default_factory=list)
    defects: list[Defect] = field(default_factory=list)
    information: list[Information] = field(default_factory=list)
    unexplored: list[Unexplored] = field(default_factory=list)
    software: list[Software] = field(default_factory=list)

    def outcome(self) -> Outcome:
        """All that was found, in the order in which it was."""
        return Outcome(
            requirements=tuple(self.requirements),
            defects=tuple(self.defects),
            information=tuple(self.information),
            unexplored=tuple(self.unexplored),
            software=tuple(self.software),
        )

    @contextmanager
    def content(self, subject: Subject, path: str) -> Iterator[memoryview]:
        """The content of a file; empty, and said so, where it was not kept."""
        with ExitStack() as stack:
            try:
                view = stack.enter_context(subject.tree.map(path))
            except NotKeptError as error:
                decides = subject.start.sureness(path) is not None
                self.unexplored.append(Unexplored(path, f"its content was not kept: {error.args[0]}", decides))
                view = memoryview(b"")
            yield view

    def text(self, subject: Subject, path: str, limit: int = MAX_TEXT_BYTES) -> str | None:
        """The text that a path names, links followed; ``None`` where no file is there or it was not kept.

        What stands behind ``limit`` bytes is left out, and said so.
        """
        found = find_file(subject.tree, path)
        if found is None:
            return None
        try:
            data = subject.tree.read(found, 0, limit + 1)
        except NotKeptError as error:
            self.unexplored.append(Unexplored(found, f"its content was not kept: {error.args[0]}"))
            return None
        if len(data) > limit:
            self.unexplored.append(Unexplored(found, f"what stands behind {limit} bytes is not read", decides=False))
        return data[:limit].decode("utf-8", "replace")


def search(pattern: re.Pattern[bytes], view: memoryview, start: int = 0, limit: int = MAX_FOUND) -> tuple[Found, ...]:
    """The places of a pattern, at most ``limit``; nothing of the result refers to the view."""
    found: list[Found] = []
    # Places come from the file's own numbers, which may be beyond what an index can be.
    for one in pattern.finditer(view, min(start, len(view))):
        found.append(Found(one.start(), bytes(one[0]), tuple(bytes(group or b"") for group in one.groups())))
        if len(found) == limit:
            break
    return tuple(found)


def reach(subject: Subject, path: str) -> Sureness | None:
    """How sure it is that a file runs when the image starts; ``None`` where nothing says so.

    A program that an argument names by its path or name is probable: entrypoint scripts run what they are given.
    """
    known = subject.start.sureness(path)
    if known is not None:
        return known
    named = {basename(argument) for argument in subject.start.arguments}
    return Sureness.PROBABLE if basename(path) in named else None


def weaker(one: Sureness, other: Sureness | None) -> Sureness:
    """The less sure of two; ``None`` counts as advisory."""
    return max(one, other or Sureness.ADVISORY, key=_ORDER.index)


def architecture(subject: Subject) -> str:
    """Go's name of the architecture of what starts, else of what the config claims; empty where neither tells."""
    for path in subject.start.chain:
        elf = subject.elves.get(path)
        if elf is not None and elf.architecture:
            return elf.architecture
    return subject.config.platform.architecture if subject.config.platform else ""


def exists(tree: Tree, path: str) -> bool:
    """Whether a file is there, links followed."""
    return find_file(tree, path) is not None


def printable(data: bytes) -> str:
    """Bytes of a file as a line of text."""
    return " ".join(data.decode("utf-8", "replace").split())
