import pytest

from nodeworthy.bus.keys import set_key
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.sets import SetReader, put_set, verify_set
from nodeworthy.bus.store import Store
from nodeworthy.errors import BusContentError
from nodeworthy.features import FeatureSet, digest, encode

CONTENT = FeatureSet(attributes={"major": "6"})
DATA = encode(CONTENT)
DIGEST = digest(DATA)


async def test_a_set_is_found_under_its_digest(store: Store) -> None:
    assert await put_set(store, DATA) == DIGEST
    assert await SetReader(store).fetch(DIGEST) == CONTENT


async def test_a_set_that_is_there_already_is_no_error(store: Store) -> None:
    await put_set(store, DATA)
    await put_set(store, DATA)
    assert (await store.measure(Bucket.SETS)).count == 1


async def test_a_set_that_is_not_there_is_none(store: Store) -> None:
    assert await SetReader(store).fetch(DIGEST) is None


@pytest.mark.parametrize("bad", [b"evil", encode(FeatureSet(attributes={"major": "7"})), b"", DATA + b"x"])
async def test_bad_content_is_reported_and_never_used(store: Store, bad: bytes) -> None:
    revision = await store.put(Bucket.SETS, set_key(DIGEST), bad)
    reader = SetReader(store)
    with pytest.raises(BusContentError, match="holds something else"):
        await reader.fetch(DIGEST)
    assert reader.bad == {DIGEST: revision}
    assert reader.peek(DIGEST) is None
    await store.purge(Bucket.SETS, set_key(DIGEST), up_to=revision)
    await put_set(store, DATA)
    assert await reader.fetch(DIGEST) == CONTENT
    assert reader.bad == {}


def test_bytes_of_the_right_digest_that_are_no_set_are_bad() -> None:
    data = b"no feature set"
    with pytest.raises(BusContentError, match="is no feature set"):
        verify_set(digest(data), data)


async def test_a_set_is_read_once_as_long_as_it_is_kept(store: Store) -> None:
    reader = SetReader(store)
    await put_set(store, DATA)
    first = await reader.fetch(DIGEST)
    await store.purge(Bucket.SETS, set_key(DIGEST), up_to=1)
    assert await reader.fetch(DIGEST) is first
    reader.forget([DIGEST])
    assert await reader.fetch(DIGEST) is None


async def test_what_is_kept_is_bounded_and_the_least_used_goes(store: Store) -> None:
    encoded = [encode(FeatureSet(attributes={"number": f"{number:06}"})) for number in range(4)]
    names = [digest(data) for data in encoded]
    reader = SetReader(store, cache_bytes=3 * len(encoded[0]))
    for data in encoded:
        await put_set(store, data)
    for name in (*names[:3], names[0], names[3]):
        await reader.fetch(name)
    assert [reader.peek(name) is not None for name in names] == [True, False, True, True]


async def test_inline_contents_are_bounded_too(store: Store) -> None:
    reader = SetReader(store, cache_bytes=100)
    for number in range(1000):
        reader.intern(encode(FeatureSet(attributes={"number": f"{number:06}"})))
    assert reader._bytes <= 100
    assert len(reader._kept) < 10


async def test_equal_inline_contents_are_one_object(store: Store) -> None:
    reader = SetReader(store)
    one, other = reader.intern(DATA), reader.intern(bytes(bytearray(DATA)))
    assert one == (DIGEST, CONTENT)
    assert one[1] is other[1]
    await put_set(store, DATA)
    assert await reader.fetch(DIGEST) == CONTENT
