"""The instructions of a Containerfile, each as one text; pure.

The syntax is BuildKit's (docs.docker.com, "Dockerfile reference"): parser directives before anything else, ``#`` comments
also between the lines of one instruction, a backslash (or what ``# escape=`` says) at a line's end, and heredocs.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from nodeworthy.errors import DocumentError, Problem

_DIRECTIVE = re.compile(r"#\s*([A-Za-z][A-Za-z0-9]*)\s*=(.+)")
_NAME = re.compile(r"\s*([A-Za-z]+)(?:\s+(.*))?", re.DOTALL)
_FLAG = re.compile(r"""--([a-z][a-z0-9-]*)(?:=("[^"]*"|'[^']*'|\S*))?(?:\s+|$)""")
_WORD = re.compile(r"""(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.?|[^\s"'\\])+""", re.DOTALL)
_HEREDOC = re.compile(r"[0-9]*<<(-?)([^<]+)", re.DOTALL)
_QUOTED = re.compile(r"""\\(.?)|"((?:\\.|[^"\\])*)"|'([^']*)'""", re.DOTALL)
"""Parts of a word that a shell takes the quotes or the backslash off."""
_WITH_HEREDOCS = frozenset({"RUN", "COPY", "ADD"})


class Instruction(NamedTuple):
    """One instruction; what its heredocs hold is left out."""

    name: str
    """In capitals."""
    flags: tuple[tuple[str, str], ...]
    """``--platform=linux/amd64`` as ("platform", "linux/amd64"), in order."""
    rest: str
    line: int
    """Where it begins, counted from 1."""


class Instructions(NamedTuple):
    """All of a file."""

    instructions: tuple[Instruction, ...]
    escape: str


def parse_instructions(text: str, source: str) -> Instructions:
    """The instructions of a Containerfile.

    Raises:
        DocumentError: a heredoc has no end, a line is no instruction, or the escape is neither a backslash nor a backtick.
    """
    lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
    escape = _read_escape(lines, source)
    return Instructions(tuple(_walk(lines, escape, source)), escape)


def _read_escape(lines: list[str], source: str) -> str:
    """What ``# escape=`` says; directives end at the first line that is none, an empty one included."""
    for number, line in enumerate(lines, 1):
        found = _DIRECTIVE.fullmatch(line)
        if found is None:
            break
        if found[1].lower() == "escape":
            escape = found[2].strip()
            if escape not in {"\\", "`"}:
                raise _error(source, number, f"the escape {escape[:20]!r} is neither a backslash nor a backtick")
            return escape
    return "\\"


def _walk(lines: list[str], escape: str, source: str) -> Iterator[Instruction]:
    goes_on = re.compile(rf"(?<!{re.escape(escape)}){re.escape(escape)}[ \t]*$")
    place = 0
    while place < len(lines):
        first, text, is_open = place, "", True
        while is_open and place < len(lines):
            line = lines[place]
            place += 1
            if not line.strip() or line.lstrip().startswith("#"):
                # Between the lines of an instruction they are passed over; before one, there is none yet.
                is_open = bool(text)
                continue
            is_open = goes_on.search(line) is not None
            text += goes_on.sub("", line)
        if text.strip():
            instruction = _parse(text, source, first + 1)
            yield instruction
            place = _skip_heredocs(lines, place, instruction, source)


def _parse(text: str, source: str, line: int) -> Instruction:
    found = _NAME.fullmatch(text)
    if found is None:
        raise _error(source, line, f"{text.strip()[:60]!r} is no instruction")
    rest, flags, place = (found[2] or "").strip(), [], 0
    while flag := _FLAG.match(rest, place):
        flags.append((flag[1], _unquote(flag[2] or "")))
        place = flag.end()
    return Instruction(found[1].upper(), tuple(flags), rest[place:], line)


def _unquote(text: str) -> str:
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return text[1:-1] if is_quoted else text


def _skip_heredocs(lines: list[str], place: int, instruction: Instruction, source: str) -> int:
    """The place after the heredocs that an instruction begins."""
    name, rest = instruction.name, instruction.rest
    if name == "ONBUILD":
        name, _, rest = rest.partition(" ")
    if name.upper() not in _WITH_HEREDOCS:
        return place
    for word in _WORD.findall(rest):
        found = _HEREDOC.fullmatch(word)
        if found is None:
            continue
        end = _QUOTED.sub(lambda part: part[1] or part[2] or part[3] or "", found[2])
        while place < len(lines) and (lines[place].lstrip("\t") if found[1] else lines[place]) != end:
            place += 1
        if place == len(lines):
            raise _error(source, instruction.line, f"the heredoc {end!r} has no end")
        place += 1
    return place


def _error(source: str, line: int, message: str) -> DocumentError:
    return DocumentError(source, (Problem(source, line, "", message),), todo="mend it; the builder reads it alike")
