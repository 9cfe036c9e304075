"""NodeFeatureGroup objects: their status lists the nodes that they match, under the names that the Nodes have."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from nodeworthy import rules
from nodeworthy.fleet import Fleet, find_members
from nodeworthy.kubernetes.metadata import ObjectMeta
from nodeworthy.kubernetes.reflector import Change, Gone, Put
from nodeworthy.kubernetes.resources import Resource
from nodeworthy.processes import EventLog
from nodeworthy.rules import Rule, UnreadableDocument, UnreadableRule

_LOG = EventLog("labeler")

GROUPS = Resource("nfd.k8s-sigs.io", "v1alpha1", "nodefeaturegroups", "NodeFeatureGroup", is_namespaced=True)


class _Member(msgspec.Struct, frozen=True):
    name: str = ""


class _Status(msgspec.Struct, frozen=True):
    nodes: tuple[_Member, ...] | None = None


class _Group(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: msgspec.Raw = msgspec.Raw(b"null")
    status: _Status | None = None


class GroupState(msgspec.Struct, frozen=True):
    """One object as it was read."""

    namespace: str
    name: str
    uid: str
    rules: tuple[Rule | UnreadableRule, ...]
    problem: str
    """Why nothing of it could be read; its members stay as they are."""
    members: tuple[str, ...]
    """As its status lists them."""


class Groups:
    """Follows the objects."""

    def __init__(self) -> None:
        self._groups: dict[str, GroupState] = {}
        self.version = 0
        """Grows with every change of an object."""

    def __len__(self) -> int:
        return len(self._groups)

    @property
    def states(self) -> Mapping[str, GroupState]:
        """All objects by ``namespace/name``."""
        return self._groups

    def take(self, change: Change) -> None:
        """Learn from the watch."""
        if isinstance(change, Put):
            try:
                self._groups[change.key] = read_group(change.data)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                _LOG.warning("labeler.bad_group", about=change.key, object=change.key, error=str(error))
                return
        elif isinstance(change, Gone):
            self._groups.pop(change.key, None)
        self.version += 1


def read_group(data: bytes) -> GroupState:
    """The rules of an object in JSON; those that cannot be read stand in their place.

    Raises:
        msgspec.DecodeError: it is no object.
    """
    found = msgspec.json.decode(data, type=_Group)
    meta = found.metadata
    document = {
        "apiVersion": GROUPS.api_version,
        "kind": GROUPS.kind,
        "metadata": {"name": meta.name},
        "spec": found.spec,
    }
    name = f"{GROUPS.kind} {meta.namespace}/{meta.name}"
    read: list[Rule | UnreadableRule] = []
    problem = ""
    for one in rules.read_rule_file(msgspec.json.encode(document), name).documents:
        if isinstance(one, UnreadableDocument):
            problem = one.problems[0].message
        else:
            read += one.rules
    members = (found.status.nodes if found.status is not None else None) or ()
    return GroupState(
        meta.namespace, meta.name, meta.uid, tuple(read), problem, tuple(member.name for member in members)
    )


def choose_members(fleet: Fleet, group: GroupState, nodes: Sequence[str]) -> tuple[str, ...]:
    """The members that the status should list: of those of which it is not known, the ones that it lists.

    Raises:
        UsageError: the rules ask too much of all nodes at once.
    """
    if group.problem:
        return group.members
    return find_members(fleet, group.rules, nodes).keep(group.members)


def make_group_status(members: Sequence[str]) -> dict[str, Any]:
    """The status, as the API takes it."""
    return {"nodes": [{"name": name} for name in members]}
