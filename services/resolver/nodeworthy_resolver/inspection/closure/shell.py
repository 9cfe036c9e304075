r"""What a shell executes, as far as it can be told without running it.

Only plain words are understood: ``exec nginx -g 'daemon off;'``, ``cd /app && ./server``. Anything else (loops, functions,
substitutions in the name of a command) ends the reading.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh", "mksh", "busybox-sh"})

_BUILTINS = frozenset(
    """
    . : [ [[ alias bg bind break builtin caller cd chdir command compgen complete continue declare dirs disown
    echo enable eval exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd
    printf pushd pwd read readarray readonly return set shift shopt source suspend test times trap true type
    typeset ulimit umask unalias unset wait
    """.split()  # noqa: SIM905 # a list of words reads best as words
)
"""Commands of the shells themselves (POSIX.1, "Special Built-In Utilities" and "Command Search"; bash(1))."""
_KEYWORDS = frozenset(
    """
    if then else elif fi for while until do done case esac in function ! time select coproc { } ;;
    """.split()  # noqa: SIM905 # a list of words reads best as words
)
_HARMLESS = frozenset({":", "true", "umask", "echo", "export"})
"""Commands that cannot fail, so that a shell goes on and runs the next line even after ``set -e``."""

_LIST_MARKS = re.compile(r"&&|\|\||[;|&\n]")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_HERE_DOCUMENT = re.compile(r"(?<!<)<<-?\s*[\"'\\]?([A-Za-z_][A-Za-z0-9_]*)")
"""``<<END``, not ``<<<``: the lines up to that word are no commands."""
_FUNCTION = re.compile(r"\s*(?:function\s+([^\s()]+)|([^\s()]+)\s*\(\s*\))")
_SOURCING = re.compile(r"(?:^|[;&|{(]|\b(?:then|do|else))\s*(?:\.|source)\s")
"""Where a script reads another one, which may define functions."""
_ALL_ARGUMENTS = frozenset({"$@", "${@}", "$*"})
_EXPANDED = re.compile(r"[$`*?\[{~\s]")
"""What a shell replaces in the name of a command, or where it splits it."""
_OF_THE_LOADER = frozenset({"LD_LIBRARY_PATH", "LD_PRELOAD"})
_CHANGES_LOADING = ("LD_", "PATH")

_MAX_LINES = 5000
"""Of a script; longer ones are programs."""


class Command(NamedTuple):
    """A command that a shell runs."""

    words: tuple[str, ...]
    """Program and arguments, with variables of the environment put in."""
    is_only: bool
    """Whether the shell does nothing else that could keep it from being run."""
    may_be_function: bool = False
    """Whether the name may be a function of a file that the script sources."""
    loading: Mapping[str, str] = MappingProxyType({})
    """Variables of the loader that lines before have set: LD_PRELOAD, LD_LIBRARY_PATH."""


class Call(NamedTuple):
    """How a shell was called."""

    text: str = ""
    """Of ``-c``."""
    script: str = ""
    """The file with the script."""
    arguments: tuple[str, ...] = ()
    """``$1`` and so on."""
    is_login: bool = False
    """``-l``: it reads /etc/profile first, which may set another PATH."""


def parse_call(arguments: Sequence[str]) -> Call:
    """The arguments of a shell (POSIX.1, sh; bash(1)): options, then ``-c TEXT [NAME [ARGUMENT...]]`` or a script's file."""
    words = list(arguments)
    has_text = is_login = False
    while words and (words[0] == "-" or (len(words[0]) > 1 and words[0][0] in "-+")):
        word = words.pop(0)
        if word in {"-", "--"}:
            break
        if word.startswith("--"):
            is_login |= word == "--login"
            if word in {"--rcfile", "--init-file"}:
                words = words[1:]
            continue
        has_text |= "c" in word[1:] and word[0] == "-"
        is_login |= "l" in word[1:]
        if word[-1] in "oO" and words:
            words = words[1:]
    if not words:
        return Call(is_login=is_login)
    if has_text:
        return Call(text=words[0], arguments=tuple(words[2:]), is_login=is_login)
    return Call(script=words[0], arguments=tuple(words[1:]), is_login=is_login)


def find_command(text: str, arguments: Sequence[str], environment: Mapping[str, str]) -> Command | None:
    """The program that a script or a text behind ``-c`` surely or most likely ends up running; ``None`` if none can be told.

    The last command of the last line counts, and it must not be indented: one of a block may never run. Where that tells
    nothing, ``exec "$@"`` counts wherever it stands.
    """
    lines = _logical_lines(text)
    return _last_command(lines, arguments, environment) or _handed_on(lines, arguments, environment)


def _last_command(lines: list[str], arguments: Sequence[str], environment: Mapping[str, str]) -> Command | None:
    lines = list(lines)
    while lines and _words(lines[-1], (), {}) in {("exit",), ("exit", "0"), ("exit", "$?"), ("wait",)}:
        lines.pop()
    if not lines or lines[-1][:1].isspace():
        return None
    parts = _split(lines[-1])
    if parts is None:
        return None
    words = _words(parts[-1], arguments, environment)
    if not words:
        return None
    found = _program(words)
    if not found:
        return None
    is_function, is_sourced = _may_be_function(words, lines)
    if is_function:
        return None
    # A variable may have got another value in the lines before.
    is_plain = len(lines) == 1 or "$" not in re.sub(r"\$(?:\{@\}|[@*])", "", lines[-1])
    is_only = len(parts) == 1 and is_plain and all(_is_harmless(line) for line in lines[:-1])
    return Command(found, is_only, is_sourced, _loading(lines[:-1], environment))


def _loading(lines: Sequence[str], environment: Mapping[str, str]) -> Mapping[str, str]:
    """What ``export LD_PRELOAD=/usr/lib/libjemalloc.so.2`` sets outside of blocks, where it is a plain text."""
    found: dict[str, str] = {}
    for line in lines:
        words = () if line[:1].isspace() else _words(line, (), environment) or ()
        if words[:1] == ("export",):
            assigned = (one for word in words[1:] if (one := _ASSIGNMENT.fullmatch(word)))
            found |= {one[1]: one[2] for one in assigned if one[1] in _OF_THE_LOADER and not _EXPANDED.search(one[2])}
    return found


def _may_be_function(words: Sequence[str], lines: Sequence[str]) -> tuple[bool, bool]:
    """Whether a command is a function of the script, and whether it may be one of a sourced file; ``exec`` runs none."""
    called = next((word for word in words if not _ASSIGNMENT.fullmatch(word)), "")
    if called == "exec" or "/" in called:
        return False, False
    defined = {found[1] or found[2] for line in lines if (found := _FUNCTION.match(line))}
    return called in defined, any(map(_SOURCING.search, lines))


def _handed_on(lines: list[str], arguments: Sequence[str], environment: Mapping[str, str]) -> Command | None:
    """``exec "$@"`` anywhere, as in functions of the entrypoint scripts of databases: most likely the way to the end."""
    for line in reversed(lines):
        words = line.split()
        if words[:1] == ["exec"] and words[-1].strip('"') in _ALL_ARGUMENTS and len(_split(line) or ()) == 1:
            found = _words(line.strip(), arguments, environment)
            program = _program(found) if arguments and found else None
            if program is not None:
                return Command(program, is_only=False)
    return None


def _logical_lines(text: str) -> list[str]:
    """The lines that hold commands, continued ones joined, without those of here-documents."""
    lines = []
    end = ""
    for line in text.replace("\\\n", " ").splitlines()[:_MAX_LINES]:
        if end:
            end = "" if line.strip() == end else end
        elif line.strip() and not line.lstrip().startswith("#"):
            document = _HERE_DOCUMENT.search(line)
            end = document[1] if document else ""
            lines.append(line.rstrip())
    return lines


def _split(line: str) -> list[str] | None:
    """The commands of a line; ``None`` where there is none, quotes do not close or a subshell makes it more than a list."""
    lexer = shlex.shlex(line, posix=False, punctuation_chars=";&|()<>")
    lexer.whitespace_split = True
    parts: list[str] = []
    current: list[str] = []
    try:
        for piece in lexer:
            if piece.startswith(("(", ")")):
                return None
            if _LIST_MARKS.fullmatch(piece) or piece == ";;":
                if piece in {"|", "&", ";;"}:
                    return None
                parts.append(" ".join(current))
                current = []
            else:
                current.append(piece)
    except ValueError:
        return None
    parts.append(" ".join(current))
    return [part for part in parts if part] or None


def _words(part: str, arguments: Sequence[str], environment: Mapping[str, str]) -> tuple[str, ...] | None:
    try:
        raw = shlex.split(part, comments=True)
    except ValueError:
        return None
    words: list[str] = []
    for index, word in enumerate(raw):
        if word in _ALL_ARGUMENTS:
            words.extend(arguments)
            continue
        if word[:1] in {">", "<"} or re.match(r"[0-9]*[<>]", word):
            # Where output goes changes nothing about what runs; "2>&1" and "> file" are left in the tail of the words.
            break
        filled = _VARIABLE.sub(lambda found: environment.get(found[1] or found[2], found[0]), word)
        if index == 0 and ("$" in filled or "`" in filled):
            return None
        words.append(filled)
    return tuple(words)


def _program(words: Sequence[str]) -> tuple[str, ...] | None:
    """The words without assignments before them and ``exec``; ``None`` for commands of the shell itself."""
    left = list(words)
    while left and (found := _ASSIGNMENT.fullmatch(left[0])):
        if found[1].startswith(_CHANGES_LOADING):
            return None
        left.pop(0)
    if left[:1] == ["exec"]:
        left.pop(0)
        if left[:1] == ["--"]:
            left.pop(0)
        if left and left[0].startswith("-"):
            return None
    if not left or left[0] in _BUILTINS or left[0] in _KEYWORDS or _EXPANDED.search(left[0]):
        return None
    return tuple(left)


def _is_harmless(line: str) -> bool:
    """Whether a line neither ends the script nor changes what a later one runs."""
    if any(mark in line for mark in "`();|&<>{}") or line[:1].isspace():
        return False
    words = _words(line, (), {})
    if not words:
        return False
    assigned = [found for word in words if (found := _ASSIGNMENT.fullmatch(word))]
    if any(found[1].startswith(_CHANGES_LOADING) for found in assigned):
        return False
    if "$" in line:
        return False
    if words[0] == "set":
        # Other words of it would become the arguments.
        return all(word[0] in "-+" and word != "--" for word in words[1:] if word != "pipefail")
    return words[0] in _HARMLESS or len(assigned) == len(words)
