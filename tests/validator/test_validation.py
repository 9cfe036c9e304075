"""Questions about images and nodes, apart from the bus."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from nodeworthy import platforms
from nodeworthy.bus import payloads
from nodeworthy.bus.keys import DETECTOR
from nodeworthy.bus.nodes import PublishedSnapshot
from nodeworthy.bus.records import Session, SnapshotMessage
from nodeworthy.bus.requests import NodesRequest, ResolveReply, ResolveRequest, Undeclared, ValidateRequest
from nodeworthy.errors import BusBusyError, UsageError
from nodeworthy.features import FeatureSet, Snapshot, SourceHealth
from nodeworthy.fleet import Declarations
from nodeworthy.images import Artifact, ArtifactSearch, ImageKnowledge, PlatformImage, SearchState
from nodeworthy.verdicts import Answer
from nodeworthy_validator.image_lookups import ImageLookups
from nodeworthy_validator.inventory import Inventory
from nodeworthy_validator.metrics import Metrics
from nodeworthy_validator.node_labels import NodeLabels
from nodeworthy_validator.node_pages import NodePages
from nodeworthy_validator.settings import Bounds
from nodeworthy_validator.specifications import Specifications
from nodeworthy_validator.validation import LOOKS, Resources, Validation

AskResolver = Callable[[ResolveRequest, float], Coroutine[Any, Any, ResolveReply]]
NONE = ArtifactSearch(SearchState.NONE)


def publish(inventory: Inventory, node: str, architecture: str = "amd64", *, faults: int = 0) -> None:
    contents = {
        "system.architecture": FeatureSet(attributes={"architecture": architecture}),
        "pci.device": FeatureSet(instances=({"vendor": "10de"},)),
    }
    health = {"pci": SourceHealth(faults=("x" * 1000,) * faults)} if faults else {}
    snapshot = Snapshot(contents, {}, frozenset(contents), health)
    message = SnapshotMessage(node=node, producer="detector", session=Session("boot", 1), sequence=1, sets={})
    inventory.take(PublishedSnapshot(node, DETECTOR, 1, time.time(), message, snapshot, {}))


def index(request: ResolveRequest, search: ArtifactSearch = NONE) -> ResolveReply:
    """An index whose children are looked at only where they were asked for, as resolvers do it."""
    images = tuple(
        PlatformImage(
            f"sha256:{name}",
            claimed=platforms.parse(name),
            search=search if not request.platforms or name in request.platforms else None,
        )
        for name in ("linux/amd64", "linux/arm64", "linux/s390x")
    )
    return ResolveReply(knowledge=ImageKnowledge(request.reference, "sha256:i", "index", images))


def make(ask: AskResolver, **bounds: int) -> tuple[Inventory, Validation]:
    inventory, metrics = Inventory(), Metrics()
    chosen = replace(Bounds(), **bounds)
    images = ImageLookups(ask, chosen, metrics, seconds=0, clock=time.monotonic)
    specifications = Specifications(most=4, most_bytes=10_000_000)
    resources = Resources(inventory, NodeLabels(), images, specifications, Declarations(), metrics, chosen)
    return inventory, Validation(resources)


async def test_a_node_that_comes_while_an_image_is_looked_up_is_judged_by_what_its_own_child_declares() -> None:
    attached = Artifact("sha256:a", "sha256:s", "", b"version: v1alpha1\ncompatibilities:\n- rules: []\n")
    asked: list[tuple[str, ...]] = []

    async def ask(request: ResolveRequest, _: float) -> ResolveReply:
        asked.append(request.platforms)
        publish(inventory, "n2", "arm64")
        return index(request, ArtifactSearch(SearchState.FOUND, attached))

    inventory, validation = make(ask)
    publish(inventory, "n1")
    request = ValidateRequest(image="app:1", undeclared=Undeclared.COMPATIBLE)
    reply = await validation.answer(request, 5)
    assert len(asked) == 2
    assert {verdict.node: verdict.verdict for verdict in reply.verdicts} == {
        "n1": Answer.UNKNOWN,  # a set without a rule says nothing
        "n2": Answer.UNKNOWN,
    }


async def test_nodes_that_change_faster_than_images_are_looked_up_are_told() -> None:
    kinds = iter(f"kind{number}" for number in range(100))

    async def ask(request: ResolveRequest, _: float) -> ResolveReply:
        kind = next(kinds)
        publish(inventory, kind, kind)
        return index(request)

    inventory, validation = make(ask)
    publish(inventory, "n1")
    with pytest.raises(BusBusyError, match="change too fast"):
        await validation.answer(ValidateRequest(image="app:1"), 5)
    assert len(inventory) == LOOKS + 1


async def test_an_answer_comes_in_time_though_the_resolver_does_not() -> None:
    async def ask(_request: ResolveRequest, _seconds: float) -> ResolveReply:
        return await asyncio.Event().wait()  # type: ignore[return-value] # it never comes

    inventory, validation = make(ask)
    publish(inventory, "n1")
    async with asyncio.timeout(0.5):
        reply = await validation.answer(ValidateRequest(image="app:1", undeclared=Undeclared.COMPATIBLE), 0.3)
    assert reply.verdicts[0].verdict is Answer.UNKNOWN
    assert "in time" in reply.verdicts[0].reason


async def test_nothing_is_looked_up_for_nodes_of_which_nothing_is_known() -> None:
    async def ask(_request: ResolveRequest, _seconds: float) -> ResolveReply:
        raise AssertionError

    _, validation = make(ask)
    reply = await validation.answer(ValidateRequest(image="app:1", node="n1"), 5)
    assert reply.verdicts[0].findings[0].code == "node-unknown"
    assert (await validation.answer(ValidateRequest(image="app:1"), 5)).totals[0].answer is Answer.UNKNOWN


async def test_a_reply_is_never_larger_than_a_message_and_the_rest_comes_with_the_next_pages() -> None:
    inventory, validation = make(lambda request, _: answer_later(request), reply_bytes=20_000)
    rules = "".join(
        f"  - name: r{number}\n    matchFeatures:\n    - feature: pci.device\n"
        f'      matchExpressions: {{vendor: {{op: In, value: ["{number:04x}"]}}}}\n'
        for number in range(20)
    )
    spec = f"version: v1alpha1\ncompatibilities:\n- description: {'d' * 300}\n  rules:\n{rules}"
    names = [f"n{number:02}" for number in range(30)]
    for name in names:
        publish(inventory, name)
    listed, cursor, pages = [], "", 0
    while pages == 0 or cursor:
        request = ValidateRequest(images=("a:1", "b:1"), spec=spec, limit=1000, cursor=cursor)
        reply = await validation.answer(request, 5)
        assert len(payloads.encode(reply, payloads.Format.JSON)) <= 20_500
        assert all(len(verdict.findings) > 20 for verdict in reply.verdicts)
        listed += [(verdict.image, verdict.node) for verdict in reply.verdicts]
        cursor, pages = reply.cursor, pages + 1
        assert pages < 60
    assert listed == [(image, name) for image in ("a:1", "b:1") for name in names]
    assert pages > 5


async def answer_later(request: ResolveRequest) -> ResolveReply:
    return index(request)


async def test_a_node_with_endless_faults_is_listed_without_them() -> None:
    inventory = Inventory()
    for name in ("n1", "n2", "n3"):
        publish(inventory, name, faults=100 if name == "n2" else 0)
    pages = NodePages(inventory, NodeLabels(), reply_bytes=20_000)
    reply = await pages.answer(NodesRequest(), 5)
    assert [one.node for one in reply.nodes] == ["n1", "n2", "n3"]
    assert "left out" in reply.nodes[1].producers[0].problem
    assert len(msgspec.json.encode(reply)) < 20_500


async def test_a_name_that_nobody_knows_is_not_listed() -> None:
    inventory = Inventory()
    publish(inventory, "n1")
    pages = NodePages(inventory, NodeLabels(), reply_bytes=20_000)
    reply = await pages.answer(NodesRequest(nodes=("n1", "n2")), 5)
    assert ([one.node for one in reply.nodes], reply.total, reply.cursor) == (["n1"], 1, "")
    with pytest.raises(UsageError):
        await pages.answer(NodesRequest(cursor="x"), 5)
