"""Image pull secrets of a real API server, with the rights that our manifests and the documented overlay give."""

import base64
import dataclasses
import json
import re
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING, NamedTuple

import pytest
import yaml
from tests.kubernetes.api import POLL_SECONDS
from tests.kubernetes.cluster import START_SECONDS

from nodeworthy.errors import RegistryDeniedError
from nodeworthy_resolver import pull_secrets
from nodeworthy_resolver.settings import PullSecretSettings, read_settings

if TYPE_CHECKING:
    from tests.conftest import Oras, SecuredRegistry
    from tests.kubernetes.api import Api, Object
    from tests.kubernetes.cluster import Cluster
    from tests.kubernetes.fixtures import Kubectl
    from tests.resolver.app.conftest import Person, Start
    from tests.resolver.conftest import Builder

ROOT = Path(__file__).parents[3]
ACCOUNT = "nodeworthy-resolver"


class Namespaces(NamedTuple):
    """New for each test: a namespace that was removed is never gone without a controller manager."""

    named: str
    """The resolver may use its secrets."""
    other: str
    own: str
    """The resolver's."""


@pytest.fixture
def namespaces(cluster: "Cluster") -> Namespaces:
    made = Namespaces(*(f"{part}-{secrets.token_hex(4)}" for part in ("named", "other", "own")))
    for namespace in made:
        cluster.create_namespace(namespace)
    return made


@pytest.fixture
def rendered(kubectl: "Kubectl", namespaces: Namespaces, tmp_path: Path) -> list["Object"]:
    """What an overlay makes that is written as docs/resolver.md says, for our namespaces."""
    copytree(ROOT / "deploy", tmp_path / "deploy")
    folder = tmp_path / "deploy" / "kustomize" / "overlays" / "mine"
    folder.mkdir()
    _, _, section = (ROOT / "docs" / "resolver.md").read_text().partition("**Image pull secrets**")
    kustomization, binding = re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)[:2]
    head = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../../base, binding.yaml]\n"
    (folder / "kustomization.yaml").write_text(head + kustomization.replace("team-a", namespaces.named))
    (folder / "binding.yaml").write_text(binding.replace("team-a", namespaces.named))
    return list(yaml.safe_load_all(kubectl("kustomize", str(folder)).stdout))


@pytest.fixture
def settings(
    cluster: "Cluster", kubectl: "Kubectl", namespaces: Namespaces, rendered: list["Object"]
) -> Iterator[PullSecretSettings]:
    """What the pod's variables make of it, with the token of its account; the rights are those of the manifests."""
    cluster.tokens[ACCOUNT] = cluster.create_service_account(namespaces.own, ACCOUNT)
    rights = [one for one in rendered if one["metadata"]["name"] == "nodeworthy-pull-secrets"]
    assert [one["kind"] for one in rights] == ["ClusterRole", "RoleBinding"]
    applied = yaml.safe_dump_all(rights).replace("namespace: nodeworthy\n", f"namespace: {namespaces.own}\n")
    kubectl("apply", "-f", "-", input=applied)
    read = read_settings(
        variables(rendered) | {"KUBECONFIG": str(cluster.write_kubeconfig(ACCOUNT))}, Path("/nonexistent")
    )
    assert read.pull_secrets is not None
    wait_until_listed(cluster, namespaces.named)
    yield read.pull_secrets
    kubectl("delete", "-f", "-", input=applied)
    del cluster.tokens[ACCOUNT]


def wait_until_listed(cluster: "Cluster", namespace: str) -> None:
    """The authorizer learns of new roles through watches of its own."""
    deadline = time.monotonic() + START_SECONDS
    while cluster.user(ACCOUNT).request("GET", f"/api/v1/namespaces/{namespace}/secrets").status != 200:
        assert time.monotonic() < deadline, "the account has not got its rights"
        time.sleep(POLL_SECONDS)


def variables(rendered: list["Object"]) -> dict[str, str]:
    """What the resolver's Deployment sets of ours."""
    (pod,) = [one["spec"]["template"]["spec"] for one in rendered if one["kind"] == "Deployment" and is_ours(one)]
    assert pod["automountServiceAccountToken"] is True
    return {one["name"]: one["value"] for one in pod["containers"][0]["env"] if "value" in one}


def is_ours(value: "Object") -> bool:
    return bool(value["metadata"]["name"] == ACCOUNT)


@dataclass(frozen=True)
class Team:
    """A cluster with pull secrets, and private registries with images."""

    cluster: "Cluster"
    namespaces: Namespaces
    settings: PullSecretSettings
    oras: "Oras"
    build: "Builder"
    folder: Path

    @property
    def account(self) -> "Api":
        """The API server as the resolver sees it."""
        return self.cluster.user(ACCOUNT)

    def write_secret(self, namespace: str, registry: "SecuredRegistry", password: str = "") -> None:
        """A secret as ``kubectl create secret docker-registry`` makes it, in the place of the one before."""
        path = f"/api/v1/namespaces/{namespace}/secrets"
        self.cluster.admin.request("DELETE", f"{path}/pull")
        content = {"auths": {registry.host: {"username": registry.username, "password": password or registry.password}}}
        data = {".dockerconfigjson": base64.b64encode(json.dumps(content).encode()).decode()}
        secret = {"metadata": {"name": "pull"}, "type": "kubernetes.io/dockerconfigjson", "data": data}
        self.cluster.admin.must("POST", path, secret)

    def push(self, registry: "SecuredRegistry") -> str:
        """An image in a registry that asks for a login; its name."""
        self.build.write_layout(self.folder / "layout", self.build.tagged(self.build.image(), "v1"))
        name = f"{registry.host}/team/app:v1"
        login = ("--to-username", registry.username, "--to-password", registry.password)
        self.oras("cp", "--from-oci-layout", "layout:v1", "--to-plain-http", *login, name)
        return name


@pytest.fixture
def team(  # what the test stands on, named once
    cluster: "Cluster",
    namespaces: Namespaces,
    settings: PullSecretSettings,
    oras: "Oras",
    build: "Builder",
    tmp_path: Path,
) -> Team:
    return Team(cluster, namespaces, settings, oras, build, tmp_path)


async def test_the_secrets_of_the_named_namespace_open_their_registry_and_no_other_is_read(
    team: Team,
    start: "Start",
    reader: "Person",
    distribution_basic_registry: "SecuredRegistry",
    distribution_token_registry: "SecuredRegistry",
    caplog: pytest.LogCaptureFixture,
) -> None:
    named, other = team.push(distribution_basic_registry), team.push(distribution_token_registry)
    team.write_secret(team.namespaces.named, distribution_basic_registry)
    team.write_secret(team.namespaces.other, distribution_token_registry)
    mark = team.cluster.mark_requests()
    await start(pull_secrets=team.settings)
    assert (await reader.look(named)).knowledge.images
    with pytest.raises(RegistryDeniedError) as caught:
        await reader.look(other)
    requests = [one for one in team.cluster.read_requests(mark) if one.user.endswith(f":{ACCOUNT}")]
    assert {(one.verb, one.resource, one.namespace, one.status) for one in requests} == {
        ("list", "secrets", team.namespaces.named, 200)
    }
    said = caplog.text + " ".join(caught.value.diagnostics())
    assert distribution_basic_registry.password not in said
    assert distribution_token_registry.password not in said


def test_the_account_may_list_the_secrets_of_the_named_namespace_and_do_nothing_else(team: Team) -> None:
    named, other, own = (f"/api/v1/namespaces/{namespace}/secrets" for namespace in team.namespaces)
    assert team.account.request("GET", named).status == 200
    for path in (other, own, f"{named}/pull", "/api/v1/secrets", named.replace("secrets", "pods"), f"{named}?watch=1"):
        assert team.account.request("GET", path).status == 403, path


async def test_a_namespace_without_the_right_is_told_and_takes_nothing_from_the_others(
    team: Team,
    start: "Start",
    reader: "Person",
    distribution_basic_registry: "SecuredRegistry",
    caplog: pytest.LogCaptureFixture,
) -> None:
    name, (named, other, _) = team.push(distribution_basic_registry), team.namespaces
    team.write_secret(named, distribution_basic_registry)
    await start(pull_secrets=dataclasses.replace(team.settings, namespaces=(other, named)))
    assert (await reader.look(name)).knowledge.images
    (told,) = [record for record in caplog.records if record.message == "resolver.pull_secrets_failed"]
    assert other in str(told.__dict__)


async def test_a_new_password_is_read_and_an_api_server_that_is_away_takes_nothing(
    team: Team,
    start: "Start",
    reader: "Person",
    distribution_basic_registry: "SecuredRegistry",
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pull_secrets, "LIFETIME", 0.0)
    name = team.push(distribution_basic_registry)
    team.write_secret(team.namespaces.named, distribution_basic_registry, "wrong")
    await start(pull_secrets=team.settings)
    with pytest.raises(RegistryDeniedError, match="denied") as caught:
        await reader.look(name, fresh=True)
    assert "a pull secret of the cluster" in caught.value.why
    team.write_secret(team.namespaces.named, distribution_basic_registry)
    assert (await reader.look(name, fresh=True)).knowledge.images
    team.cluster.api_server.kill()
    try:
        assert (await reader.look(name, fresh=True, seconds=60)).knowledge.images
    finally:
        team.cluster.start()
