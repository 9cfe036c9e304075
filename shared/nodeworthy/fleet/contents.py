"""The distinct contents of one set in a fleet, each under a small number.

A content is what a set holds together with its state and reason; equal ones have one number whatever node they are on. A
number is given again when nobody holds it, so that the numbers stay as small as the fleet is varied.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from nodeworthy import features
from nodeworthy.errors import EncodingError
from nodeworthy.features import FeatureSet, Lookup, SetState

NOT_DELIVERED = 0
NOT_REPORTED = 1
NO_CATALOGUE = 2
OVERFULL = 3
UNREADABLE = 4
FULL = 5

DEFAULTS = (
    Lookup(SetState.ABSENT, None, features.NOBODY_REPORTS),
    Lookup(SetState.UNKNOWN, None, "the detector of this node has not reported"),
    Lookup(SetState.UNKNOWN, None, "the facts do not say whether this set was looked for"),
    Lookup(SetState.UNKNOWN, None, "the fleet's table takes no further names of sets"),
    Lookup(SetState.UNKNOWN, None, "what one of the producers of this node says cannot be read"),
    Lookup(SetState.UNKNOWN, None, "the fleet's table is full"),
)
"""Contents under the numbers above, which are the same for every set: the first four are what a set is of which no producer
of a node says anything, the fifth is what every set of a node in doubt is (:meth:`fleet.Fleet.doubt`), the last stands in
for what no longer fits."""

_SHARED = 2
"""From the third node with a content on, the object itself is kept beside its bytes: it is recognised without being encoded,
and asked without being decoded. What is only on one node, or on it twice while it is renewed, stays packed."""

_SMALL = 16
"""Attributes of a set that is recognised by them: comparing so few takes a third of the time of encoding them."""

_Mark: TypeAlias = int | frozenset[tuple[str, str]]
_Key: TypeAlias = bytes | tuple[str, ...] | tuple[bytes, str]


class Space:
    """How many bytes all contents of a fleet may take, and the serial numbers that they get."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self.serials = itertools.count(len(DEFAULTS))
        """Of contents as they come, in whatever set; those of the defaults are their numbers."""

    def take(self, size: int) -> bool:
        """Use so many bytes more; ``False`` where they are not left."""
        if self.used + size > self.limit:
            return False
        self.used += size
        return True


class _Entry:
    __slots__ = ("holders", "kept", "key", "packed", "reason", "recipes", "serial", "state")

    def __init__(self, state: SetState, reason: str, packed: bytes | None, key: _Key, serial: int) -> None:
        self.serial = serial
        self.state = state
        self.reason = reason
        self.packed = packed
        self.key = key
        self.kept: FeatureSet | None = None
        self.holders = 0
        self.recipes: set[tuple[int, ...]] = set()
        """The merges that this content is a part or the result of."""

    @property
    def size(self) -> int:
        """What it counts for in the space of all."""
        return len(self.packed or b"") + len(self.reason)


class Contents:
    """The numbered contents of one set."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._entries: list[_Entry | None] = []
        self._unused: list[int] = []
        self._by_key: dict[_Key, int] = {}
        self._recognised: dict[_Mark, int] = {}
        self._merged: dict[tuple[int, ...], int] = {}
        self.freed: set[int] = set()
        """Numbers whose content is gone since somebody emptied this: what was remembered of them is void."""
        # Not under their keys: a producer that says the same is somebody who speaks, and gets a number of its own.
        self._entries.extend(
            _Entry(found.state, found.reason, None, ("", ""), number) for number, found in enumerate(DEFAULTS)
        )

    def __len__(self) -> int:
        """One more than the largest number that was ever given."""
        return len(self._entries)

    @property
    def alive(self) -> int:
        """How many contents somebody holds, the defaults not counted."""
        return len(self._entries) - len(self._unused) - len(DEFAULTS)

    def intern(self, found: Lookup) -> int:
        """The number of a content; one that is new lives as soon as it is held.

        What is too large for the table is entered as unknown, with the reason; so the state may differ from the one given.
        """
        if found.content is None:
            return self._enter(found.state, found.reason, None, (found.state.value, found.reason))
        number = self._recognise(found.content)
        if number is not None and self._entry(number).reason == found.reason:
            return number
        try:
            packed = features.encode(found.content)
        except EncodingError as error:
            return self.intern(Lookup(SetState.UNKNOWN, None, str(error)))
        number = self._enter(found.state, found.reason, packed, (packed, found.reason) if found.reason else packed)
        entry = self._entry(number)
        if entry.kept is None and entry.holders >= _SHARED:
            entry.kept = found.content
            self._recognised.update(dict.fromkeys(_marks(found.content), number))
        return number

    def _recognise(self, content: FeatureSet) -> int | None:
        """The number of a content that is kept, without encoding this one."""
        number = self._recognised.get(id(content))
        if number is None:
            attributes = _few_attributes(content)
            number = None if attributes is None else self._recognised.get(attributes)
        return number

    def merged(self, parts: tuple[int, ...]) -> int | None:
        """The number of the merge of these contents, if it was remembered and all of it still lives."""
        return self._merged.get(parts)

    def remember_merged(self, parts: tuple[int, ...], result: int) -> None:
        """Keep the result of a merge as long as its parts and itself are held."""
        self._merged[parts] = result
        for number in {*parts, result}:
            self._entry(number).recipes.add(parts)

    def hold(self, number: int) -> None:
        """Count one more place in which the content stands."""
        self._entry(number).holders += 1

    def release(self, number: int) -> None:
        """Count one place less; with the last one the content goes and its number is free."""
        entry = self._entry(number)
        entry.holders -= 1
        if not entry.holders and number > FULL:
            self._remove(number, entry)

    def state(self, number: int) -> SetState:
        """The state of a content."""
        return self._entry(number).state

    def serial(self, number: int) -> int:
        """What names the content for ever: unlike the number no other content of any set gets it later."""
        return self._entry(number).serial

    def lookup(self, number: int) -> Lookup:
        """The content of a number."""
        entry = self._entry(number)
        content = entry.kept
        if content is None and entry.packed is not None:
            content = unpack(entry.packed)
        return Lookup(entry.state, content, entry.reason)

    def _entry(self, number: int) -> _Entry:
        entry = self._entries[number]
        assert entry is not None
        return entry

    def _enter(self, state: SetState, reason: str, packed: bytes | None, key: _Key) -> int:
        number = self._by_key.get(key)
        if number is not None:
            return number
        entry = _Entry(state, reason, packed, key, next(self._space.serials))
        if not self._space.take(entry.size):
            return FULL
        if self._unused:
            number = self._unused.pop()
            self._entries[number] = entry
        else:
            number = len(self._entries)
            self._entries.append(entry)
        self._by_key[key] = number
        return number

    def _remove(self, number: int, entry: _Entry) -> None:
        del self._by_key[entry.key]
        if entry.kept is not None:
            for mark in _marks(entry.kept):
                del self._recognised[mark]
        for parts in tuple(entry.recipes):
            self._forget_merged(parts)
        self._space.used -= entry.size
        self._entries[number] = None
        self._unused.append(number)
        self.freed.add(number)

    def _forget_merged(self, parts: tuple[int, ...]) -> None:
        for number in {*parts, self._merged.pop(parts)}:
            self._entry(number).recipes.discard(parts)


def _marks(content: FeatureSet) -> Iterator[_Mark]:
    """What a content is recognised by: the object itself, and where it has but a few attributes those."""
    yield id(content)
    attributes = _few_attributes(content)
    if attributes is not None:
        yield attributes


def _few_attributes(content: FeatureSet) -> frozenset[tuple[str, str]] | None:
    attributes = content.attributes
    if attributes is None or len(attributes) > _SMALL:
        return None
    if content.flags is not None or content.instances is not None or content.unobserved:
        return None
    return frozenset(attributes.items())


def unpack(data: bytes) -> FeatureSet:
    """The set of canonical bytes (features.encoding) that this process has made itself, so that nothing is checked again."""
    wire: Mapping[str, Any] = msgspec.msgpack.decode(data)
    flags: Sequence[str] | None = wire.get("flags")
    runs: Sequence[tuple[Mapping[str, str], int]] | None = wire.get("instances")
    return FeatureSet(
        flags=None if flags is None else frozenset(flags),
        attributes=wire.get("attributes"),
        instances=None if runs is None else _unfold(runs),
        unobserved=frozenset(wire.get("unobserved", ())),
    )


def _unfold(runs: Sequence[tuple[Mapping[str, str], int]]) -> tuple[Mapping[str, str], ...]:
    devices = [device for device, _ in runs]
    if sum([count for _, count in runs]) == len(runs):
        return tuple(devices)
    return tuple(device for device, count in runs for _ in range(count))
