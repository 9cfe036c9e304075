"""The server's configuration file.

nats-server reads JSON as a form of its own language. All paths are relative to the data folder, in which the server is
started, so that no folder's name has to be quoted.
"""

from collections.abc import Mapping, Sequence

import msgspec

from nodeworthy.bus.accounts import describe_accounts
from nodeworthy.bus.names import Names
from nodeworthy.bus.permissions import User
from nodeworthy_cli.embedded.data_folder import DataFolder
from nodeworthy_cli.embedded.settings import ANY_PORT, HOST, ServerSettings

FILE = "nats-server.json"
ANYONE = "anyone"
"""Who connects without a name: programs on this machine may ask and hear, so that a plain ``nats req`` is answered."""
_FREE_PORT = -1
"""What nats-server calls a port that it shall choose."""


def server_configuration(
    folder: DataFolder, settings: ServerSettings, users: Sequence[User], passwords: Mapping[str, str]
) -> bytes:
    """The configuration of an embedded server: this machine only, no monitoring port, without a password only reading."""
    configuration: dict[str, object] = {
        "host": HOST,
        "port": _FREE_PORT if settings.port == ANY_PORT else settings.port,
        "server_name": f"nodeworthy-{settings.cluster}",
        "max_payload": settings.max_payload_bytes,
        "max_connections": settings.max_connections,
        "log_file": folder.log.name,
        "log_size_limit": settings.log_bytes,
        "logfile_max_num": settings.log_files,
        "logtime_utc": True,
        "ports_file_dir": ".",
        "jetstream": {
            "store_dir": folder.store.name,
            # By default JetStream acknowledges up to two minutes before it syncs, and a power failure loses that.
            "sync_interval": "always",
            "max_memory_store": settings.max_memory_store_bytes,
            "max_file_store": settings.max_store_bytes,
        },
        "accounts": describe_accounts(Names(settings.cluster), users, passwords),
    }
    if any(user.name == ANYONE for user in users):
        configuration["no_auth_user"] = ANYONE
    return msgspec.json.format(msgspec.json.encode(configuration), indent=2) + b"\n"
