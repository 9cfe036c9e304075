"""The reading of instructions: all files that run when an image starts, then others as time allows."""

import hashlib
import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import zip_longest
from typing import NamedTuple

from nodeworthy.requirements import Evidence, Information, Requirement, Sureness, Unexplored
from nodeworthy_resolver.inspection.closure.records import Role
from nodeworthy_resolver.inspection.elf import Content, has_text
from nodeworthy_resolver.inspection.elf.machines import machine_name
from nodeworthy_resolver.inspection.instructions.asking import choosing_test
from nodeworthy_resolver.inspection.instructions.choosing import File, others, owner_of, started
from nodeworthy_resolver.inspection.instructions.code import Code
from nodeworthy_resolver.inspection.instructions.conditions import TESTED, requires
from nodeworthy_resolver.inspection.instructions.judging import Asked, Judged, Judgement, judge_file
from nodeworthy_resolver.inspection.instructions.machines import NoDecoderError, find_machine
from nodeworthy_resolver.inspection.instructions.starting import Use, entry_points, surely_used
from nodeworthy_resolver.inspection.instructions.surely import Walk
from nodeworthy_resolver.inspection.instructions.usage import Usage, count_usage
from nodeworthy_resolver.inspection.subject import Outcome, Subject
from nodeworthy_resolver.inspection.tree import NotKeptError

_MAX_OTHERS = 256 * 1024 * 1024
"""Bytes of code of files that the start does not run; half a minute's work."""
_MAX_SHOWN = 8
"""Places that are shown for one requirement of many files."""
_GO = b"\xff Go buildinf:"
_PACKED = b"UPX!"
_TRANSLATING = frozenset(
    {"node", "nodejs", "java", "dotnet", "deno", "bun", "luajit", "julia", "php", "ruby", "beam.smp"}
)
"""Programs that translate to machine code while they run, for the CPU that they find."""


def read_instructions(subject: Subject) -> Outcome:
    """What CPU the code of an image asks for.

    Only what surely runs may be a certain requirement. A file that runs and could not be looked at is told as unexplored
    and decides; of others, one line tells how many were not looked at.
    """
    reading = _Reading(subject)
    with ExitStack() as opened:
        reading.read_certain(opened)
    for file in (*started(subject, Sureness.PROBABLE), *others(subject)):
        reading.read_other(file)
    return reading.outcome()


class _Looked(NamedTuple):
    """A file of the start, open, with its counts; ``walk`` where it is worth following."""

    file: File
    code: Code
    usage: Usage
    walk: Walk | None


class _Reading:
    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._judged: list[tuple[str, Judgement]] = []
        self._information: list[Information] = []
        self._unexplored: list[Unexplored] = []
        self._foreign: Counter[str] = Counter()
        self._late: list[File] = []
        self._seen: set[bytes] = set()
        self._left = _MAX_OTHERS

    def read_certain(self, opened: ExitStack) -> None:
        """All that surely runs, together: functions are followed from file to file."""
        looked = [one for file in started(self._subject, Sureness.CERTAIN) if (one := self._look(file, opened))]
        # A program without such instructions is followed only for the libraries that have some.
        for_libraries = any(one.usage.counts and one.walk and not one.file.is_program for one in looked)
        worth = [one for one in looked if one.usage.counts or for_libraries]
        walks = {one.file.path: (one.code, one.walk) for one in worth if one.walk}
        uses = surely_used(walks, self._subject.start.loaded)
        for one in looked:
            self._judge(one, uses.get(one.file.path, {}))

    def read_other(self, file: File) -> None:
        """One file that may run, or lies in the image only."""
        size = sum(min(one.file_size, file.elf.size) for one in file.elf.loads() if one.is_executable)
        if file.role is None and size > self._left:
            self._late.append(file)
            return
        with ExitStack() as opened:
            looked = self._look(file, opened)
            if looked:
                self._left -= size if file.role is None else 0
                self._judge(looked, {})

    def outcome(self) -> Outcome:
        """All of it; what several files ask for alike is asked once."""
        requirements = _merged((owner_of(path), one) for path, judged in self._judged for one in judged.asked)
        optional = [one for _, judged in self._judged for one in judged.information]
        foreign = [
            Unexplored(
                what=f"the instructions of {count} files for {architecture}",
                why="only those of amd64 and arm64 are read",
                decides=False,
            )
            for architecture, count in sorted(self._foreign.items())
        ]
        return Outcome(
            requirements=tuple(requirements),
            information=(*self._information, *optional),
            unexplored=(*self._unexplored, *_left_out(self._late), *foreign),
        )

    def _look(self, file: File, opened: ExitStack) -> _Looked | None:
        """Opens and counts a file; ``None``, and it is told why, where nothing can be counted."""
        try:
            machine = find_machine(file.elf.architecture)
        except NoDecoderError as error:
            self._unexplored.append(_not_told(file, f"{error.args[0]} is not installed; the extra 'inspect' brings it"))
            return None
        if machine is None:
            self._foreign[machine_name(file.elf.machine, file.elf.architecture)] += 1
            return None
        if not self._has_time():
            self._late.append(file)
            return None
        try:
            content = opened.enter_context(self._subject.tree.map(file.path))
        except NotKeptError as error:
            self._unexplored.append(_not_told(file, f"its content was not kept: {error.args[0]}"))
            return None
        digest = hashlib.sha256(content).digest()
        if digest in self._seen and file.sureness is not Sureness.CERTAIN:
            return None
        self._seen.add(digest)
        if why := _unreadable(content, file):
            self._unexplored.append(why)
            return None
        code = Code(content, file.elf, machine)
        usage = count_usage(code, self._has_time)
        if not usage.is_whole:
            self._late.append(file)
        if file.is_program and posixpath.basename(file.path) in _TRANSLATING:
            self._information.append(_translating(file.path))
        # A library that chooses by itself, as libc, is not worth following: nothing of it is sure.
        return _Looked(file, code, usage, Walk(code) if file.is_program or not code.chooses else None)

    def _judge(self, looked: _Looked, sure: Mapping[str, Use]) -> None:
        file, code, usage, walk = looked
        reached = (
            _reached(code, walk, usage, file.role) if walk and file.role and file.is_program and usage.counts else {}
        )
        judged = judge_file(Judged(file.path, code, usage, file.sureness, file.is_program, sure, reached))
        self._judged.append((file.path, judged))

    def _has_time(self) -> bool:
        return self._subject.clock() < self._subject.deadline


def _reached(code: Code, walk: Walk, usage: Usage, role: Role) -> dict[str, Use]:
    chooses = choosing_test(code, usage, {address: walk.body(address) for address in usage.asking})
    bodies = walk.reached(entry_points(code, role), chooses)
    found: dict[str, Use] = {}
    for function, steps in bodies.items():
        if function not in usage.mixing:
            for step in steps.values():
                for feature in step.features - TESTED:
                    found.setdefault(feature, Use(function, step))
    return found


def _unreadable(content: Content, file: File) -> Unexplored | None:
    """Why the code of a file tells nothing, or is not the file's own."""
    if file.elf.is_program and has_text(content, _GO):
        why = "Go chooses vector code by the CPU; its build information tells the level that it asks for"
        return Unexplored(f"the instructions of {file.path}", why, decides=False)
    if file.elf.is_program and has_text(content, _PACKED):
        return _not_told(file, "it is packed (UPX) and unpacks itself when it runs")
    return None


def _not_told(file: File, why: str) -> Unexplored:
    return Unexplored(f"the instructions of {file.path}", why, decides=file.sureness is Sureness.CERTAIN)


def _left_out(late: list[File]) -> Iterator[Unexplored]:
    if late:
        names = ", ".join(file.path for file in late[:3]) + (" and others" if len(late) > 3 else "")  # noqa: PLR2004
        what = f"the instructions of {len(late)} files, or a part of them: {names}"
        decides = any(file.sureness is Sureness.CERTAIN for file in late)
        yield Unexplored(what, "the time or size for it was used up", decides=decides)


def _translating(path: str) -> Information:
    return Information(
        code="code-made-at-run-time",
        text=f"{path} makes machine code while it runs, for the CPU that it finds; that code is not in the image",
        evidence=(Evidence(file=path, rule="name of the program"),),
    )


def _merged(asked: Iterable[tuple[str, Asked]]) -> Iterator[Requirement]:
    """One for all that an owner's files ask for equally surely, with the first places of each."""
    groups: dict[tuple[str, str, Sureness], list[Asked]] = {}
    for owner, one in asked:
        groups.setdefault((owner, one.architecture, one.sureness), []).append(one)
    for (_, architecture, sureness), alike in groups.items():
        features = frozenset().union(*(one.features for one in alike))
        rounds = zip_longest(*(one.evidence for one in alike))
        evidence = [seen for together in rounds for seen in together if seen is not None]
        yield from requires(architecture, features, sureness, evidence[:_MAX_SHOWN])
