"""NodeFeatureRule objects of the cluster, as the rules that they hold."""

import asyncio
from collections.abc import Mapping

import msgspec

from nodeworthy.kubernetes.metadata import ObjectMeta
from nodeworthy.kubernetes.reflector import Absent, Change, Gone, Put
from nodeworthy.kubernetes.resources import Resource
from nodeworthy.processes import EventLog
from nodeworthy_labeler.rule_files import LoadedRules, parse_rule_file

_LOG = EventLog("labeler")

RULES = Resource("nfd.k8s-sigs.io", "v1alpha1", "nodefeaturerules", "NodeFeatureRule", is_namespaced=False)


class _RuleObject(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: msgspec.Raw = msgspec.Raw(b"null")
    status: msgspec.Raw = msgspec.Raw(b"null")


class RuleState(msgspec.Struct, frozen=True):
    """One object as it was read."""

    name: str
    uid: str
    generation: int
    """Of its spec: what a status was made of."""
    loaded: LoadedRules
    status: bytes = b"null"
    """As it stands on the object, JSON."""


class RuleObjects:
    """Follows the objects; a ``rule_watch.RuleSource``."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        self.is_complete = False
        """Whether all were read, or there is no such kind of objects."""
        self.version = 0
        """Grows with every change of an object, also of one whose rules stay the same."""
        self._objects: dict[str, RuleState] = {}

    def __len__(self) -> int:
        return len(self._objects)

    @property
    def states(self) -> Mapping[str, RuleState]:
        """All objects by name."""
        return self._objects

    def take(self, change: Change) -> None:
        """Learn from the watch. Without the kind there are no rules; what was there before it went stays in force."""
        self.version += 1
        if isinstance(change, Put):
            self._put(change)
            return
        if isinstance(change, Gone):
            self._objects.pop(change.key, None)
        elif isinstance(change, Absent):
            _LOG.warning("labeler.no_rule_objects", about="rules", todo="install the CRD of NodeFeatureRule")
            self.is_complete = True
        else:
            self.is_complete = True
        self.changed.set()

    def load(self) -> LoadedRules | None:
        """The rules of all objects in the order of their names; ``None``: not all were read yet."""
        if not self.is_complete:
            return None
        loaded = [self._objects[name].loaded for name in sorted(self._objects)]
        return LoadedRules(
            tuple(item for one in loaded for item in one.objects),
            tuple(problem for one in loaded for problem in one.problems),
            tuple(notice for one in loaded for notice in one.notices),
        )

    def _put(self, put: Put) -> None:
        try:
            state = read_rule_object(put.data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            _LOG.warning("labeler.bad_rule_object", about=put.key, object=put.key, error=str(error))
            return
        before = self._objects.get(put.key)
        is_same = before is not None and (before.uid, before.loaded) == (state.uid, state.loaded)
        self._objects[put.key] = state
        if not is_same:
            self.changed.set()


def read_rule_object(data: bytes) -> RuleState:
    """The rules of an object in JSON; those that cannot be read stand in their place.

    Raises:
        msgspec.DecodeError: it is no object.
    """
    found = msgspec.json.decode(data, type=_RuleObject)
    metadata = {"name": found.metadata.name, "annotations": found.metadata.annotations or {}}
    # What the API server adds is no part of what people wrote.
    document = {"apiVersion": RULES.api_version, "kind": RULES.kind, "metadata": metadata, "spec": found.spec}
    loaded = parse_rule_file(msgspec.json.encode(document), f"{RULES.kind} {found.metadata.name}")
    meta = found.metadata
    return RuleState(meta.name, meta.uid, meta.generation, loaded, bytes(found.status))
