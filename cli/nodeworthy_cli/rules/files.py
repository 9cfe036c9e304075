"""Rule files that are named on the command line: files, folders, standard input."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from nodeworthy import rules
from nodeworthy.errors import Problem, UsageError
from nodeworthy.labels import RuleObject
from nodeworthy.rules.explanation import INCIDENT
from nodeworthy_cli.facts import read_file
from nodeworthy_labeler.rule_files import MAX_FILE_BYTES, list_files, parse_rule_file

STDIN = "-"


class RuleText(NamedTuple):
    """One file of rules, not read yet."""

    name: str
    """As it was named."""
    data: bytes

    @property
    def object_name(self) -> str:
        """What orders its rules where a document has no name: the file's name, as in a folder of the labeler."""
        return self.name if self.name == STDIN else Path(self.name).name


class ReadRules(NamedTuple):
    """The rules of several files."""

    objects: tuple[RuleObject, ...]
    groups: tuple[rules.RuleDocument, ...]
    """NodeFeatureGroup objects, which have members and give nothing."""
    incidents: dict[str, str]
    """Object to the incident that it was written for."""
    problems: tuple[Problem, ...]
    """Rules and documents that are left out, and bad values of rules that run."""
    notices: tuple[Problem, ...]


def read_texts(names: Sequence[str]) -> tuple[RuleText, ...]:
    """The files that are named, each once; of a folder those that the labeler would read, in its order.

    Raises:
        UsageError: something cannot be read, a folder holds no rule file, or nothing is named.
    """
    found: dict[str, RuleText] = {}
    for name in names:
        for path in _paths(name):
            if path not in found:
                found[path] = RuleText(path, read_file(path, MAX_FILE_BYTES, "rule file"))
    return tuple(found.values())


def read_rules(texts: Iterable[RuleText]) -> ReadRules:
    """The rules of these files; what cannot be read stands in its place and may give anything."""
    objects: list[RuleObject] = []
    groups: list[rules.RuleDocument] = []
    incidents: dict[str, str] = {}
    problems: list[Problem] = []
    notices: list[Problem] = []
    for text in texts:
        loaded = parse_rule_file(text.data, text.object_name)
        objects += loaded.objects
        problems += loaded.problems
        notices += loaded.notices
        for document in rules.read_rule_file(text.data, text.object_name).documents:
            if isinstance(document, rules.UnreadableDocument):
                continue
            if document.kind == "NodeFeatureGroup":
                groups.append(document)
            if INCIDENT in document.annotations:
                incidents[document.name or text.object_name] = document.annotations[INCIDENT]
    return ReadRules(tuple(objects), tuple(groups), incidents, tuple(problems), tuple(notices))


def _paths(name: str) -> list[str]:
    if name == STDIN or not Path(name).is_dir():
        return [name]
    paths = [str(Path(name) / stamp.name) for stamp in list_files(Path(name))]
    if not paths:
        raise UsageError(f"the folder {name} holds no rules", why="rule files end in .yaml, .yml or .json")
    return paths
