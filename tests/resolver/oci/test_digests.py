import hashlib

import pytest

from nodeworthy_resolver.oci.digests import Digest, compute, fallback_tag, is_of, parse_digest

HEX = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sha256",
        "sha256:",
        "sha256:" + HEX[1:],
        "sha256:" + HEX.upper(),
        "sha512:" + HEX,
        "md5:" + HEX,
        f"sha256:{HEX}\n",
    ],
)
def test_only_registered_algorithms_in_lower_case_are_digests(text: str) -> None:
    assert parse_digest(text) is None


def test_both_registered_algorithms_are_computed_and_compared() -> None:
    assert compute(b"") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert is_of(Digest("sha512:" + hashlib.sha512(b"x").hexdigest()), b"x")
    assert not is_of(compute(b"x"), b"y")


def test_the_fallback_tag_is_cut_to_what_a_tag_may_be() -> None:
    assert fallback_tag(Digest("sha256:" + HEX)) == "sha256-" + HEX
    assert fallback_tag(Digest("sha512:" + HEX * 2)) == "sha512-" + HEX
    assert fallback_tag(Digest("a+b" * 20 + ":" + HEX)) == ("a-b" * 20)[:32] + "-" + HEX
