import pytest

from nodeworthy.features import FeatureSet, clean_text


@pytest.mark.parametrize("kinds", [{"flags": frozenset({"a"})}, {"attributes": {"a": "1"}}])
def test_a_name_cannot_be_observed_and_unobserved_at_once(kinds: dict[str, frozenset[str]]) -> None:
    with pytest.raises(ValueError, match=r"observed and unobserved at once: \['a'\]"):
        FeatureSet(**kinds, unobserved=frozenset({"a", "b"}))  # type: ignore[arg-type] # either kind, by its name


def test_the_attributes_of_instances_do_not_count_as_names_of_the_set() -> None:
    content = FeatureSet(flags=frozenset({"a"}), instances=({"b": "1"},), unobserved=frozenset({"b"}))
    assert content.names() == {"a"}


def test_text_that_is_unicode_is_left_alone() -> None:
    assert clean_text("caf\u00e9 \U0001f600") == "caf\u00e9 \U0001f600"
