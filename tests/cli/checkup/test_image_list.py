import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import UsageError
from nodeworthy_cli.checkup.image_list import parse_list

names = st.from_regex(r"[a-z][a-z0-9./:@-]{0,20}", fullmatch=True)
comments = st.text(st.characters(exclude_characters="\n\r", exclude_categories=("Zl", "Zp", "Cc", "Cs")), max_size=10)


@given(st.lists(names, min_size=1), st.data())
def test_names_come_back_once_and_in_order_whatever_comments_say(images: list[str], data: st.DataObject) -> None:
    lines = [f"  {image}\t# {data.draw(comments)}" for image in images]

    found = parse_list("\r\n".join(["# head", "", *lines]).encode(), "list")

    assert found == tuple(dict.fromkeys(images))


def test_a_mark_within_a_name_begins_no_comment() -> None:
    assert parse_list(b"docker-archive:a#b.tar\n", "list") == ("docker-archive:a#b.tar",)


def test_a_byte_order_mark_is_no_part_of_a_name() -> None:
    assert parse_list(b"\xef\xbb\xbfnginx\n", "list") == ("nginx",)


@pytest.mark.parametrize("data", [b"", b"# only\n\n", b"\xff\xfe"])
def test_what_names_no_image_is_a_usage_error(data: bytes) -> None:
    with pytest.raises(UsageError, match="image list list"):
        parse_list(data, "list")


@given(st.binary(max_size=200))
def test_whatever_the_bytes_are_there_are_names_or_a_usage_error(data: bytes) -> None:
    with contextlib.suppress(UsageError):
        assert parse_list(data, "list")
