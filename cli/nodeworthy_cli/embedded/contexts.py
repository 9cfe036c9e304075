"""How others on this machine find the embedded server: a context file of the stock ``nats`` command in the data folder.

Both read it: ``nats --context FILE`` (also as ``NATS_CONTEXT``) and our own command line where no ``--server`` is given.
"""

from pathlib import Path

import msgspec

from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.errors import UsageError
from nodeworthy_cli.embedded.data_folder import read_private, write_private

FILE = "context.json"
"""The context of whoever uses this machine. The ending matters: ``nats`` takes a name without it for one of its own."""
ADMIN_FILE = "context-admin.json"
"""For a look into the buckets with the stock command; no program of ours reads it."""


class Context(msgspec.Struct, frozen=True):
    """Where a bus is and as whom one speaks there.

    The names are those of the ``nats`` command's context files (github.com/nats-io/jsm.go, natscontext); fields of it that
    are not named here are left alone.
    """

    url: str
    user: str
    password: str
    inbox_prefix: str
    description: str = ""

    def settings(self, name: str) -> ConnectionSettings:
        """How a program of this name connects as this user."""
        return ConnectionSettings(
            servers=(self.url,), name=name, user=self.user, password=self.password, inbox_prefix=self.inbox_prefix
        )

    def __repr__(self) -> str:
        """Without the password: representations end in logs and traces."""
        return f"Context({self.url!r}, {self.user!r})"


def write_context(path: Path, context: Context) -> None:
    """Write a context file.

    Raises:
        DataFolderError: it cannot be written.
    """
    write_private(path, msgspec.json.format(msgspec.json.encode(context), indent=2) + b"\n")


def read_context(folder: Path) -> Context | None:
    """The context of a data folder, or ``None`` if no server was ever started there.

    Raises:
        UsageError: the file is not a context, or others may read or change it.
        DataFolderError: it cannot be read.
    """
    path = folder / FILE
    todo = "start nodeworthy up again, which writes it, or name the bus with --server"
    content = read_private(path)
    if content is None:
        if not path.exists():
            return None
        why = "it is not this user's, or others may read it"
        raise UsageError(f"{path} is not used", why=why, todo=todo)
    try:
        return msgspec.json.decode(content, type=Context)
    except msgspec.DecodeError as error:
        raise UsageError(f"{path} is no context of a bus", why=str(error), todo=todo) from error
