"""Programs that do something small and then execute the rest of their arguments: what they execute.

Each row: name, the options that take a value, the words before the command. Sources are the manual pages of coreutils,
util-linux, and the usage texts of tini, dumb-init, catatonit, gosu, su-exec, s6-overlay.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Wrapper(NamedTuple):
    """How the arguments of one program are read."""

    with_value: frozenset[str] = frozenset()
    """Options whose value is the next argument."""
    words: int = 0
    """Arguments of its own before the command, as gosu's user."""
    runs_text: bool = False
    """Whether it hands a text without ``#!`` to /bin/sh, as execvp(3) does."""


_INIT = Wrapper(frozenset({"-p", "-e"}), runs_text=True)

WRAPPERS: Mapping[str, Wrapper] = {
    "tini": _INIT,
    "tini-static": _INIT,
    "docker-init": _INIT,
    "catatonit": Wrapper(runs_text=True),
    "dumb-init": Wrapper(frozenset({"-r", "--rewrite"}), runs_text=True),
    "gosu": Wrapper(words=1),
    "su-exec": Wrapper(words=1, runs_text=True),
    "setpriv": Wrapper(frozenset({"--reuid", "--regid", "--groups", "--inh-caps", "--ambient-caps", "--bounding-set"})),
    "nice": Wrapper(frozenset({"-n", "--adjustment"}), runs_text=True),
    "ionice": Wrapper(frozenset({"-c", "--class", "-n", "--classdata"}), runs_text=True),
    "nohup": Wrapper(runs_text=True),
    "setsid": Wrapper(runs_text=True),
    "stdbuf": Wrapper(frozenset({"-i", "-o", "-e", "--input", "--output", "--error"}), runs_text=True),
    "timeout": Wrapper(frozenset({"-k", "--kill-after", "-s", "--signal"}), words=1, runs_text=True),
    "chpst": Wrapper(
        frozenset({"-u", "-U", "-e", "-b", "-n", "-l", "-L", "-m", "-d", "-o", "-p", "-f", "-c", "-r", "-t"})
    ),
    "time": Wrapper(frozenset({"-f", "-o"}), runs_text=True),
    "numactl": Wrapper(frozenset({"-C", "-N", "-m", "-p", "-i", "--cpunodebind", "--membind", "--physcpubind"})),
    "taskset": Wrapper(words=1),
}


def unwrapped(name: str, arguments: Sequence[str]) -> tuple[Wrapper, tuple[str, ...]] | None:
    """What a known program executes: how, and the command with its arguments; ``None`` for any other program.

    The command is empty where only options were given.
    """
    wrapper = WRAPPERS.get(name)
    if wrapper is None:
        return None
    return wrapper, tuple(past_options(arguments, wrapper.with_value)[wrapper.words :])


def past_options(arguments: Sequence[str], with_value: frozenset[str]) -> Sequence[str]:
    """The arguments behind the options, as getopt(3) with ``+`` reads them: ``--`` or the first other word ends them."""
    index = 0
    while index < len(arguments):
        word = arguments[index]
        if word == "--":
            return arguments[index + 1 :]
        if not word.startswith("-") or word == "-":
            break
        index += 2 if word in with_value else 1
    return arguments[index:]


class Environment(NamedTuple):
    """What env(1) executes, and what it changes before."""

    command: tuple[str, ...]
    assigned: Mapping[str, str]
    is_cleared: bool
    """``-i``: nothing of the former environment is left."""


def parse_env(arguments: Sequence[str]) -> Environment | None:
    """The arguments of env(1) (GNU coreutils; BusyBox): options, ``NAME=value`` words, command.

    ``-S`` splits its value at blanks, as ``#!`` lines use it; with quotes or escapes in it: ``None``.
    """
    words = list(arguments)
    is_cleared = False
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word == "--":
            break
        if word in {"-i", "-", "--ignore-environment"}:
            is_cleared = True
        elif word in {"-u", "--unset", "-C", "--chdir"}:
            words = words[1:]
        elif word.startswith(("-S", "--split-string", "-vS")):
            text = word.removeprefix("--split-string").removeprefix("-v").removeprefix("-S").removeprefix("=")
            if not text and words:
                text = words.pop(0)
            if any(mark in text for mark in "\"'\\$"):
                return None
            words = [*text.split(), *words]
        elif word not in {"-v", "--debug", "-0", "--null"} and not word.startswith(
            ("-u", "--unset=", "-C", "--chdir=")
        ):
            return None
    assigned = {}
    while words and "=" in words[0] and not words[0].startswith("="):
        name, _, value = words.pop(0).partition("=")
        assigned[name] = value
    return Environment(tuple(words), assigned, is_cleared)
