"""NodeFeature objects: what NFD's workers and other vendors say of nodes, as producers ``x.<namespace>.<name>``.

An object says of which node it speaks by a label; its ``spec.labels`` are taken as features.d's labels are, as set
``local.label``, so that one rule decides what becomes of labels wherever they come from.
"""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from nodeworthy.bus.keys import node_feature
from nodeworthy.errors import EncodingError, FeatureDocumentError
from nodeworthy.features import FeatureSet, Snapshot, read_document
from nodeworthy.features.node_feature import NODE_NAME_LABEL
from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.metadata import ObjectMeta
from nodeworthy.kubernetes.reflector import Gone, Put
from nodeworthy.kubernetes.refusals import KubernetesNotFoundError
from nodeworthy.kubernetes.resources import Resource
from nodeworthy.processes import EventLog
from nodeworthy_labeler.cluster.mirror import Key, Mirror
from nodeworthy_labeler.cluster.nodes import ClusterNodes

_LOG = EventLog("labeler")

NODE_FEATURES = Resource("nfd.k8s-sigs.io", "v1alpha1", "nodefeatures", "NodeFeature", is_namespaced=True)

_LABELS_SET = "local.label"
_NO_FEATURES = (b"null", b"{}")


class _Spec(msgspec.Struct, frozen=True):
    features: msgspec.Raw = msgspec.Raw(b"null")
    labels: Mapping[str, str] | None = None


class _NodeFeature(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: _Spec = _Spec()


class Rights(NamedTuple):
    """Which objects may say what of nodes."""

    namespaces: frozenset[str] = frozenset()
    """Whose objects are taken; empty: those of all namespaces."""
    labels: bool = True
    """Whether all of them bring labels; if not, only a node's own does, which has the node's name and stands in ``own``."""
    own: str = ""
    """The labeler's namespace."""

    def may_speak(self, namespace: str) -> bool:
        """Whether objects of this namespace are taken."""
        return not self.namespaces or namespace in self.namespaces

    def may_label(self, namespace: str, name: str, node: str) -> bool:
        """Whether the labels of an object are taken."""
        return self.labels or (namespace == self.own and name == node)


EVERYTHING = Rights()


class NodeFeature(NamedTuple):
    """One object, read."""

    node: str
    snapshot: Snapshot


def read_node_feature(data: bytes, rights: Rights = EVERYTHING) -> NodeFeature:
    """What an object says, as far as it may; whether it may say anything is not asked here.

    Raises:
        FeatureDocumentError: it names no node, or has another shape.
    """
    try:
        found = msgspec.json.decode(data, type=_NodeFeature)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FeatureDocumentError("this is no NodeFeature object", why=str(error)) from error
    meta = found.metadata
    name = f"NodeFeature {meta.namespace}/{meta.name}"
    node = (meta.labels or {}).get(NODE_NAME_LABEL, "")
    if not node:
        raise FeatureDocumentError(
            f"{name} is not used",
            why="it does not say of which node it is",
            todo=f"give it the label {NODE_NAME_LABEL}",
        )
    features = bytes(found.spec.features)
    contents = {} if features in _NO_FEATURES else dict(read_document(features, name).contents)
    if found.spec.labels and rights.may_label(meta.namespace, meta.name, node):
        contents[_LABELS_SET] = _with_labels(contents.get(_LABELS_SET), found.spec.labels)
    return NodeFeature(node, Snapshot(contents))


def _with_labels(content: FeatureSet | None, labels: Mapping[str, str]) -> FeatureSet:
    before = (content.attributes or {}) if content is not None else {}
    return FeatureSet(attributes={**before, **labels})


class NodeFeatures:
    """Follows the objects and says which of them the mirror brings to the bus."""

    def __init__(self, mirror: Mirror, nodes: ClusterNodes, rights: Rights) -> None:
        self._mirror = mirror
        self._nodes = nodes
        self._rights = rights
        self._keys: dict[str, Key] = {}
        """By ``namespace/name``."""
        self._problems: dict[str, str] = {}

    @property
    def unused(self) -> int:
        """Objects that are not used, since they cannot be read, may not speak, or speak of no Node that there is."""
        return len(self._problems) + sum(key.node not in self._nodes for key in self._keys.values())

    def take(self, change: Put | Gone) -> Key | None:
        """Learn from the watch; what is from now on to be on the bus, if the object is used."""
        before = self._keys.pop(change.key, None)
        if isinstance(change, Gone):
            self._problems.pop(change.key, None)
            found = None
        else:
            found = self._read(change)
        if before is not None and before != found:
            self._mirror.unwant(before)
        if found is not None:
            self._keys[change.key] = found
        return found

    def look_again(self, node: str) -> None:
        """There is another Node of this name, or none."""
        found = self._nodes.get(node)
        for key in [key for key in self._keys.values() if key.node == node]:
            if found is None:
                self._mirror.unwant(key)
            else:
                self._mirror.want_again(key, found.uid)

    def _read(self, put: Put) -> Key | None:
        namespace, _, name = put.key.partition("/")
        if not self._rights.may_speak(namespace):
            self._note_problem(put.key, f"the namespace {namespace} is not allowed")
            return None
        try:
            found = read_node_feature(put.data, self._rights)
            key = Key(found.node, node_feature(namespace, name))
            node = self._nodes.get(found.node)
            if node is not None:
                self._mirror.want(key, found.snapshot, node.uid)
            else:
                _LOG.warning("labeler.no_such_node", about=put.key, object=put.key, node=found.node)
        except (FeatureDocumentError, EncodingError) as error:
            self._note_problem(put.key, f"{error.what}: {error.why}")
            return None
        self._problems.pop(put.key, None)
        return key

    def _note_problem(self, name: str, problem: str) -> None:
        if self._problems.get(name) != problem:  # said once, not at every change of the object
            _LOG.warning("labeler.node_feature_not_used", about=name, object=name, problem=problem)
        self._problems[name] = problem


async def fetch_node_feature(client: Client, key: Key, rights: Rights) -> Snapshot | None:
    """What an object says now; ``None``: it is gone, or says nothing of this node any more.

    Raises:
        KubernetesError: not known.
    """
    _, name, namespace = key.producer
    try:
        answer = await client.request(requests.read(NODE_FEATURES, name, namespace=namespace))
        found = read_node_feature(answer.body, rights)
    except (KubernetesNotFoundError, FeatureDocumentError):
        return None
    return found.snapshot if found.node == key.node else None
