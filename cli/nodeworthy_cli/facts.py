"""Where the facts of a node come from: this machine, or a file that ``features`` wrote elsewhere."""

import os
import platform
import sys
from pathlib import Path

from nodeworthy import features
from nodeworthy.errors import UsageError
from nodeworthy.verdicts import NodeFacts

THIS = "this"
"""The value of ``--on`` for the machine that runs the command."""

_FILE_ENDINGS = (".json", ".yaml", ".yml")


def read_machine(root: Path = Path("/"), only: frozenset[str] | None = None) -> features.Snapshot:
    """What the machine below a root folder offers.

    Raises:
        UsageError: the root is no folder, or ``only`` names a source that does not exist.
    """
    from nodeworthy_detector.discovery import discover
    from nodeworthy_detector.hostfs import open_root
    from nodeworthy_detector.programs.source import ProgramsSource
    from nodeworthy_detector.sources import SOURCES, SystemSource

    host = open_root(root)
    named = SystemSource(node_name=os.environ.get("NODE_NAME", ""))
    sources = tuple(named if isinstance(source, SystemSource) else source for source in SOURCES)
    return discover(host, (*sources, ProgramsSource()), only=only)


def read_node(on: str) -> NodeFacts:
    """The node that ``--on`` names.

    Raises:
        UsageError: the file cannot be read, or a node is named that only a bus knows.
        FeatureDocumentError: the file is no features file.
    """
    if on == THIS:
        return NodeFacts.of(read_machine(), platform.node())
    if on == "-" or "/" in on or on.endswith(_FILE_ENDINGS):
        return NodeFacts.of(_read_file(on), "standard input" if on == "-" else on)
    raise UsageError(
        f"the node {on!r} cannot be asked",
        why="nodes are known on the bus, and this command was given none",
        todo="give a features file (its name has a slash or ends in .json or .yaml), written on the node by:"
        " nodeworthy features -o json",
    )


def read_file(name: str, limit: int, what: str) -> bytes:
    """The bytes of a file that the user named; ``-`` is standard input.

    Raises:
        UsageError: it cannot be read, or has more than ``limit`` bytes.
    """
    try:
        if name == "-":
            data = sys.stdin.buffer.read(limit + 1)
        else:
            with Path(name).open("rb") as stream:
                data = stream.read(limit + 1)
    except OSError as error:
        raise UsageError(f"{what} {name} cannot be read", why=error.strerror or str(error)) from error
    if len(data) > limit:
        raise UsageError(f"{what} {name} is too large", why=f"the limit is {limit:,} bytes")
    return data


def _read_file(name: str) -> features.Snapshot:
    data = read_file(name, features.MAX_DOCUMENT_BYTES, "features file")
    if not name.endswith((".yaml", ".yml")):
        return features.read_document(data, name)
    from nodeworthy_cli.text_yaml import read_text_yaml

    return features.read_document(read_text_yaml(data, name), name)
