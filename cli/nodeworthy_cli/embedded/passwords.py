"""The passwords of the embedded server's users: random, made once per data folder.

Who the users are and what each may do comes from the library. The file is its owner's only; a restart of the server locks
nobody out.
"""

import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from nodeworthy.processes import EventLog
from nodeworthy_cli.embedded.data_folder import read_private, write_private

_LOG = EventLog("embedded")
_PASSWORD_BYTES = 24
"""192 random bits: nobody guesses them, so the server may keep them as they are."""
_MIN_PASSWORD_LETTERS = 32
"""What :func:`secrets.token_urlsafe` makes of them; a shorter one in the file is not ours."""


class _PasswordFile(msgspec.Struct, forbid_unknown_fields=True):
    version: int
    passwords: dict[str, str]


def read_passwords(path: Path, users: Iterable[str]) -> Mapping[str, str]:
    """The password of each user: those in the file, new ones for users that it does not have.

    A file that cannot be what we wrote, or that others could have read, is written anew: the server starts with it, and
    whoever uses it reads it when he connects.

    Raises:
        DataFolderError: the file cannot be read or written.
    """
    content = read_private(path)
    known = parse_passwords(content) if content is not None else {}
    if known is None or (content is None and path.exists()):
        _LOG.warning("embedded.passwords_renewed", file=path)
    passwords = {user: (known or {}).get(user) or secrets.token_urlsafe(_PASSWORD_BYTES) for user in users}
    if passwords != known:
        write_private(path, msgspec.json.encode(_PasswordFile(1, passwords)) + b"\n")
    return passwords


def parse_passwords(content: bytes) -> dict[str, str] | None:
    """What the password file holds, ``{"version": 1, "passwords": {"detector": "…"}}``; ``None`` if it is not one."""
    try:
        found = msgspec.json.decode(content, type=_PasswordFile)
    except msgspec.DecodeError:
        return None
    is_ours = all(
        len(password) >= _MIN_PASSWORD_LETTERS and password.isascii() for password in found.passwords.values()
    )
    return found.passwords if found.version == 1 and is_ours else None
