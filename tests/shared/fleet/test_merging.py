"""What several producers say of one set, put together as NFD does, with states and with each device once."""

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, Lookup, SetState
from nodeworthy.fleet.merging import merge
from nodeworthy.rules import Outcome, compile_term

if TYPE_CHECKING:
    from tests.shared.fleet.conftest import Worlds


def there(reason: str = "", **kinds: Any) -> Lookup:
    return Lookup(SetState.PRESENT, FeatureSet(**kinds), reason)


ABSENT = Lookup(SetState.ABSENT, None, "not there")
DENIED = Lookup(SetState.UNKNOWN, None, "denied")


def merged(*parts: Lookup, name: str = "lab.a") -> FeatureSet:
    content = merge(name, parts).content
    assert content is not None
    return content


def test_flags_are_united_and_of_attributes_the_later_value_wins() -> None:
    first = there(flags=frozenset({"a"}), attributes={"x": "1", "y": "1"})
    second = there(flags=frozenset({"b"}), attributes={"y": "2"})
    assert merged(first, second) == FeatureSet(frozenset({"a", "b"}), {"x": "1", "y": "2"})


def test_a_kind_that_no_producer_has_stays_away_and_an_empty_one_stays_empty() -> None:
    assert merged(there(flags=frozenset()), there(attributes={})) == FeatureSet(frozenset(), {}, None)


def test_instances_are_appended_in_order() -> None:
    assert merged(there(instances=({"id": "1"},)), there(instances=({"id": "2"},))).instances == (
        {"id": "1"},
        {"id": "2"},
    )


def test_the_same_device_is_there_once_however_many_producers_list_it() -> None:
    twice = there(instances=({"id": "vf"}, {"id": "vf"}))
    thrice = there(instances=({"id": "vf"}, {"id": "vf"}, {"id": "vf"}))
    assert merged(twice, twice).instances == ({"id": "vf"},) * 2
    assert merged(twice, thrice).instances == ({"id": "vf"},) * 3


def test_pci_functions_with_one_address_are_one_device() -> None:
    first = there(instances=({"address": "0000:01:00.0", "vendor": "10de", "driver": "none"}, {"vendor": "8086"}))
    second = there(instances=({"address": "0000:01:00.0", "driver": "nvidia"}, {"address": "0000:02:00.0"}))
    card = {"address": "0000:01:00.0", "vendor": "10de", "driver": "nvidia"}
    assert merged(first, second, name="pci.device").instances == (card, {"vendor": "8086"}, {"address": "0000:02:00.0"})
    assert len(merged(first, second, name="lab.device").instances or ()) == 4


def test_one_unknown_part_makes_the_whole_unknown_with_its_reason() -> None:
    assert merge("lab.a", [there(flags=frozenset({"a"})), DENIED, ABSENT]) == DENIED


def test_absent_parts_add_nothing_and_alone_they_are_absent() -> None:
    assert merge("lab.a", [ABSENT, there(attributes={"x": "1"})]).content == FeatureSet(attributes={"x": "1"})
    assert merge("lab.a", [ABSENT, ABSENT]) == ABSENT


def test_what_a_later_producer_observed_is_observed() -> None:
    doubtful = there("not read", attributes={}, unobserved=frozenset({"x", "y"}))
    found = merge("lab.a", [doubtful, there(attributes={"x": "1"})])
    assert found.content == FeatureSet(attributes={"x": "1"}, unobserved=frozenset({"y"}))
    assert found.reason == "not read"


def test_what_a_later_producer_did_not_observe_is_in_doubt_again() -> None:
    doubtful = there(attributes={}, unobserved=frozenset({"x"}))
    assert merged(there(attributes={"x": "1", "y": "1"}), doubtful) == FeatureSet(
        attributes={"y": "1"}, unobserved=frozenset({"x"})
    )


def test_a_sure_flag_is_sure_whatever_others_did_not_observe() -> None:
    doubtful = there(flags=frozenset(), unobserved=frozenset({"x"}))
    assert merged(there(flags=frozenset({"x"})), doubtful) == FeatureSet(frozenset({"x"}))


def test_a_flag_that_one_producer_did_not_observe_stays_in_doubt_beside_others() -> None:
    doubtful = there(flags=frozenset(), unobserved=frozenset({"x"}))
    assert merged(doubtful, there(attributes={"y": "1"})).unobserved == {"x"}
    assert merged(doubtful, there(attributes={"x": "1"})) == FeatureSet(frozenset(), {}, None, frozenset({"x"}))


def test_a_name_of_a_producer_that_has_neither_kind_may_be_of_either() -> None:
    doubtful = there(unobserved=frozenset({"x"}))
    assert merged(doubtful, there(attributes={"x": "1"})) == FeatureSet(None, {}, None, frozenset({"x"}))


@st.composite
def completion(draw: st.DrawFn, content: FeatureSet) -> FeatureSet:
    """One of the things that a set with unobserved names may be."""
    flags, attributes = content.flags, content.attributes
    for name in sorted(content.unobserved):
        if flags is not None and draw(st.booleans()):
            flags |= {name}
        if attributes is not None and draw(st.booleans()):
            attributes = {**attributes, name: draw(st.sampled_from(("1", "word")))}
    return FeatureSet(flags, attributes, content.instances)


@settings(max_examples=60)  # a busy machine is no failure
@given(data=st.data())
def test_an_answer_on_merged_facts_is_the_one_of_every_possibility_or_unknown(
    data: st.DataObject, worlds: "Worlds"
) -> None:
    parts = data.draw(st.lists(worlds.contents, min_size=2, max_size=3))
    possible = [data.draw(completion(part)) for part in parts]
    term = compile_term(data.draw(worlds.terms))
    believed = term.answer(merge(term.set_name, [there_is(part) for part in parts])).outcome
    if believed is not Outcome.UNKNOWN:
        # A false expression decides beside an unknown one, though that might have been an error (rules.outcomes).
        found = term.answer(merge(term.set_name, [there_is(part) for part in possible])).outcome
        assert found in {believed, Outcome.ERROR}


def there_is(content: FeatureSet) -> Lookup:
    return Lookup(SetState.PRESENT, content, "")


@pytest.mark.parametrize("reasons", [("a", "b"), ("a", "a", "b", "")])
def test_reasons_are_told_once_each(reasons: tuple[str, ...]) -> None:
    assert merge("lab.a", [Lookup(SetState.UNKNOWN, None, reason) for reason in reasons]).reason == "a; b"
