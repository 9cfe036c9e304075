"""Who may do what on the bus: one user for each service, node, program and person.

A permission of NATS says to which subjects a user may publish and from which it may hear. It does not say where answers go:
whoever asks names the reply subject, and the server sends the answer there by itself. What that means, and why users stand
in several accounts, is told in :mod:`nodeworthy.bus.accounts`.

A ``*`` at the end of what a user may hear lets a subscription with ``>`` in its place through, which hears all levels below
(measured with nats-server 2.15). So nothing here ends with ``*`` that has levels below it.

What remains: the labeler, the validator and the resolver share the account that has JetStream; whoever takes one of them
over can read every bucket, and can send what is stored to any subject of that account. A node can put junk under any digest
of bucket ``sets`` before another one puts the content: readers verify, the labeler purges, and the content comes again. A
node can mislabel itself, never another. On a server with one user for all, nothing of this holds.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from nodeworthy.bus.keys import DETECTOR, program, snapshot_key
from nodeworthy.bus.names import RESOLVER_SERVICE, VALIDATOR_SERVICE, Bucket, Endpoint, Names, Topic, encode_token


class Account(StrEnum):
    """The accounts of one cluster."""

    SERVICES = "services"
    """Has JetStream; labeler, validator, resolver, admin."""
    NODES = "nodes"
    """Detectors and the operator's programs."""
    PEOPLE = "people"
    """Command lines, and programs that only ask and read."""


@dataclass(frozen=True, slots=True)
class User:
    """One user of the bus; an empty tuple means nothing, not everything."""

    name: str
    account: Account
    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    inbox_prefix: str


_VALIDATOR_ENDPOINTS = (Endpoint.VALIDATE, Endpoint.EXPLAIN, Endpoint.NODES, Endpoint.AT_RISK)
_RESOLVER_ENDPOINTS = (Endpoint.RESOLVE, Endpoint.ATTACH)

_REPLIES = ("_INBOX.>", "_R_.>")
"""Where askers wait: in this account, and (as the server rewrites it) in another one. Not "any reply subject"
(``allow_responses``): an asker could name a key."""


def detector(names: Names, node: str) -> User:
    """The detector of one node: its own facts, and no look at anybody else's."""
    return _producer(names, f"detector-{encode_token(node)}", node, snapshot_key(node, DETECTOR))


def operator_program(names: Names, node: str, name: str) -> User:
    """A program of the operator that publishes facts of its own about one node."""
    return _producer(
        names, f"program-{encode_token(name)}-{encode_token(node)}", node, snapshot_key(node, program(name))
    )


def _producer(names: Names, user: str, node: str, key: str) -> User:
    inbox = _inbox(user)
    return User(
        user,
        Account.NODES,
        publish=(
            names.key_subject(Bucket.NODES, key),
            names.key_subject(Bucket.SETS, "*"),
            f"{names.node_subject(Topic.EVENTS, node)}.*",
            names.node_subject(Topic.HEARTBEAT, node),
            _direct_get_key(names, Bucket.NODES, key),
        ),
        subscribe=(f"{inbox}.>", names.node_subject(Topic.RESYNC, node), names.node_subject(Topic.RESCAN, node)),
        inbox_prefix=inbox,
    )


def labeler(names: Names) -> User:
    """The labeler: mirrors producers, writes labels, purges, and makes the streams."""
    streams = (*(names.stream(bucket) for bucket in Bucket), names.events_stream)
    return _service(
        "labeler",
        publish=(
            names.key_subject(Bucket.LABELS, ">"),
            names.key_subject(Bucket.SETS, "*"),
            names.key_subject(Bucket.NODES, ">"),
            names.all_nodes(Topic.EVENTS),
            names.all_nodes(Topic.RESYNC),
            names.all_nodes(Topic.RESCAN),
            names.labelers,
            *_reads(names, Bucket.NODES, Bucket.SETS, Bucket.LABELS),
            *(f"$JS.API.STREAM.INFO.{stream}" for stream in streams),
            *(f"$JS.API.STREAM.CREATE.{stream}" for stream in streams),
            *(f"$JS.API.STREAM.PURGE.{names.stream(bucket)}" for bucket in (Bucket.NODES, Bucket.SETS, Bucket.LABELS)),
        ),
        subscribe=(
            names.stored_subject(Bucket.NODES, ">"),
            names.stored_subject(Bucket.LABELS, ">"),
            names.all_nodes(Topic.HEARTBEAT),
            names.all_nodes(Topic.FINDINGS),
            names.labelers,
        ),
    )


def validator(names: Names) -> User:
    """The validator: reads facts and labels, asks the resolver, answers, and says what it finds."""
    return _service(
        "validator",
        publish=(
            *_REPLIES,
            names.endpoint(Endpoint.RESOLVE),
            names.all_nodes(Topic.FINDINGS),
            names.all_nodes(Topic.RESYNC),
            *_reads(names, Bucket.NODES, Bucket.SETS, Bucket.LABELS, Bucket.IMAGES),
            *(f"$JS.API.STREAM.INFO.{names.stream(bucket)}" for bucket in Bucket),
        ),
        subscribe=(
            names.stored_subject(Bucket.NODES, ">"),
            names.stored_subject(Bucket.LABELS, ">"),
            names.all_nodes(Topic.EVENTS),
            names.all_nodes(Topic.HEARTBEAT),
            names.image_changes,
            *(names.endpoint(endpoint) for endpoint in _VALIDATOR_ENDPOINTS),
            *_service_subjects(VALIDATOR_SERVICE),
        ),
    )


def resolver(names: Names) -> User:
    """The resolver: its cache, answers, and what became of tags; nothing of nodes."""
    return _service(
        "resolver",
        publish=(
            *_REPLIES,
            names.image_changes,
            names.key_subject(Bucket.IMAGES, ">"),
            *_reads(names, Bucket.IMAGES),
            f"$JS.API.STREAM.INFO.{names.stream(Bucket.IMAGES)}",
        ),
        subscribe=(
            *(names.endpoint(endpoint) for endpoint in _RESOLVER_ENDPOINTS),
            *_service_subjects(RESOLVER_SERVICE),
        ),
    )


def reader(names: Names, name: str = "reader", *, stock_inbox: bool = False) -> User:
    """A command line: asks services, reads facts and labels, hears what happens, and writes nothing.

    ``stock_inbox`` is for clients that cannot be told their inbox prefix (``nats --inbox-prefix`` can, and so can a
    context): such a user can hear the answers to everybody in this account.
    """
    inbox = "_INBOX" if stock_inbox else _inbox(name)
    return User(
        name,
        Account.PEOPLE,
        publish=reader_requests(names),
        subscribe=(f"{inbox}.>", *reader_streams(names)),
        inbox_prefix=inbox,
    )


def author(names: Names, name: str = "author") -> User:
    """A reader that may also have specifications attached to images, with the resolver's credentials."""
    user = reader(names, name)
    return replace(user, publish=(*user.publish, names.endpoint(Endpoint.ATTACH)))


def operator(names: Names, name: str = "operator", *, may_attach: bool = False) -> User:
    """A reader that may also have nodes look afresh (``nodeworthy labels verify``), and specifications attached if said so.

    A scan costs a node some tenths of a second of one core, which is why not every reader may ask for one; a detector makes
    one at a time and answers what was asked meanwhile with it. Nothing that is stored can be changed by it.
    """
    user = author(names, name) if may_attach else reader(names, name)
    return replace(user, publish=(*user.publish, names.all_nodes(Topic.RESCAN)))


def admin(name: str = "admin") -> User:
    """Whoever sets the bus up: everything in the account that has JetStream."""
    return User(name, Account.SERVICES, publish=(">",), subscribe=(">",), inbox_prefix=_inbox(name))


def node_requests(names: Names) -> tuple[str, ...]:
    """What the producers' account asks of the services'; each of its users may do its own node's part of it."""
    keys = ("*.detector", "*.p.*")
    return (
        *(names.key_subject(Bucket.NODES, key) for key in keys),
        *(_direct_get_key(names, Bucket.NODES, key) for key in keys),
        names.key_subject(Bucket.SETS, "*"),
        f"{names.prefix}.{Topic.EVENTS}.*.*",
        names.all_nodes(Topic.HEARTBEAT),
    )


def node_broadcasts(names: Names) -> tuple[str, ...]:
    """What people hear from the producers' account itself: a server passes on what came by one import by no second one."""
    return (names.all_nodes(Topic.EVENTS), names.all_nodes(Topic.HEARTBEAT))


def node_streams(names: Names) -> tuple[str, ...]:
    """What the producers' account hears."""
    return (names.all_nodes(Topic.RESYNC), names.all_nodes(Topic.RESCAN))


def operator_calls(names: Names) -> tuple[str, ...]:
    """What people send to the producers' account itself, as they hear what :func:`node_broadcasts` lists; nobody answers."""
    return (names.all_nodes(Topic.RESCAN),)


def reader_requests(names: Names) -> tuple[str, ...]:
    """What a reader may ask."""
    return (
        *(names.endpoint(endpoint) for endpoint in (*_VALIDATOR_ENDPOINTS, Endpoint.RESOLVE)),
        "$SRV.>",
        *_reads(names, Bucket.NODES, Bucket.SETS, Bucket.LABELS),
        _direct_get(names.events_stream),
    )


def reader_streams(names: Names) -> tuple[str, ...]:
    """What a reader may hear."""
    return (
        names.stored_subject(Bucket.NODES, ">"),
        names.stored_subject(Bucket.LABELS, ">"),
        names.all_nodes(Topic.FINDINGS),
        names.image_changes,
        *node_broadcasts(names),
    )


def _service(name: str, *, publish: tuple[str, ...], subscribe: tuple[str, ...]) -> User:
    inbox = _inbox(name)
    return User(name, Account.SERVICES, publish, (f"{inbox}.>", *subscribe), inbox)


def _service_subjects(service: str) -> tuple[str, ...]:
    """Where a service is looked for (NATS ADR-32)."""
    verbs = ("PING", "INFO", "STATS")
    return tuple(f"$SRV.{verb}{rest}" for verb in verbs for rest in ("", f".{service}", f".{service}.*"))


def _reads(names: Names, *buckets: Bucket) -> tuple[str, ...]:
    return tuple(
        subject
        for bucket in buckets
        for subject in (_direct_get(names.stream(bucket)), _direct_get_key(names, bucket, ">"))
    )


def _direct_get(stream: str) -> str:
    return f"$JS.API.DIRECT.GET.{stream}"


def _direct_get_key(names: Names, bucket: Bucket, key: str) -> str:
    return f"{_direct_get(names.stream(bucket))}.{names.key_subject(bucket, key)}"


def _inbox(user: str) -> str:
    return f"_INBOX.{user}"
