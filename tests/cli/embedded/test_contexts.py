from pathlib import Path

import pytest

from nodeworthy.errors import UsageError
from nodeworthy_cli.embedded.contexts import FILE, Context, read_context, write_context

CONTEXT = Context("nats://127.0.0.1:4222", "admin", "secret", "_INBOX.admin", "nodeworthy")


def test_a_context_is_found_again(tmp_path: Path) -> None:
    assert read_context(tmp_path) is None
    write_context(tmp_path / FILE, CONTEXT)
    assert read_context(tmp_path) == CONTEXT
    settings = CONTEXT.settings("check")
    assert (settings.servers, settings.user, settings.password) == ((CONTEXT.url,), "admin", "secret")
    assert (settings.name, settings.inbox_prefix) == ("check", "_INBOX.admin")


def test_its_password_is_in_no_representation() -> None:
    assert "secret" not in repr(CONTEXT)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"url": "nats://x"}', b'{"url": 1}', b"\xff"])
def test_a_file_that_is_no_context_is_told(content: bytes, tmp_path: Path) -> None:
    write_context(tmp_path / FILE, CONTEXT)
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(UsageError, match="no context of a bus") as caught:
        read_context(tmp_path)
    assert "--server" in caught.value.todo


def test_a_context_that_others_may_read_is_not_used(tmp_path: Path) -> None:
    write_context(tmp_path / FILE, CONTEXT)
    (tmp_path / FILE).chmod(0o644)
    with pytest.raises(UsageError, match="others may read it"):
        read_context(tmp_path)
