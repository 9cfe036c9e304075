"""What the producers of one node say of one set, put together."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from nodeworthy.features import FeatureSet, Instance, Lookup, SetState

IDENTITIES = {"pci.device": "address"}
"""The attribute that names a device within a node, for the sets that have one: two producers may describe one card."""

_Frozen: TypeAlias = frozenset[tuple[str, str]]


class _Doubts(NamedTuple):
    """Names that some producer did not observe."""

    flags: set[str]
    """May be there as flags."""
    attributes: set[str]
    """May be there with any value."""


def merge(set_name: str, parts: Sequence[Lookup]) -> Lookup:
    """The effective content of a set; of flags and attributes the later part wins, instances are appended.

    A part that is unknown might hold anything, so the whole is unknown whatever the others know. A part that is absent adds
    nothing. This is NFD's merge (nfd-master, getAndMergeNodeFeatures), with states, and with each device once.
    """
    unknown = [part for part in parts if part.state is SetState.UNKNOWN]
    if unknown:
        return Lookup(SetState.UNKNOWN, None, _reasons(unknown))
    contents = [part.content for part in parts if part.content is not None]
    if not contents:
        return Lookup(SetState.ABSENT, None, _reasons(parts))
    return Lookup(SetState.PRESENT, _merge_contents(set_name, contents), _reasons(parts))


def _reasons(parts: Iterable[Lookup]) -> str:
    return "; ".join(dict.fromkeys(part.reason for part in parts if part.reason))


def _merge_contents(set_name: str, contents: Sequence[FeatureSet]) -> FeatureSet:
    flags = _union(contents)
    attributes = _overwrite(contents)
    doubts = _doubts(contents)
    # What is surely a flag may still have a value that nobody knows, and the other way round: then all of it is in doubt.
    unobserved = frozenset((doubts.flags - (flags or frozenset())) | doubts.attributes)
    return FeatureSet(
        flags=None if flags is None else flags - unobserved,
        attributes=None if attributes is None else {n: v for n, v in attributes.items() if n not in unobserved},
        instances=_append(contents, IDENTITIES.get(set_name)),
        unobserved=unobserved,
    )


def _union(contents: Sequence[FeatureSet]) -> frozenset[str] | None:
    given = [content.flags for content in contents if content.flags is not None]
    return frozenset().union(*given) if given else None


def _overwrite(contents: Sequence[FeatureSet]) -> dict[str, str] | None:
    given = [content.attributes for content in contents if content.attributes is not None]
    return {name: value for attributes in given for name, value in attributes.items()} if given else None


def _doubts(contents: Sequence[FeatureSet]) -> _Doubts:
    doubts = _Doubts(set(), set())
    for content in contents:
        nothing = content.flags is None and content.attributes is None
        doubts.attributes.difference_update(content.attributes or ())
        if content.flags is not None or nothing:
            doubts.flags.update(content.unobserved)
        if content.attributes is not None or nothing:
            doubts.attributes.update(content.unobserved)
    return doubts


def _append(contents: Sequence[FeatureSet], identity: str | None) -> tuple[Instance, ...] | None:
    given = [content.instances for content in contents if content.instances is not None]
    if not given:
        return None
    devices = list(given[0])
    for instances in given[1:]:
        _append_new(devices, instances, identity)
    return tuple(devices)


def _append_new(devices: list[Instance], instances: Iterable[Instance], identity: str | None) -> None:
    """Append what is not there yet; of equal instances as many stay as the producer with most of them lists."""
    seen: Counter[_Frozen] = Counter(map(_freeze, devices))
    places = {name: place for place, device in enumerate(devices) if (name := _name(device, identity))}
    for instance in instances:
        place = places.get(_name(instance, identity))
        if place is not None:
            devices[place] = {**devices[place], **instance}
        elif seen[_freeze(instance)] > 0:
            seen[_freeze(instance)] -= 1
        else:
            devices.append(instance)


def _name(instance: Instance, identity: str | None) -> str:
    return instance.get(identity, "") if identity else ""


def _freeze(instance: Instance) -> _Frozen:
    return frozenset(instance.items())
