"""All four services on a real bus, each a process, and everything that can come over it or happen to it."""

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.request import Request, urlopen

import pytest

from nodeworthy.bus import permissions
from nodeworthy.bus.accounts import describe_accounts
from nodeworthy.bus.client import Msg
from nodeworthy.bus.connection import Connection, connect
from nodeworthy.bus.connection_settings import ConnectionSettings
from nodeworthy.bus.keys import labels_key
from nodeworthy.bus.labels import read_live_labels
from nodeworthy.bus.names import Bucket, Endpoint, Names, Topic
from nodeworthy.bus.store import Store
from nodeworthy.errors import BusError, PayloadError

if TYPE_CHECKING:
    from tests.cli.conftest import Nodeworthy
    from tests.conftest import NatsServer, Oras, StartNats

PROGRAM = Path(sys.executable).parent / "nodeworthy"
PASSWORD = "correct-horse-battery-staple"
NAMES = Names("local")
NODE = "here"
USERS = (
    permissions.labeler(NAMES),
    permissions.resolver(NAMES),
    permissions.validator(NAMES),
    permissions.detector(NAMES, NODE),
    permissions.author(NAMES),
    permissions.admin(),
)
SERVICES = {"labeler": "labeler", "resolver": "resolver", "validator": "validator", "detector": f"detector-{NODE}"}
"""Each service's user; the labeler first, since it makes the streams."""
SECONDS = 40
"""Until something is given up; the machine may be busy."""

LABEL = "example.com/rack"
RULE = f"""
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata: {{name: rack}}
spec:
  rules:
  - name: rack
    labels: {{"{LABEL}": "@local.feature.rack"}}
    matchFeatures:
    - feature: local.feature
      matchExpressions: {{rack: {{op: Exists}}}}
"""
SPEC = """
version: v1alpha1
compatibilities:
- rules:
  - name: rack
    matchFeatures:
    - feature: local.feature
      matchExpressions: {rack: {op: %s}}
"""


class Rig:
    """The bus, the four services and the folder that the node's administrator writes to."""

    def __init__(self, folder: Path, server: "NatsServer", connection: Connection) -> None:
        self.folder, self.server = folder, server
        self.store = Store(connection, NAMES)
        self.racks: list[str] = []
        """The value of the label as often as it was written."""
        self.written = 0
        """Times that the administrator wrote; the value is this number."""
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, service: str) -> None:
        options = {
            "labeler": ("--rules", str(self.folder / "rules")),
            "detector": ("--features-d", str(self.folder / "features.d")),
        }
        to_bus = ("--server", self.server.url, "--user", SERVICES[service], "--http-port", "0")
        environment = {**os.environ, "HOME": str(self.folder), "NODEWORTHY_PASSWORD": PASSWORD, "NODE_NAME": NODE}
        with (self.folder / f"{service}.log").open("ab") as log:
            command = [PROGRAM, service, *to_bus, *options.get(service, ())]
            self.processes[service] = subprocess.Popen(command, stdout=log, stderr=log, env=environment)

    def log(self, service: str) -> list[dict[str, Any]]:
        lines = (self.folder / f"{service}.log").read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def events(self) -> Counter[tuple[str, str]]:
        """How many lines each service has written of each event."""
        return Counter((service, line["event"]) for service in SERVICES for line in self.log(service))

    def fetch(self, service: str, path: str, body: Mapping[str, str] | None = None) -> bytes:
        (*_, port) = (line["port"] for line in self.log(service) if line["event"].endswith(".http_listening"))
        request = Request(f"http://127.0.0.1:{port}{path}", data=json.dumps(body).encode() if body else None)
        request.add_header("Content-Type", "application/json")
        with urlopen(request, timeout=SECONDS) as answer:
            read: bytes = answer.read()
            return read

    def count(self, service: str, name: str) -> float:
        """What a metric of a service is."""
        lines = self.fetch(service, "/metrics").decode().splitlines()
        return next(float(line.rpartition(" ")[2]) for line in lines if line.rpartition(" ")[0] == name)

    async def until(self, is_so: Callable[[], Any], what: str) -> None:
        """Wait until something is so; what cannot be asked yet is not so yet."""
        try:
            async with asyncio.timeout(SECONDS):
                while True:
                    try:
                        if await asyncio.to_thread(is_so):
                            return
                    except (OSError, ValueError):
                        pass
                    await asyncio.sleep(0.05)
        except TimeoutError:
            pytest.fail(f"it never came true that {what}")

    async def until_ready(self) -> None:
        for service in SERVICES:
            await self.until(lambda name=service: self.fetch(name, "/readyz"), f"{service} is ready")  # type: ignore[misc] # bound now

    def write(self) -> None:
        """As an administrator should: the file appears whole."""
        self.written += 1
        (self.folder / "features.d" / ".rack").write_text(f"rack={self.written}\n")
        (self.folder / "features.d" / ".rack").rename(self.folder / "features.d" / "rack")

    async def write_on(self) -> None:
        while True:
            self.write()
            await asyncio.sleep(1)

    async def note_labels(self, message: Msg) -> None:
        """Every record that was written under the node's key, by the labeler."""
        self.racks.append(read_live_labels(message.data).get(LABEL, "no label"))

    async def labels(self) -> dict[str, str]:
        stored = await self.store.get(Bucket.LABELS, labels_key(NODE))
        return read_live_labels(stored.data) if stored else {}

    async def until_labelled(self) -> None:
        """Wait until the label is what the administrator wrote last."""
        async with asyncio.timeout(SECONDS):
            while (await self.labels()).get(LABEL) != str(self.written):  # noqa: ASYNC110 # another process writes it
                await asyncio.sleep(0.05)

    def all_run(self) -> bool:
        return all(process.poll() is None for process in self.processes.values())


@pytest.fixture
async def rig(tmp_path: Path, nats_server: "StartNats") -> AsyncIterator[Rig]:
    """Everything started and ready; each service must end well."""
    for name in ("rules", "features.d"):
        (tmp_path / name).mkdir()
    (tmp_path / "rules" / "rack.yaml").write_text(RULE)
    for name, operator in (("needs-rack", "Exists"), ("needs-none", "DoesNotExist")):
        (tmp_path / f"{name}.yaml").write_text(SPEC % operator)
    server = nats_server({"accounts": describe_accounts(NAMES, USERS, {user.name: PASSWORD for user in USERS})})
    settings = ConnectionSettings(
        servers=(server.url,),
        user="admin",
        password=PASSWORD,
        inbox_prefix=USERS[-1].inbox_prefix,
        reconnect_seconds=0.05,
        reconnect_most_seconds=0.1,
    )
    async with connect(settings) as connection:
        made = Rig(tmp_path, server, connection)
        for service in SERVICES:
            made.start(service)
        try:
            await made.until_ready()
            made.write()
            await made.until_labelled()
            yield made
        finally:
            for process in made.processes.values():
                process.terminate()
            for process in made.processes.values():
                process.wait(SECONDS)
    assert {service: process.returncode for service, process in made.processes.items()} == dict.fromkeys(SERVICES, 0)


class Target(NamedTuple):
    """Where a message may be sent, and the most bytes that are read there."""

    subject: str
    limit: int
    is_stored: bool = False
    reply: str = ""


MIB = 1024 * 1024
KEYS = (
    (Bucket.NODES, f"{NODE}.detector", 256 * 1024),
    (Bucket.NODES, "other.detector", 256 * 1024),
    (Bucket.NODES, "no=zztoken.what", 256 * 1024),
    (Bucket.SETS, "a" * 64, 512 * 1024),
    (Bucket.SETS, "no-digest", 512 * 1024),
    (Bucket.IMAGES, f"sha256-{'a' * 64}", MIB - 4096),
    (Bucket.LABELS, NODE, 512 * 1024),
    (Bucket.LABELS, "other", 512 * 1024),
    (Bucket.LABELS, "no=zztoken", 512 * 1024),
)
TARGETS = (
    *(Target(NAMES.endpoint(one), MIB) for one in Endpoint),
    *(Target(NAMES.endpoint(one), MIB, reply="nodeworthy.local.nobody") for one in Endpoint),
    *(Target(NAMES.node_subject(topic, NODE), MIB) for topic in Topic if topic is not Topic.EVENTS),
    *(Target(NAMES.node_subject(topic, "other"), MIB) for topic in Topic if topic is not Topic.EVENTS),
    Target(NAMES.labelers, MIB),
    Target(NAMES.stored_subject(Bucket.NODES, f"{NODE}.detector"), MIB),
    Target(NAMES.stored_subject(Bucket.LABELS, NODE), MIB),
    Target(NAMES.node_subject(Topic.EVENTS, NODE, "local.feature"), 256 * 1024, is_stored=True),
    *(Target(NAMES.key_subject(bucket, key), limit, is_stored=True) for bucket, key, limit in KEYS),
)
BODIES: tuple[Callable[[int], bytes], ...] = (
    lambda _: b"",
    lambda _: b"\xc1 no MessagePack",
    lambda _: b'{"no JSON',
    lambda _: b"\x05",
    lambda _: b"[1]",
    lambda _: b"\x81\xa7version\xa1x",
    lambda _: b"\x82\xa7version\x01\xa4node\x05",
    lambda _: b'{"version": 1, "node": 5, "image": 7, "reference": [], "id": {}, "sender": 1}',
    lambda _: b"\x81\xa7version\x63",
    lambda _: b'{"version": 99}',
    lambda _: b"\x91" * 100_000,
    lambda _: b"[" * 100_000,
    lambda limit: b"\xc5" + b"x" * min(limit, MIB - 1),
    lambda limit: b"\xc5" + b"x" * (limit + 8192),
)
"""Nothing, nothing that decodes, other shapes, newer versions, deep nesting, just over our limit, over the server's."""


COUNTED = (
    ("detector", "nodeworthy_detector_bad_requests_total", 2000),
    ("labeler", "nodeworthy_labeler_beats_refused", len(BODIES) - 2),
    ("labeler", "nodeworthy_labeler_records_refused", 3),
    ("labeler", "nodeworthy_labeler_facts_refused", 2),
    ("validator", "nodeworthy_validator_refused_snapshots", 2),
    ("validator", "nodeworthy_validator_refused_labels", 2),
    ("validator", 'nodeworthy_validator_replies_total{outcome="unasked"}', 3 * (len(BODIES) - 1)),
    ("resolver", 'nodeworthy_resolver_replies_total{outcome="unasked"}', 2 * (len(BODIES) - 1)),
)
"""Service, metric, and what it is at least; of what is stored a watch sees the last before each look."""


async def test_no_message_ends_a_service_changes_a_label_or_fills_a_log(rig: Rig) -> None:
    labels, before = await rig.labels(), rig.events()
    too_large = 0
    for target in TARGETS:
        for make in BODIES:
            too_large += await _send(rig, target, make(target.limit))
        await asyncio.sleep(0.05)  # a watch must see some of them, not only the last
    for topic in (Topic.RESYNC, Topic.RESCAN):
        for _ in range(1000):
            await rig.store.connection.publish(NAMES.node_subject(topic, NODE), b"\xc1")
    assert too_large > 0
    assert rig.all_run()

    for endpoint, question, code in (
        (Endpoint.NODES, b"{}", None),
        (Endpoint.VALIDATE, b'{"image": "localhost:1/none:1"}', None),
        (Endpoint.RESOLVE, b'{"reference": "localhost:1/none:1"}', "unavailable"),
        (Endpoint.VALIDATE, b"{", "bad-request"),
    ):
        answer = await rig.store.connection.request(NAMES.endpoint(endpoint), question, seconds=SECONDS)
        assert (answer.headers or {}).get("Nats-Service-Error-Code") == code, answer.data
    # What was written over the record of the labels is put right, but for what a newer labeler seems to have written.
    await rig.store.put(Bucket.LABELS, labels_key(NODE), b"\xc1")
    async with asyncio.timeout(SECONDS):
        while True:
            try:
                if await rig.labels() == labels:
                    break
            except PayloadError:
                await asyncio.sleep(0.05)
    said = rig.events() - before
    assert said["detector", "bus.bad_request"] == 2, "one line for each subject"
    assert said["labeler", "labeler.bad_beat"] == 1
    assert said["validator", "bus.bad_snapshot"] == 2
    assert not {key: count for key, count in said.items() if count > 4}
    for service, name, least in COUNTED:
        assert rig.count(service, name) >= least, name


async def _send(rig: Rig, target: Target, body: bytes) -> bool:
    """Send, in a bucket's case until it is stored; whether the body was larger than what is taken there."""
    try:
        if target.is_stored:
            await rig.store.append(target.subject, body)
        else:
            await rig.store.connection.publish(target.subject, body, reply=target.reply)
    except BusError as error:
        return isinstance(error, PayloadError) and error.too_large
    return False


async def test_through_every_fault_the_last_change_arrives_and_no_label_is_removed_or_swings(
    rig: Rig,
    nodeworthy: "Nodeworthy",
    referrers_registry: str,
    oras: "Oras",
    layout: Callable[..., str],
) -> None:
    layout("app", os.uname().machine)
    images = {
        name: referrers_registry.replace("127.0.0.1", "localhost") + f"/{name}:1"
        for name in ("needs-rack", "needs-none")
    }
    for name in images:
        oras("cp", "--from-oci-layout", "app:latest", "--to-plain-http", f"{referrers_registry}/{name}:1")
        nodeworthy("spec", "attach", f"{referrers_registry}/{name}:1", f"{name}.yaml", "--plain-http", code=0)
    codes: list[int] = []

    async def check(image: str) -> int:
        options = ("--server", rig.server.url, "--user", "author", "--password", PASSWORD)
        done = await asyncio.to_thread(nodeworthy, "check", images[image], "--on", "all", *options)
        codes.append(done.returncode)
        return done.returncode

    async def is_as_before() -> None:
        async with asyncio.timeout(SECONDS):
            while await check("needs-rack") != 0:
                pass
        assert await check("needs-none") == 1

    async with rig.store.connection.subscribed(NAMES.key_subject(Bucket.LABELS, ">"), rig.note_labels):
        writing = asyncio.create_task(rig.write_on(), name="administrator")
        await is_as_before()
        before = rig.events()

        rig.server.kill()
        assert await check("needs-none") == 3
        rig.server.start()
        await is_as_before()

        rig.server.stop()
        rig.server.wipe()
        rig.server.start()
        await is_as_before()

        rig.server.freeze()
        assert await check("needs-none") == 3
        assert await asyncio.to_thread(_answer_by_http, rig, images["needs-none"]) != "compatible"
        await asyncio.sleep(5)  # with what was asked these are ten seconds: two requests time out
        rig.server.thaw()
        await is_as_before()

        rig.processes["detector"].kill()
        rig.processes["detector"].wait(SECONDS)
        rig.start("detector")  # a second run on the same boot
        await rig.until(lambda: rig.fetch("detector", "/readyz"), "the detector is ready")
        await is_as_before()

        writing.cancel()
        await rig.until_labelled()
    assert "no label" not in rig.racks
    values = [int(value) for value in rig.racks]
    assert values == sorted(values), "a label went back to what it was before"
    assert set(codes) == {0, 1, 3}
    assert rig.all_run()
    said = rig.events() - before
    assert not {key: count for key, count in said.items() if count > 3 * 3}, "each fault is said once by each part"


def _answer_by_http(rig: Rig, image: str) -> str:
    total = json.loads(rig.fetch("validator", "/v1/validate", {"image": image}))["totals"][0]
    return str(total["answer"])
