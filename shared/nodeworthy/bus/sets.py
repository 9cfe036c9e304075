"""Bucket ``sets``: the contents of feature sets under their digests, written once and verified by every reader."""

from collections import OrderedDict
from collections.abc import Collection
from typing import NamedTuple

from nodeworthy.bus.keys import set_key
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.store import Store
from nodeworthy.errors import BusContentError, BusFullError, EncodingError
from nodeworthy.features import FeatureSet, decode, digest
from nodeworthy.processes import EventLog

_LOG = EventLog("bus")

CACHE_BYTES = 64 * 1024 * 1024
"""Encoded bytes whose contents a reader keeps: 60 profiles of 40 sets have 5 MB. In memory they take ten times that."""


async def put_set(store: Store, data: bytes) -> str:
    """Store canonical bytes under their digest, which is given back; that they are there already is no error.

    Whether what is there is good is the readers' to find out: a detector may not read what others wrote.

    Raises:
        BusFullError: the store takes no more.
        BusError: not known whether it was stored.
    """
    name = digest(data)
    try:
        await store.put(Bucket.SETS, set_key(name), data)
    except BusFullError as error:
        if not error.is_key:
            raise
    return name


def verify_set(name: str, data: bytes) -> FeatureSet:
    """The content of bytes that were found under a digest.

    Raises:
        BusContentError: they have another digest, or are no feature set.
    """
    found = digest(data)
    if found != name:
        raise BusContentError(f"set {name} holds something else", why=f"its bytes have the digest {found}")
    try:
        return decode(data)
    except EncodingError as error:
        raise BusContentError(f"set {name} is no feature set", why=str(error)) from error


class _Kept(NamedTuple):
    digest: str
    content: FeatureSet
    size: int


class SetReader:
    """Reads sets by digest, each at most once as long as it is kept."""

    def __init__(self, store: Store, *, cache_bytes: int = CACHE_BYTES) -> None:
        self._store = store
        self._kept: OrderedDict[str | bytes, _Kept] = OrderedDict()
        """By digest and, for contents that come inside snapshots, by their bytes: finding these costs no hash of our own."""
        self._bytes = 0
        self._limit = cache_bytes
        self.bad: dict[str, int] = {}
        """Digest to revision of what is stored and is not what it should be; the labeler purges these."""

    def peek(self, name: str) -> FeatureSet | None:
        """The content if it is kept."""
        found = self._kept.get(name)
        if found is None:
            return None
        self._kept.move_to_end(name)
        return found.content

    async def fetch(self, name: str) -> FeatureSet | None:
        """The content of a digest; ``None``: it is not on the bus now.

        Raises:
            BusContentError: what is there is not what the digest says; it is also noted in :attr:`bad`.
            BusError: not known.
        """
        kept = self.peek(name)
        if kept is not None:
            return kept
        stored = await self._store.get(Bucket.SETS, set_key(name))
        if stored is None or stored.is_removal:
            return None
        try:
            content = verify_set(name, stored.data)
        except BusContentError as error:
            if self.bad.get(name) != stored.revision:
                _LOG.error("bus.bad_set", about=name, digest=name, revision=stored.revision, error=str(error))
            self._note_bad(name, stored.revision)
            raise
        self.bad.pop(name, None)
        self._keep(name, _Kept(name, content, len(stored.data)))
        return content

    def intern(self, data: bytes) -> tuple[str, FeatureSet]:
        """Digest and content of inline bytes; equal bytes give one object, for whoever compares contents.

        Raises:
            BusContentError: the bytes are no feature set.
        """
        kept = self._kept.get(data)
        if kept is None:
            name = digest(data)
            kept = _Kept(name, self.peek(name) or verify_set(name, data), len(data))
            self._keep(data, kept)
        else:
            self._kept.move_to_end(data)
        return kept.digest, kept.content

    def add(self, name: str, data: bytes) -> FeatureSet:
        """The content of bytes that came with their digest; raises what :meth:`intern` raises, and if it is another one."""
        found, content = self.intern(data)
        if found != name:
            raise BusContentError(f"set {name} holds something else", why=f"its bytes have the digest {found}")
        return content

    def forget(self, names: Collection[str]) -> None:
        """Read these again the next time."""
        for name in names:
            self._drop(name)

    def _drop(self, key: str | bytes) -> None:
        kept = self._kept.pop(key, None)
        self._bytes -= kept.size if kept else 0

    def _keep(self, key: str | bytes, kept: _Kept) -> None:
        self._drop(key)  # two that read it at once
        self._kept[key] = kept
        self._bytes += kept.size
        while self._bytes > self._limit:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= dropped.size

    def _note_bad(self, name: str, revision: int) -> None:
        self.bad[name] = revision
        while len(self.bad) > _MAX_BAD:
            del self.bad[next(iter(self.bad))]


_MAX_BAD = 1000
"""Whoever can write sets can write many bad ones; more than that are found when they are read again."""
