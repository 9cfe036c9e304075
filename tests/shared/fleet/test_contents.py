import pytest

from nodeworthy.features import FeatureSet, Lookup, SetState, encode
from nodeworthy.fleet.contents import DEFAULTS, FULL, Contents, Space, unpack


def there(reason: str = "", **attributes: str) -> Lookup:
    return Lookup(SetState.PRESENT, FeatureSet(attributes=attributes), reason)


@pytest.fixture
def contents() -> Contents:
    return Contents(Space(10_000))


def held(contents: Contents, found: Lookup) -> int:
    number = contents.intern(found)
    contents.hold(number)
    return number


def test_equal_contents_have_one_number_and_others_another(contents: Contents) -> None:
    assert held(contents, there(x="1")) == held(contents, there(x="1"))
    assert held(contents, there(x="1")) != held(contents, there(x="2"))


def test_state_and_reason_belong_to_the_content(contents: Contents) -> None:
    found = [
        there(x="1"),
        there("not all was read", x="1"),
        Lookup(SetState.UNKNOWN, None, "denied"),
        Lookup(SetState.ABSENT, None, "denied"),
        Lookup(SetState.UNKNOWN, None, "other"),
    ]
    numbers = [held(contents, one) for one in found]
    assert len(set(numbers)) == len(found)
    assert [contents.lookup(number) for number in numbers] == found


def test_a_producer_that_says_what_a_default_says_is_no_default(contents: Contents) -> None:
    assert held(contents, DEFAULTS[0]) > FULL


def test_a_number_is_given_again_when_nobody_holds_it_and_said_to_be_void(contents: Contents) -> None:
    number = held(contents, there(x="1"))
    contents.hold(number)
    contents.release(number)
    assert contents.freed == set()
    contents.release(number)
    assert contents.freed == {number}
    assert held(contents, there(x="2")) == number
    assert contents.lookup(number) == there(x="2")


def test_a_content_on_many_nodes_is_recognised_by_its_object_and_kept(contents: Contents) -> None:
    shared = there(x="y" * 100)
    numbers = {held(contents, shared) for _ in range(4)}
    [number] = numbers
    assert contents.lookup(number).content is shared.content


def test_an_object_that_is_recognised_has_its_own_number_for_each_reason(contents: Contents) -> None:
    shared = there(x="1")
    [number] = {held(contents, shared) for _ in range(4)}
    other = held(contents, shared._replace(reason="not all was read"))
    assert other != number
    assert contents.lookup(other).reason == "not all was read"


def test_a_content_on_one_node_stays_packed_however_often_it_is_renewed(contents: Contents) -> None:
    number = held(contents, there(x="1"))
    for _ in range(5):
        assert contents.intern(there(x="1")) == number
    first, second = (contents.lookup(number).content for _ in range(2))
    assert first == second
    assert first is not second


def test_an_object_that_is_gone_is_not_mistaken_for_a_new_one(contents: Contents) -> None:
    for value in "ab":
        one = there(x=value)
        numbers = [held(contents, one) for _ in range(4)]
        for number in numbers:
            contents.release(number)
        assert contents._recognised == {}
        assert contents._by_key == {}


def test_a_merge_is_remembered_while_its_parts_and_result_live(contents: Contents) -> None:
    first, second, result = (held(contents, there(x=value)) for value in "123")
    contents.remember_merged((first, second), result)
    assert contents.merged((first, second)) == result
    contents.release(second)
    assert contents.merged((first, second)) is None
    contents.remember_merged((first,), result)
    contents.release(result)
    assert contents.merged((first,)) is None
    assert contents._entry(first).recipes == set()


def test_space_is_given_back() -> None:
    space = Space(100)
    contents = Contents(space)
    number = held(contents, there(x="1" * 80))
    assert contents.intern(there(x="2" * 80)) == FULL
    contents.release(number)
    assert space.used == 0
    assert contents.intern(there(x="2" * 80)) != FULL


def test_reasons_count_as_space_too() -> None:
    assert Contents(Space(100)).intern(Lookup(SetState.UNKNOWN, None, "because " * 20)) == FULL


@pytest.mark.parametrize(
    "content",
    [
        FeatureSet(),
        FeatureSet(frozenset(), {}, ()),
        FeatureSet(frozenset({"a", "é"}), {"x": "1"}, ({"id": "1"}, {"id": "1"}, {"id": "2"}), frozenset({"y"})),
    ],
    ids=["nothing", "empty kinds", "everything"],
)
def test_packed_contents_come_back_as_they_were(content: FeatureSet) -> None:
    assert unpack(encode(content)) == content


def test_a_number_is_given_again_and_a_serial_number_never_is(contents: Contents) -> None:
    first = held(contents, there(x="1"))
    serial = contents.serial(first)
    assert contents.serial(held(contents, there(x="1"))) == serial
    contents.release(first)
    contents.release(first)
    second = held(contents, there(x="2"))
    assert second == first
    assert contents.serial(second) != serial


def test_devices_are_unpacked_in_their_order_and_as_often_as_they_are_there() -> None:
    devices = ({"a": "1"}, {"a": "2"}, {"a": "2"}, {"a": "1"})
    for instances in ((), devices[:2], devices):
        assert unpack(encode(FeatureSet(instances=instances))).instances == instances
