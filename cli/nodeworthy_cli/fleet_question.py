"""What can be asked of nodes that the bus knows; light, since every ``check`` loads it."""

from typing import NamedTuple

from nodeworthy import errors, verdicts
from nodeworthy.bus.requests import Inspect, Require, Undeclared
from nodeworthy_cli.facts import THIS
from nodeworthy_cli.specifications import read_valid_spec

ALL = "all"
"""The value of ``--on`` for every node."""

_FILE_ENDINGS = (".json", ".yaml", ".yml")


class FleetQuestion(NamedTuple):
    """What is asked of every image."""

    nodes: tuple[str, ...] = ()
    """None: all."""
    selector: str = ""
    require: Require = Require.ANY
    tags: tuple[str, ...] = ()
    spec: str = ""
    platform: str = ""
    undeclared: Undeclared = Undeclared.UNKNOWN
    inspect: Inspect = Inspect.KNOWN

    @property
    def is_about_one_node(self) -> bool:
        """Whether the answer is one verdict for each image."""
        return len(self.nodes) == 1 and not self.selector


def is_on_bus(on: str) -> bool:
    """Whether ``--on`` names nodes of the bus: it does unless it is this machine, standard input or a file."""
    return on not in {THIS, "-"} and "/" not in on and not on.endswith(_FILE_ENDINGS)


def read_nodes_option(on: str) -> tuple[str, ...]:
    """The nodes of ``--on NODE[,NODE]``; none for ``all``.

    Raises:
        UsageError: a name is empty, or ``all`` stands beside names.
    """
    if on == ALL:
        return ()
    names = tuple(name.strip() for name in on.split(","))
    if not all(names) or ALL in names:
        raise errors.UsageError(f"--on {on!r} names no nodes", why="it is NODE, NODE,NODE or all")
    return tuple(dict.fromkeys(names))


def read_spec_text(spec_file: str | None, tags: tuple[str, ...]) -> str:
    """The text of a specification file, to be sent along; empty without one.

    Raises:
        UsageError: it cannot be read, or no set of it carries one of the tags.
        DocumentError: it is not valid.
    """
    if spec_file is None:
        return ""
    data, spec = read_valid_spec(spec_file, f"mend it, and look with: nodeworthy spec validate {spec_file}")
    verdicts.select_sets(spec, tags)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise errors.UsageError(f"{spec_file} is not sent", why="it is not UTF-8", todo="save it as UTF-8") from error
