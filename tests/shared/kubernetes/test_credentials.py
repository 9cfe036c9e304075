import base64
from pathlib import Path

import pytest
from tests.shared.kubernetes.fake_api import remove, write

from nodeworthy.errors import UsageError
from nodeworthy.kubernetes.credentials import (
    MAX_FILE_BYTES,
    READ_AGAIN_SECONDS,
    FileCredentials,
    FixedCredentials,
    Shown,
    basic,
    bearer,
)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text("first\n")
    return path


async def test_what_is_fixed_is_shown_as_it_is() -> None:
    credentials = FixedCredentials(Shown(bearer("t")))
    credentials.forget()
    assert (await credentials.show()).authorization == "Bearer t"


def test_a_name_and_password_become_one_header() -> None:
    assert basic("me", "a:b").removeprefix("Basic ") == base64.b64encode(b"me:a:b").decode()


async def test_a_token_file_is_read_again_after_a_minute(token: Path) -> None:
    clock = Clock()
    credentials = FileCredentials(Shown(), token=token, clock=clock)
    assert (await credentials.show()).authorization == "Bearer first"
    write(token, b"second")
    clock.now = READ_AGAIN_SECONDS - 1
    assert (await credentials.show()).authorization == "Bearer first"
    clock.now = READ_AGAIN_SECONDS
    assert (await credentials.show()).authorization == "Bearer second"


async def test_a_refused_token_is_read_again_at_once(token: Path) -> None:
    credentials = FileCredentials(Shown(), token=token, clock=Clock())
    await credentials.show()
    write(token, b"second")
    credentials.forget()
    assert (await credentials.show()).authorization == "Bearer second"


async def test_a_token_file_that_is_gone_for_a_moment_harms_nobody(token: Path) -> None:
    credentials = FileCredentials(Shown(), token=token, clock=Clock())
    await credentials.show()
    remove(token)
    credentials.forget()
    assert (await credentials.show()).authorization == "Bearer first"


async def test_certificates_rotate_too(tmp_path: Path) -> None:
    certificate, key = tmp_path / "c", tmp_path / "k"
    write(certificate, b"c1")
    write(key, b"k1")
    credentials = FileCredentials(Shown(bearer("t")), certificate=certificate, key=key, clock=Clock())
    assert await credentials.show() == Shown("Bearer t", b"c1", b"k1")


@pytest.mark.parametrize("content", [b"", b"\n", b"a\nb", b"\xff", b"x" * (MAX_FILE_BYTES + 1)])
async def test_a_token_that_cannot_be_one_is_an_error_without_its_text(token: Path, content: bytes) -> None:
    write(token, content)
    with pytest.raises(UsageError, match="the token for the API server"):
        await FileCredentials(Shown(), token=token, clock=Clock()).show()


async def test_a_token_file_that_never_was_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        await FileCredentials(Shown(), token=tmp_path / "none", clock=Clock()).show()


def test_no_secret_is_in_a_repr() -> None:
    assert "secret" not in repr(Shown("secret", b"secret", b"secret"))
