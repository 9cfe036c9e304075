"""The accounts of a nats-server, so that no answer leaves the account of who asked.

Two ways around permissions were measured with nats-server 2.15. A consumer delivers to whatever subject its maker names. And
a user that may write one key and read it again by a direct get can name any reply subject: the server then sends the
user's own text there, to another node's key as well as to JetStream's API, which deletes streams without asking who sent
it. Nobody here may make a consumer, and nodes and people stand in accounts of their own, which import exactly what they
need. There a reply subject means something in their account only: no stream, no API and no service of the other one.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nodeworthy.bus import permissions
from nodeworthy.bus.names import Endpoint, Names
from nodeworthy.bus.permissions import Account, User


def describe_accounts(names: Names, users: Sequence[User], passwords: Mapping[str, str]) -> dict[str, Any]:
    """The ``accounts`` of a nats-server's configuration, in its JSON form: users, and what each account may see."""
    named = {account: f"nodeworthy-{names.cluster}-{account}" for account in Account}
    services: dict[str, Any] = {
        "jetstream": "enabled",
        "exports": [*_exports(names, named[Account.NODES], named[Account.PEOPLE])],
    }
    nodes = _imports(named[Account.SERVICES], permissions.node_requests(names), permissions.node_streams(names))
    broadcasts = permissions.node_broadcasts(names)
    people = _imports(named[Account.SERVICES], _people_requests(names), _services_streams(names))
    calls = permissions.operator_calls(names)
    people += _imports(named[Account.NODES], calls, broadcasts)
    exports = [{"stream": subject, "accounts": [named[Account.PEOPLE]]} for subject in broadcasts]
    exports += [{"service": subject, "accounts": [named[Account.PEOPLE]]} for subject in calls]
    described: dict[Account, dict[str, Any]] = {
        Account.SERVICES: services,
        Account.NODES: {"imports": nodes, "exports": exports},
        Account.PEOPLE: {"imports": people},
    }
    return {
        named[account]: description
        | {"users": [_describe(user, passwords[user.name]) for user in users if user.account is account]}
        for account, description in described.items()
    }


def _services_streams(names: Names) -> tuple[str, ...]:
    """What people hear from the services' account."""
    broadcasts = permissions.node_broadcasts(names)
    return tuple(subject for subject in permissions.reader_streams(names) if subject not in broadcasts)


def _people_requests(names: Names) -> tuple[str, ...]:
    return (*permissions.reader_requests(names), names.endpoint(Endpoint.ATTACH))


def _exports(names: Names, nodes: str, people: str) -> Iterable[dict[str, Any]]:
    asked: dict[str, list[str]] = {}
    heard: dict[str, list[str]] = {}
    for account, requests, streams in (
        (nodes, permissions.node_requests(names), permissions.node_streams(names)),
        (people, _people_requests(names), _services_streams(names)),
    ):
        for subject in requests:
            asked.setdefault(subject, []).append(account)
        for subject in streams:
            heard.setdefault(subject, []).append(account)
    for subject, allowed in asked.items():
        # A page, and a question to all services, has many answers.
        yield {"service": subject, "accounts": allowed, "response_type": "stream"}
    for subject, allowed in heard.items():
        yield {"stream": subject, "accounts": allowed}


def _imports(source: str, requests: Iterable[str], streams: Iterable[str]) -> list[dict[str, Any]]:
    return [
        *({"service": {"account": source, "subject": subject}} for subject in requests),
        *({"stream": {"account": source, "subject": subject}} for subject in streams),
    ]


def _describe(user: User, password: str) -> dict[str, Any]:
    allowed = {"publish": _allow(user.publish), "subscribe": _allow(user.subscribe)}
    return {"user": user.name, "password": password, "permissions": allowed}


def _allow(subjects: tuple[str, ...]) -> dict[str, Any]:
    # nats-server 2.15 takes an empty list of what is allowed for no list at all.
    return {"allow": list(subjects)} if subjects else {"deny": [">"]}
