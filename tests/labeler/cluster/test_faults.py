"""The API server away, slow, refusing or forgetting: nothing is lost, and nothing goes that should stay."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import pytest
from tests.kubernetes.api import MERGE, Api, Object
from tests.labeler.cluster.one_target import OneTarget, Want
from tests.labeler.cluster.whole import SECONDS, Whole
from yarl import URL

from nodeworthy.kubernetes.access import Access
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.credentials import FixedCredentials, Shown, bearer
from nodeworthy.kubernetes.requests import RequestLimits
from nodeworthy.labels import LabelState

if TYPE_CHECKING:
    from tests.kubernetes.cluster import Cluster
    from tests.kubernetes.fault_proxy import FaultProxy
    from tests.labeler.conftest import Bus, Eventually, MakeFacts, Start

A, B = "x.org/a", "x.org/b"
PATCH = "/api/v1/nodes/"


@pytest.fixture
def broken(cluster: "Cluster", fault_proxy: "FaultProxy", namespace: str) -> Access:
    """The API server behind the proxy that breaks it."""
    shown = Shown(bearer(cluster.tokens["admin"]))
    return Access(URL(fault_proxy.url), FixedCredentials(shown), namespace=namespace)


@pytest.fixture
async def one(cluster: "Cluster", broken: Access, bus: "Bus", facts: "MakeFacts") -> AsyncIterator[OneTarget]:
    async with Client(broken, RequestLimits(timeout=1.0), user_agent="labeler") as client:
        yield OneTarget(cluster, client, bus, facts)


@pytest.fixture
def whole(cluster: "Cluster", broken: Access, bus: "Bus", start: "Start", eventually: "Eventually") -> Whole:
    return Whole(cluster, broken, bus, start, eventually)


ADMISSION = "/apis/admissionregistration.k8s.io/v1"
MATCH = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["nodes"]}


class Admission:
    """Policies of the cluster that let some labels not through; gone after the test."""

    def __init__(self, admin: Api) -> None:
        self._admin = admin
        self._made: list[str] = []

    async def refuse(self, label: str) -> None:
        """A policy that refuses a label with a 422."""
        rule = {"expression": f"!('{label}' in object.metadata.?labels.orValue({{}}))", "message": "not by policy"}
        constraints = {"resourceRules": [MATCH]}
        spec = {"failurePolicy": "Fail", "matchConstraints": constraints, "validations": [rule]}
        self._create("validatingadmissionpolicies", "no-label", spec)
        binding = {"policyName": "no-label", "validationActions": ["Deny"]}
        self._create("validatingadmissionpolicybindings", "no-label", binding)
        await self._wait(label)

    async def break_on(self, label: str) -> None:
        """A webhook that cannot be reached, asked for Nodes with a label only: a 500."""
        hook = {
            "name": "broken.example.com",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": {"url": "https://127.0.0.1:1/", "caBundle": ""},
            "rules": [MATCH],
            "matchConditions": [{"name": "label", "expression": f"'{label}' in object.metadata.?labels.orValue({{}})"}],
        }
        path = f"{ADMISSION}/validatingwebhookconfigurations"
        self._admin.must("POST", path, {"metadata": {"name": "broken"}, "webhooks": [hook]})
        self._made.append(f"{path}/broken")
        await self._wait(label)

    def clear(self) -> None:
        for path in self._made:
            self._admin.request("DELETE", path)

    def _create(self, plural: str, name: str, spec: Object) -> None:
        self._admin.must("POST", f"{ADMISSION}/{plural}", {"metadata": {"name": name}, "spec": spec})
        self._made.append(f"{ADMISSION}/{plural}/{name}")

    async def _wait(self, label: str) -> None:
        """The API server takes a policy up when it pleases."""
        probe = {"metadata": {"name": "probe", "labels": {label: "1"}}}
        async with asyncio.timeout(SECONDS):
            while self._admin.request("POST", "/api/v1/nodes?dryRun=All", probe).status < 400:  # noqa: ASYNC110 # no event
                await asyncio.sleep(0.05)


@pytest.fixture
def admission(cluster: "Cluster") -> Iterator[Admission]:
    made = Admission(cluster.admin)
    yield made
    made.clear()


async def test_an_unexplained_422_refuses_the_key_that_it_is_about_and_no_other(
    one: OneTarget, admission: Admission, fault_proxy: "FaultProxy"
) -> None:
    one.cluster.create_node("f-invalid")
    await one.see("f-invalid")
    await admission.refuse("x.org/l3")
    labels = {f"x.org/l{number}": "1" for number in range(8)}
    memory = await one.settle("f-invalid", Want(labels))
    refused = {key: entry.reason for key, entry in memory.labels.items() if entry.state is LabelState.REJECTED}
    assert list(refused) == ["x.org/l3"]
    assert "not by policy" in refused["x.org/l3"]
    assert one.labels("f-invalid") == {key: "1" for key in labels if key != "x.org/l3"}
    before = len(fault_proxy.requests)
    await one.settle("f-invalid", Want({**labels, B: "1"}))
    assert [request.method for request in fault_proxy.requests[before:]] == ["PATCH"]


async def test_a_webhook_that_fails_for_one_key_refuses_that_key(one: OneTarget, admission: Admission) -> None:
    one.cluster.create_node("f-webhook")
    await one.see("f-webhook")
    await one.settle("f-webhook", Want({A: "1"}))
    await admission.break_on("x.org/bad")
    memory = await one.settle("f-webhook", Want({A: "2", "x.org/bad": "1"}))
    assert memory.labels["x.org/bad"].state is LabelState.REJECTED
    assert one.labels("f-webhook") == {A: "2"}


async def test_a_server_that_fails_altogether_refuses_no_key(
    whole: Whole, facts: "MakeFacts", fault_proxy: "FaultProxy"
) -> None:
    whole.cluster.create_node("f-500")
    await whole.bus.publish("f-500", facts({A: "1"}))
    fault = fault_proxy.answer("PATCH", PATCH, 500, times=4)
    await whole.start()
    await whole.labels_are("f-500", {A: "1"})
    assert fault.left == 0


@pytest.mark.parametrize("status", [409, 429, 503])
async def test_a_write_that_is_refused_for_now_is_made_again(
    whole: Whole, facts: "MakeFacts", fault_proxy: "FaultProxy", status: int
) -> None:
    whole.cluster.create_node("f-later")
    await whole.bus.publish("f-later", facts({A: "1"}))
    retry_after = 1 if status == 429 else None
    fault = fault_proxy.answer("PATCH", PATCH, status, times=2, retry_after=retry_after)
    await whole.start()
    await whole.labels_are("f-later", {A: "1"})
    assert fault.left == 0


async def test_a_write_whose_answer_is_lost_is_not_made_twice(
    whole: Whole, facts: "MakeFacts", fault_proxy: "FaultProxy"
) -> None:
    whole.cluster.create_node("f-lost")
    await whole.bus.publish("f-lost", facts({A: "1"}))
    fault_proxy.lose_answer("PATCH", PATCH)
    mark = whole.cluster.mark_requests()
    await whole.start()
    await whole.labels_are("f-lost", {A: "1"})
    await whole.bus.record_of("f-lost")
    assert [request.resource for request in whole.writes(mark) if request.name == "f-lost"] == ["nodes"]


async def test_changes_while_the_api_server_is_away_come_when_it_is_back(whole: Whole, facts: "MakeFacts") -> None:
    whole.cluster.create_node("f-away")
    await whole.bus.publish("f-away", facts({A: "1"}))
    await whole.start()
    await whole.labels_are("f-away", {A: "1"})
    whole.cluster.api_server.kill()
    await whole.bus.publish("f-away", facts({A: "2"}))
    whole.cluster.restart_api_server()
    await whole.labels_are("f-away", {A: "2"})


async def test_a_watch_from_a_version_that_is_compacted_away_is_begun_anew(whole: Whole, facts: "MakeFacts") -> None:
    whole.cluster.create_node("f-compact")
    await whole.bus.publish("f-compact", facts({A: "1"}))
    await whole.start()
    await whole.labels_are("f-compact", {A: "1"})
    whole.cluster.api_server.kill()
    whole.cluster.start()
    whole.cluster.compact()
    whole.cluster.restart_api_server()
    path = "/api/v1/nodes/f-compact?fieldManager=kubectl-label"
    change = {"metadata": {"labels": {A: None}}}
    whole.cluster.admin.must("PATCH", path, change, content=MERGE)
    await whole.labels_are("f-compact", {A: "1"})


async def test_nothing_is_written_before_all_nodes_were_read(
    whole: Whole, facts: "MakeFacts", fault_proxy: "FaultProxy"
) -> None:
    whole.cluster.create_node("f-slow")
    await whole.bus.publish("f-slow", facts({A: "1"}))
    held = fault_proxy.hold("GET", "/api/v1/nodes")
    await whole.start(wait=False)
    await held.reached.wait()
    await whole.bus.settled_writes()
    assert whole.labels("f-slow") == {}
    assert held.released is not None
    held.released.set()
    await whole.labels_are("f-slow", {A: "1"})


async def test_a_write_that_was_on_its_way_while_the_node_changed_changes_nothing(
    whole: Whole, facts: "MakeFacts", fault_proxy: "FaultProxy"
) -> None:
    """As of a labeler that is frozen just before its request is sent: the resourceVersion in it is refused with a 409."""
    whole.cluster.create_node("f-frozen")
    await whole.bus.publish("f-frozen", facts({A: "ours", B: "1"}))
    held = fault_proxy.hold("PATCH", PATCH)
    mark = whole.cluster.mark_requests()
    await whole.start()
    await held.reached.wait()
    change = {"metadata": {"labels": {"x.org/c": "theirs"}}}
    whole.cluster.admin.must("PATCH", "/api/v1/nodes/f-frozen?fieldManager=kubectl-label", change, content=MERGE)
    assert held.released is not None
    held.released.set()
    await whole.labels_are("f-frozen", {A: "ours", B: "1", "x.org/c": "theirs"})
    statuses = [request.status for request in whole.writes(mark) if request.name == "f-frozen"]
    assert statuses == [409, 200]
