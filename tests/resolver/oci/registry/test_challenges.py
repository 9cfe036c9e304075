import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy_resolver.oci.registry.challenges import Challenge, parse_challenges

SCOPES = "repository:a/b:pull repository:c:pull,push"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], []),
        ([""], []),
        (["Basic"], [("basic", {})]),
        (
            [f'Bearer realm="https://a.example/token?x=1",service="a, b",scope="{SCOPES}"'],
            [("bearer", {"realm": "https://a.example/token?x=1", "service": "a, b", "scope": SCOPES})],
        ),
        (
            ["Bearer realm=https://a.example/token, scope=repository:a/b:pull,push, Basic realm=x"],
            [
                ("bearer", {"realm": "https://a.example/token", "scope": "repository:a/b:pull,push"}),
                ("basic", {"realm": "x"}),
            ],
        ),
        (['BEARER Realm = "r" , Service = s'], [("bearer", {"realm": "r", "service": "s"})]),
        (['Bearer realm="r"', 'Basic realm="x"'], [("bearer", {"realm": "r"}), ("basic", {"realm": "x"})]),
        (['Basic realm="x", Bearer realm="r"'], [("basic", {"realm": "x"}), ("bearer", {"realm": "r"})]),
        ([r'Basic realm="a \"quoted\" \\ word"'], [("basic", {"realm": r'a "quoted" \ word'})]),
        (["Negotiate, Basic realm=x"], [("negotiate", {}), ("basic", {"realm": "x"})]),
        (['Bearer realm="r",service=""'], [("bearer", {"realm": "r", "service": ""})]),
        (['Bearer realm="never ends'], [("bearer", {"realm": ""})]),
    ],
)
def test_every_challenge_of_every_header_is_read(
    headers: list[str], expected: list[tuple[str, dict[str, str]]]
) -> None:
    assert [(one.scheme, dict(one.parameters)) for one in parse_challenges(headers)] == expected


def test_a_missing_parameter_is_empty() -> None:
    assert Challenge("bearer", (("realm", "r"),)).parameter("scope") == ""


@given(st.lists(st.text('Bearer basic="\\,= \t:/a', max_size=60), max_size=3))
def test_any_header_is_read_without_an_error(headers: list[str]) -> None:
    assert all(one.scheme == one.scheme.lower() for one in parse_challenges(headers))
