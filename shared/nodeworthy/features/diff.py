"""What changed between two contents of a set, or two snapshots of a node."""

from collections import Counter
from collections.abc import Mapping

import msgspec

from nodeworthy.features.model import FeatureSet, Instance
from nodeworthy.features.snapshot import SetStatus, Snapshot


class SetChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """The difference of two contents of one set; empty parts did not change.

    ``attributes_changed`` maps a name to (old, new). Instances have no identity: one whose attribute changed is one removed
    and one added; equal instances are counted. ``instances_reordered`` says that the same instances stand in another order.
    """

    flags_added: tuple[str, ...] = ()
    flags_removed: tuple[str, ...] = ()
    attributes_added: Mapping[str, str] = {}
    attributes_removed: Mapping[str, str] = {}
    attributes_changed: Mapping[str, tuple[str, str]] = {}
    instances_added: tuple[Instance, ...] = ()
    instances_removed: tuple[Instance, ...] = ()
    instances_reordered: bool = False
    kinds_added: tuple[str, ...] = ()
    kinds_removed: tuple[str, ...] = ()
    unobserved_added: tuple[str, ...] = ()
    unobserved_removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self != _NOTHING


_NOTHING = SetChange()
_EMPTY = FeatureSet()
_KINDS = ("flags", "attributes", "instances")


class SnapshotDiff(msgspec.Struct, frozen=True):
    """The difference of two snapshots: sets whose content changed, and sets whose state or reason changed."""

    contents: Mapping[str, SetChange]
    statuses: Mapping[str, tuple[SetStatus, SetStatus]]
    """Name to (old, new), where the state or its reason differ."""

    def __bool__(self) -> bool:
        return bool(self.contents or self.statuses)


def diff_sets(old: FeatureSet | None, new: FeatureSet | None) -> SetChange:
    """What has to be added, removed and changed to make ``new`` out of ``old``; ``None`` is a set that is not there."""
    before, after = old or _EMPTY, new or _EMPTY
    old_flags, new_flags = before.flags or frozenset(), after.flags or frozenset()
    old_attributes, new_attributes = before.attributes or {}, after.attributes or {}
    added, removed = _diff_instances(before.instances or (), after.instances or ())
    return SetChange(
        flags_added=tuple(sorted(new_flags - old_flags)),
        flags_removed=tuple(sorted(old_flags - new_flags)),
        attributes_added={name: new_attributes[name] for name in sorted(new_attributes.keys() - old_attributes.keys())},
        attributes_removed={
            name: old_attributes[name] for name in sorted(old_attributes.keys() - new_attributes.keys())
        },
        attributes_changed={
            name: (old_attributes[name], new_attributes[name])
            for name in sorted(old_attributes.keys() & new_attributes.keys())
            if old_attributes[name] != new_attributes[name]
        },
        instances_added=added,
        instances_removed=removed,
        instances_reordered=not added and not removed and (before.instances or ()) != (after.instances or ()),
        kinds_added=tuple(k for k in _KINDS if getattr(before, k) is None and getattr(after, k) is not None),
        kinds_removed=tuple(k for k in _KINDS if getattr(before, k) is not None and getattr(after, k) is None),
        unobserved_added=tuple(sorted(after.unobserved - before.unobserved)),
        unobserved_removed=tuple(sorted(before.unobserved - after.unobserved)),
    )


def diff_snapshots(old: Snapshot, new: Snapshot) -> SnapshotDiff:
    """The difference of two snapshots of one node."""
    contents = {}
    statuses = {}
    for name in sorted({*old.names(), *new.names()}):
        before, after = old.lookup(name), new.lookup(name)
        if before.content != after.content:
            contents[name] = diff_sets(before.content, after.content)
        if (before.state, before.reason) != (after.state, after.reason):
            statuses[name] = (old.status(name), new.status(name))
    return SnapshotDiff(contents, statuses)


def _diff_instances(
    old: tuple[Instance, ...], new: tuple[Instance, ...]
) -> tuple[tuple[Instance, ...], tuple[Instance, ...]]:
    before = Counter(map(_key, old))
    after = Counter(map(_key, new))
    return tuple(map(dict, (after - before).elements())), tuple(map(dict, (before - after).elements()))


def _key(instance: Instance) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(instance.items()))
