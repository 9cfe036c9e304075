"""The images that a build pulls, and for which platform; pure.

Of every stage, since which are left out is the builder's and its caller's choice. Images of ``COPY --from`` and ``RUN
--mount=from=`` are pulled for the target platform, as BuildKit does.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from nodeworthy import platforms
from nodeworthy.errors import DocumentError, Problem, UsageError
from nodeworthy.platforms import Platform
from nodeworthy_cli.containerfiles.expansion import ExpansionError, expand
from nodeworthy_cli.containerfiles.instructions import Instruction, parse_instructions

_SCRATCH = "scratch"
"""The empty image, which nobody pulls."""

_WORD = r"""(?:"[^"]*"|'[^']*'|[^\s"'\\]|\\.)"""
_BASE = re.compile(rf"(?P<image>{_WORD}+)(?:\s+[Aa][Ss]\s+(?P<stage>[A-Za-z][A-Za-z0-9_.-]*))?")
_ARGUMENT = re.compile(rf"([A-Za-z_][A-Za-z0-9_]*)(?:=({_WORD}*))?")
_MOUNT_FROM = re.compile(r'(?:^|,)("?)from=([^,"]*)\1', re.IGNORECASE)
"""BuildKit reads a mount as a line of comma-separated values, which may be quoted, and its keys in any case."""


class Use(NamedTuple):
    """An image that a build needs."""

    image: str
    platform: Platform
    line: int


class _Stage(NamedTuple):
    instruction: Instruction
    name: str


def list_images(
    text: str, source: str, target: Platform, build: Platform, arguments: Mapping[str, str]
) -> tuple[tuple[Use, ...], tuple[Problem, ...]]:
    """The images that a Containerfile names, for a build on one platform for another, and what of it cannot be told.

    Args:
        text: the Containerfile.
        source: its name, for messages.
        target: the platform that is built for.
        build: the platform that is built on, ``$BUILDPLATFORM``.
        arguments: build arguments, ``--build-arg``.

    Raises:
        DocumentError: the file is no Containerfile.
    """
    instructions, escape = parse_instructions(text, source)
    if not any(instruction.name == "FROM" for instruction in instructions):
        raise DocumentError(source, (Problem(source, 0, "", "it has no FROM, so it builds nothing"),))
    reader = _Reader(source, target, escape, _platform_arguments(build, target), arguments)
    reader.read(instructions)
    return tuple(dict.fromkeys(reader.uses)), tuple(reader.problems)


def _platform_arguments(build: Platform, target: Platform) -> dict[str, str]:
    """What BuildKit defines by itself ("Automatic platform ARGs in the global scope")."""
    return {
        f"{side}{name}": value
        for side, platform in (("BUILD", build), ("TARGET", target))
        for name, value in (
            ("PLATFORM", str(platform)),
            ("OS", platform.os),
            ("ARCH", platform.architecture),
            ("VARIANT", platform.variant),
        )
    }


class _Reader:
    def __init__(
        self, source: str, target: Platform, escape: str, defined: Mapping[str, str], given: Mapping[str, str]
    ) -> None:
        self._source = source
        self._target = target
        self._escape = escape
        self._given = given
        self._values = {name: given.get(name, value) for name, value in defined.items()}
        self.uses: list[Use] = []
        self.problems: list[Problem] = []

    def read(self, instructions: Iterable[Instruction]) -> None:
        """Collect the images, and what cannot be told."""
        stages: list[_Stage] = []
        copied: list[tuple[Instruction, str]] = []
        for instruction in instructions:
            if instruction.name == "ARG" and not stages:
                self._define(instruction)
            elif instruction.name == "FROM":
                self._read_base(instruction, stages)
            elif instruction.name in {"COPY", "RUN"}:
                copied += [(instruction, name) for name in _sources(instruction)]
        names = {stage.name for stage in stages} | {str(number) for number in range(len(stages))}
        for instruction, name in copied:
            if name.lower() not in names | {_SCRATCH, ""}:
                self._add_copied(instruction, name)

    def _define(self, instruction: Instruction) -> None:
        """An argument before the first stage; one without a value stays as it is, or unset."""
        for found in _ARGUMENT.finditer(instruction.rest):
            name, default = found.groups()
            if name in self._given:
                self._values[name] = self._given[name]
            elif default is not None and (value := self._expand(default, instruction)) is not None:
                self._values[name] = value

    def _read_base(self, instruction: Instruction, stages: list[_Stage]) -> None:
        found = _BASE.fullmatch(instruction.rest.strip())
        if found is None:
            self._complain(instruction, f"FROM {instruction.rest[:60]!r} is not: FROM [--platform=P] IMAGE [AS NAME]")
            stages.append(_Stage(instruction, ""))
            return
        earlier = {stage.name for stage in stages}
        stages.append(_Stage(instruction, (found["stage"] or "").lower()))
        image = self._expand(found["image"], instruction)
        if image is None or image == _SCRATCH or image.lower() in earlier - {""}:
            return
        if not image:
            self._complain(instruction, f"{found['image']} is empty", "give its value: --build-arg NAME=VALUE")
            return
        platform = self._read_platform(instruction)
        if platform is not None:
            self.uses.append(Use(image, platform, instruction.line))

    def _read_platform(self, instruction: Instruction) -> Platform | None:
        written = dict(instruction.flags).get("platform", "")
        value = self._expand(written, instruction)
        if not written or value is None:
            return self._target if not written else None
        try:
            # An architecture alone is meant for Linux, on whose builders these files are built.
            return platforms.parse(value if "/" in value else f"linux/{value}")
        except UsageError as error:
            self._complain(instruction, f"--platform={written}: {error.what}", "give its value: --build-arg NAME=VALUE")
            return None

    def _add_copied(self, instruction: Instruction, name: str) -> None:
        if "$" in name:
            self._complain(instruction, f"from={name}: builders replace no variables there", "name a stage")
            return
        if name.isdecimal():
            self._complain(instruction, f"from={name}: there are fewer stages")
            return
        self.uses.append(Use(name, self._target, instruction.line))

    def _expand(self, word: str, instruction: Instruction) -> str | None:
        try:
            return expand(word, self._values, self._escape)
        except ExpansionError as error:
            self._complain(instruction, str(error))
            return None

    def _complain(self, instruction: Instruction, message: str, hint: str = "") -> None:
        self.problems.append(Problem(self._source, instruction.line, "", message, hint))


def _sources(instruction: Instruction) -> list[str]:
    """Where an instruction copies or mounts from: a stage, or an image."""
    if instruction.name == "COPY":
        return [value for name, value in instruction.flags if name == "from"]
    mounts = (value for name, value in instruction.flags if name == "mount")
    return [found[2] for value in mounts if (found := _MOUNT_FROM.search(value))]
