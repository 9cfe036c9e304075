from pathlib import Path

import pytest

from nodeworthy.bus.connection_settings import ConnectionSettings, client_options
from nodeworthy.errors import UsageError


def test_a_client_reconnects_for_ever_and_has_its_own_inbox() -> None:
    options = client_options(ConnectionSettings(inbox_prefix="_INBOX.labeler"))
    assert options["max_reconnect_attempts"] == -1
    assert options["inbox_prefix"] == "_INBOX.labeler"
    assert "tls" not in options


def test_a_user_and_a_token_at_once_are_refused() -> None:
    with pytest.raises(UsageError, match="a password and a token"):
        client_options(ConnectionSettings(user="labeler", password="x", token="y"))


@pytest.mark.parametrize("field", ["credentials_file", "nkey_file"])
def test_a_file_of_credentials_that_is_not_there_is_named(field: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nobody\.creds cannot be read: No such file"):
        client_options(ConnectionSettings(**{field: tmp_path / "nobody.creds"}))  # type: ignore[arg-type] # by name


def test_a_file_of_credentials_without_the_library_for_it_says_which(tmp_path: Path) -> None:
    (tmp_path / "nobody.creds").write_text("x")
    with pytest.raises(UsageError, match="the package nkeys is not installed"):
        client_options(ConnectionSettings(credentials_file=tmp_path / "nobody.creds"))


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_an_authority_that_cannot_be_read_is_named(content: str | None, tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UsageError, match=r"cannot be reached with .*ca\.pem"):
        client_options(ConnectionSettings(ca_file=file))


def test_a_tls_address_alone_is_checked_against_the_systems_authorities() -> None:
    assert client_options(ConnectionSettings(servers=("tls://bus:4222",)))["tls"].check_hostname
