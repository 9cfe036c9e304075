"""What NFD says of a Node that it has put there: its tracking annotations.

nfd-master keeps them on each Node, with the names separated by commas and without the default prefix; an instance of it
writes its name before theirs (NFD's documentation, "Feature labels", and nfd-master of commit 76e6cc8)::

    nfd.node.kubernetes.io/feature-labels: cpu-cpuid.AVX2,vendor.com/card
    nfd.node.kubernetes.io/taints: vendor.com/gpu=true:NoSchedule
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nodeworthy.labels import RejectedKind, taint_key

NAMESPACE = "nfd.node.kubernetes.io"
DEFAULT_PREFIX = "feature.node.kubernetes.io/"

_KINDS = {
    "feature-labels": RejectedKind.LABEL,
    "feature-annotations": RejectedKind.ANNOTATION,
    "extended-resources": RejectedKind.EXTENDED_RESOURCE,
}
_TAINTS = "taints"


class Tracked(NamedTuple):
    """What NFD counts as its own."""

    keys: Mapping[RejectedKind, frozenset[str]]
    """Full names of labels, annotations and extended resources; a kind that is missing has none."""
    taints: Mapping[str, str]
    """``key:effect`` to value."""
    annotations: tuple[str, ...]
    """The tracking annotations themselves."""


def read_tracking(annotations: Mapping[str, str]) -> Tracked:
    """What the tracking annotations of a Node say, those of every instance together."""
    keys: dict[RejectedKind, frozenset[str]] = {}
    taints: dict[str, str] = {}
    found = []
    for name in sorted(annotations):
        namespace, _, what = name.rpartition("/")
        if namespace != NAMESPACE and not namespace.endswith(f".{NAMESPACE}"):
            continue
        if what in _KINDS:
            listed = frozenset(_full_name(text) for text in _split(annotations[name]))
            keys[_KINDS[what]] = keys.get(_KINDS[what], frozenset()) | listed
            found.append(name)
        elif what == _TAINTS:
            taints.update(map(_read_taint, _split(annotations[name])))
            found.append(name)
    return Tracked({kind: names for kind, names in keys.items() if names}, taints, tuple(found))


def _split(text: str) -> Iterator[str]:
    return (part.strip() for part in text.split(",") if part.strip())


def _full_name(name: str) -> str:
    return name if "/" in name else DEFAULT_PREFIX + name


def _read_taint(text: str) -> tuple[str, str]:
    """``vendor.com/gpu=true:NoSchedule``; the value and its sign may be missing."""
    body, _, effect = text.rpartition(":")
    key, _, value = body.partition("=")
    return taint_key(key, effect), value
