import pytest

from nodeworthy.errors import DocumentError, UsageError
from nodeworthy.fleet import Declarations
from nodeworthy.images import Artifact

GOOD = b"version: v1alpha1\ncompatibilities:\n- tag: fast\n  rules:\n  - name: r\n"


def artifact(data: bytes = GOOD, digit: str = "a") -> Artifact:
    return Artifact("sha256:" + digit * 64, "sha256:s", "", data)


def test_what_cannot_be_read_is_refused_each_time_with_the_same_error() -> None:
    known = Declarations()
    errors = []
    for _ in range(2):
        with pytest.raises(DocumentError) as caught:
            known.read(artifact(b"{"))
        errors.append(caught.value)
    assert errors[0] is errors[1]


def test_artifacts_with_one_document_and_other_digests_are_told_apart() -> None:
    known = Declarations()
    assert known.read(artifact(digit="a")).artifact != known.read(artifact(digit="b")).artifact


def test_the_longest_unused_is_forgotten() -> None:
    known = Declarations(limit=2)
    first = known.read(artifact(digit="a"))
    known.read(artifact(digit="b"))
    assert known.read(artifact(digit="a")) is first
    known.read(artifact(digit="c"))
    assert known.read(artifact(digit="a")) is first
    compiled = [known.specification(first, tags) for tags in ((), ("fast",))]
    known.specification(known.read(artifact(digit="c")), ())
    assert known.specification(first, ("fast",)) is compiled[1]
    assert known.specification(first, ()) is not compiled[0]


def test_a_tag_that_no_set_carries_is_refused() -> None:
    known = Declarations()
    with pytest.raises(UsageError, match="slow"):
        known.specification(known.read(artifact()), ("slow",))
