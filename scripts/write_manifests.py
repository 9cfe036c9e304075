#!/usr/bin/env python3
"""Write the manifests that are made from the code: the resource definitions, and the configuration of the bus.

Run it as ``python scripts/write_manifests.py`` after a change of what they are made from; tests/deploy fails until then.
"""

import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import yaml

from nodeworthy.bus import permissions
from nodeworthy.bus.accounts import describe_accounts
from nodeworthy.bus.keys import DETECTOR
from nodeworthy.bus.names import Bucket, Names, Topic
from nodeworthy.bus.permissions import Account, User
from nodeworthy.rules.crds import definitions
from nodeworthy_cli.embedded.settings import ServerSettings

DEPLOY = Path(__file__).resolve().parents[1] / "deploy"
CLUSTER = "local"
"""The cluster's name on the bus, the default of every service."""
STORE = Path("/data")
"""Where the server's volume is mounted."""
HEALTH_PORT = 8222
"""The server's monitoring, which the kubelet asks for its health."""
DETECTORS = "detectors"
_WIDTH = 120
_VARIABLE = re.compile(r'"(\$[A-Z_]+)"')


class _PlainDumper(yaml.SafeDumper):
    """Writes what occurs twice twice: anchors are hard to read, and not every tool takes them."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 # yaml's signature
        return True


def main() -> None:
    """Write every file that differs."""
    for path, content in manifests().items():
        if not path.exists() or path.read_text() != content:
            path.write_text(content)
            sys.stdout.write(f"{path.relative_to(DEPLOY.parent)}\n")


def manifests() -> dict[Path, str]:
    """The files by their places."""
    notice = "# Made by scripts/write_manifests.py; change what it is made from.\n"
    crds = {name.partition(".")[0]: definition for name, definition in definitions().items()}
    made = {DEPLOY / "crds" / f"{name}.yaml": notice + _dump(crds[name]) for name in crds}
    return made | {DEPLOY / "kustomize" / "base" / "nats" / "nats-server.conf": notice + bus_configuration()}


def bus_configuration() -> str:
    """The configuration of a single nats-server in a cluster; passwords are variables of its environment.

    nats-server reads JSON as a form of its own language, in which a word with a dollar that is not quoted is a variable:
    https://docs.nats.io/running-a-nats-service/configuration#variables
    """
    names = Names(CLUSTER)
    users = bus_users(names)
    limits = ServerSettings(STORE)
    configuration: dict[str, Any] = {
        "server_name": f"nodeworthy-{CLUSTER}",
        "http": f"0.0.0.0:{HEALTH_PORT}",
        "max_payload": limits.max_payload_bytes,
        "logtime_utc": True,
        "jetstream": {
            "store_dir": str(STORE),
            # By default JetStream acknowledges up to two minutes before it syncs, and a power failure loses that.
            "sync_interval": "always",
            "max_memory_store": limits.max_memory_store_bytes,
            "max_file_store": limits.max_store_bytes,
        },
        "accounts": describe_accounts(names, users, {user.name: password_variable(user) for user in users}),
    }
    text = msgspec.json.format(msgspec.json.encode(configuration), indent=2).decode() + "\n"
    return _VARIABLE.sub(r"\1", text)


def bus_users(names: Names) -> tuple[User, ...]:
    """Who may connect: a user for each service, one for all detectors, one for people who ask, and one for who runs it."""
    return (
        permissions.labeler(names),
        permissions.validator(names),
        permissions.resolver(names),
        detectors(names),
        permissions.reader(names),
        permissions.operator(names),
    )


def detectors(names: Names) -> User:
    """The one user of all detectors of a DaemonSet, whose pods share what they know.

    So any of them could speak for another node. A user for each node (:func:`nodeworthy.bus.permissions.detector`) needs a
    proof of which node a pod is on, which a password in a Secret is not.
    """
    inbox = f"_INBOX.{DETECTORS}"
    key = names.key_subject(Bucket.NODES, f"*.{DETECTOR}")
    publish = (
        key,
        names.key_subject(Bucket.SETS, "*"),
        names.all_nodes(Topic.EVENTS),
        names.all_nodes(Topic.HEARTBEAT),
        f"$JS.API.DIRECT.GET.{names.stream(Bucket.NODES)}.{key}",
    )
    hear = (f"{inbox}.>", *permissions.node_streams(names))
    return User(DETECTORS, Account.NODES, publish, hear, inbox)


def password_variable(user: User) -> str:
    """The variable of the server's environment that holds a user's password."""
    return f"$PASSWORD_{user.name.upper()}"


def _dump(value: object) -> str:
    text: str = yaml.dump(value, Dumper=_PlainDumper, sort_keys=False, width=_WIDTH)
    return text


if __name__ == "__main__":
    main()
