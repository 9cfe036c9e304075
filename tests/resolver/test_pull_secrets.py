"""Image pull secrets of a cluster: the API server is a small one of this test, the registry's client is real."""

import base64
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from tests.web_serving import serve_web
from yarl import URL

from nodeworthy.kubernetes.access import Access
from nodeworthy.kubernetes.client import Client
from nodeworthy_resolver import pull_secrets
from nodeworthy_resolver.oci.registry.credential import Credential
from nodeworthy_resolver.pull_secrets import LIFETIME, RETRY, PullSecrets

if TYPE_CHECKING:
    from tests.resolver.conftest import Clock


def encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


def auths(**users: str) -> dict[str, Any]:
    return {name: {"auth": encode(f"{user}:secret".encode())} for name, user in users.items()}


@dataclass
class Cluster:
    """An API server with pull secrets, by namespace and type."""

    url: URL = field(default_factory=URL)
    secrets: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    status: int = 200

    def add(self, namespace: str, name: str, content: bytes, *, legacy: bool = False) -> None:
        """Add a secret."""
        kind, key = ("dockercfg", ".dockercfg") if legacy else ("dockerconfigjson", ".dockerconfigjson")
        secret = {"metadata": {"name": name}, "type": f"kubernetes.io/{kind}", "data": {key: encode(content)}}
        self.secrets.setdefault((namespace, f"type=kubernetes.io/{kind}"), []).append(secret)

    def add_auths(self, namespace: str, name: str, **users: str) -> None:
        """Add a secret with logins."""
        self.add(namespace, name, json.dumps({"auths": auths(**users)}).encode())

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """List secrets."""
        self.asked.append(request.path_qs)
        namespace = request.path.split("/")[4]
        items = self.secrets.get((namespace, request.query["fieldSelector"]), [])
        return web.json_response({"metadata": {}, "items": items}, status=self.status)


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    served = Cluster()
    async with serve_web(served.answer, path="/api/v1/namespaces/{namespace}/secrets") as port:
        served.url = URL(f"http://127.0.0.1:{port}")
        yield served


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    async with Client(Access(cluster.url)) as opened:
        yield opened


async def test_the_secrets_of_the_named_namespaces_are_used_and_no_others(
    cluster: Cluster, client: Client, clock: "Clock"
) -> None:
    cluster.add_auths("team", "one", **{"quay.io": "team"})
    cluster.add_auths("other", "two", **{"ghcr.io": "other"})
    secrets = PullSecrets(client, ("team",), clock)
    assert await secrets.find("quay.io", "a/b") == Credential("team", "secret")
    assert await secrets.find("ghcr.io", "a/b") is None
    assert {path.split("/")[4] for path in cluster.asked} == {"team"}


async def test_nothing_is_asked_before_a_registry_wants_a_login_and_then_once(
    cluster: Cluster, client: Client, clock: "Clock"
) -> None:
    secrets = PullSecrets(client, ("team",), clock)
    assert not cluster.asked
    for _ in range(3):
        assert await secrets.find("quay.io", "a/b") is None
    assert len(cluster.asked) == 2, "one request for each type of secret"


async def test_the_older_form_is_read_too_and_the_first_namespace_counts(
    cluster: Cluster, client: Client, clock: "Clock"
) -> None:
    cluster.add("old", "legacy", json.dumps(auths(**{"quay.io": "old"})).encode(), legacy=True)
    cluster.add_auths("new", "one", **{"quay.io": "new", "quay.io/team": "narrow"})
    assert await PullSecrets(client, ("old", "new"), clock).find("quay.io", "a/b") == Credential("old", "secret")
    assert await PullSecrets(client, ("new", "old"), clock).find("quay.io", "team/b") == Credential("narrow", "secret")


async def test_a_secret_that_cannot_be_read_harms_itself_alone_and_is_told_without_its_content(
    cluster: Cluster, client: Client, clock: "Clock", caplog: pytest.LogCaptureFixture
) -> None:
    cluster.add("team", "broken", b'{"auths": "hunter2"}')
    cluster.add("team", "half", json.dumps({"auths": {"quay.io": {"auth": "hunter2!"}}}).encode())
    cluster.add_auths("team", "whole", **{"quay.io": "team"})
    assert await PullSecrets(client, ("team",), clock).find("quay.io", "a/b") == Credential("team", "secret")
    assert [record.message for record in caplog.records] == ["resolver.pull_secret_passed_over"] * 2
    assert "hunter2" not in caplog.text


async def test_what_is_kept_of_a_namespace_is_bounded_and_the_first_secrets_count(
    cluster: Cluster, client: Client, clock: "Clock", caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull_secrets, "MAX_BYTES", 500)
    cluster.add_auths("team", "first", **{"quay.io": "team"})
    cluster.add("team", "large", json.dumps({"auths": auths(**{"ghcr.io": "x" * 1000})}).encode())
    cluster.add_auths("team", "last", **{"docker.example": "team"})
    secrets = PullSecrets(client, ("team",), clock)
    assert await secrets.find("quay.io", "a/b") == Credential("team", "secret")
    assert await secrets.find("ghcr.io", "a/b") is None
    assert await secrets.find("docker.example", "a/b") is None
    assert [record.message for record in caplog.records] == ["resolver.pull_secrets_cut"]


async def test_a_secret_names_no_program_that_is_run(cluster: Cluster, client: Client, clock: "Clock") -> None:
    cluster.add("team", "helper", json.dumps({"credsStore": "any", "credHelpers": {"quay.io": "any"}}).encode())
    assert await PullSecrets(client, ("team",), clock).find("quay.io", "a/b") is None


async def test_secrets_are_read_again_after_a_while_and_kept_while_the_cluster_is_away(
    cluster: Cluster, client: Client, clock: "Clock", caplog: pytest.LogCaptureFixture
) -> None:
    cluster.add_auths("team", "one", **{"quay.io": "before"})
    secrets = PullSecrets(client, ("team",), clock)
    assert await secrets.find("quay.io", "a/b") == Credential("before", "secret")
    cluster.secrets.clear()
    cluster.add_auths("team", "one", **{"quay.io": "after"})
    cluster.status = 403
    clock.now += LIFETIME
    assert await secrets.find("quay.io", "a/b") == Credential("before", "secret")
    assert [record.message for record in caplog.records] == ["resolver.pull_secrets_failed"]
    cluster.status = 200
    clock.now += RETRY
    assert await secrets.find("quay.io", "a/b") == Credential("after", "secret")


async def test_a_credential_does_not_say_from_which_secret_it_is(
    cluster: Cluster, client: Client, clock: "Clock"
) -> None:
    cluster.add_auths("team", "very-private", **{"quay.io": "team"})
    found = await PullSecrets(client, ("team",), clock).find("quay.io", "a/b")
    assert found is not None
    assert found.source == "a pull secret of the cluster"
