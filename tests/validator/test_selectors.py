"""Label selectors: Kubernetes' grammar, over labels that may not be known."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import UsageError
from nodeworthy_validator.selectors import MAX_LETTERS, Selector, parse_selector

LABELS = {"zone": "a", "kubernetes.io/arch": "amd64", "empty": ""}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("zone=a", True),
        ("zone==a", True),
        ("zone = b", False),
        ("zone!=b", True),
        ("other!=b", True),
        ("zone!=a", False),
        ("zone", True),
        ("!zone", False),
        ("! other", True),
        ("empty", True),
        ("empty=", True),
        ("zone in (a, b)", True),
        ("zone in (b)", False),
        ("zone in (a)", True),
        ("other in (a)", False),
        ("zone notin (b,c)", True),
        ("zone notin (a)", False),
        ("other notin (a)", True),
        ("zone=a,kubernetes.io/arch=amd64", True),
        ("zone=a,kubernetes.io/arch in (arm64,s390x)", False),
        ("zone in (a,b),!spot,kubernetes.io/arch", True),
        ("in=a", False),
        ("notin", False),
    ],
)
def test_a_selector_means_what_it_means_to_kubectl(text: str, expected: bool) -> None:
    assert parse_selector(text).selects_labels(LABELS) is expected


@pytest.mark.parametrize(
    "text",
    [
        ",",
        "a,",
        "=a",
        "a b",
        "a=b c",
        "a in b",
        "a in ()x",
        "a in (b",
        "a>1",
        "-a=b",
        "a/b/c=d",
        "a=b=c",
        "!!a",
        "a in (b),c d",
        "ä=b",
        "a" * (MAX_LETTERS + 1),
        ",".join(["a"] * 101),
    ],
)
def test_what_is_no_selector_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no label selector"):
        parse_selector(text)


def test_a_node_whose_labels_are_not_known_is_neither_selected_nor_left_out() -> None:
    for text in ("zone=a", "zone!=a", "!zone"):
        assert parse_selector(text).selects_labels(None) is None


def test_the_name_of_a_node_is_known_without_its_labels() -> None:
    selector = parse_selector("metadata.name in (n1, ip-10-0-1-2.eu.internal)")
    assert selector.selects_labels(None) is True
    assert [name for name in ("n1", "n2", "ip-10-0-1-2.eu.internal") if selector.selects_name(name)] == [
        "n1",
        "ip-10-0-1-2.eu.internal",
    ]
    assert not parse_selector("!metadata.name").selects_name("n1")


@given(st.text(alphabet="ab=!,() \tinot/.", max_size=30), st.dictionaries(st.sampled_from("ab"), st.sampled_from("ab")))
def test_any_text_is_a_selector_or_refused(text: str, labels: Mapping[str, str]) -> None:
    try:
        selector = parse_selector(text)
    except UsageError:
        return
    assert isinstance(selector, Selector)
    assert selector.selects_labels(labels) in (True, False)


def test_a_long_list_is_read_in_no_time() -> None:
    assert not parse_selector("a in (" + "b," * 1900 + "b)").selects_labels({"a": "c"})
