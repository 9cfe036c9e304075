"""The manifests as a user renders them, and a real cluster that took them with strict validation."""

import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import yaml
from tests.conftest import CLIENT_SECONDS
from tests.kubernetes.api import APPLY, Answer, Api, Object
from tests.kubernetes.cluster import Cluster

DEPLOY = Path(__file__).parents[2] / "deploy"
NAMESPACE = "nodeworthy"
STAYS = ("Namespace", "CustomResourceDefinition")
"""A namespace without a controller manager is never gone once it goes, and other tests may use the kinds."""


@pytest.fixture(scope="session")
def overlay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example as somebody copied it, with passwords made."""
    copied = copytree(DEPLOY, tmp_path_factory.mktemp("deploy") / "deploy")
    folder = copied / "kustomize" / "overlays" / "example"
    subprocess.run([folder / "make-passwords.sh"], check=True, capture_output=True, cwd="/")
    return folder


def render(programs: Path, folder: Path) -> list[Object]:
    done = subprocess.run(
        [programs / "kubectl", "kustomize", folder],
        check=False,
        capture_output=True,
        text=True,
        timeout=CLIENT_SECONDS,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return list(yaml.safe_load_all(done.stdout))


@pytest.fixture(scope="session")
def crds(kubernetes_programs: Path) -> list[Object]:
    return render(kubernetes_programs, DEPLOY / "crds")


@pytest.fixture(scope="session")
def manifests(kubernetes_programs: Path, overlay: Path) -> list[Object]:
    return render(kubernetes_programs, overlay)


class Applier:
    """Server-side apply with strict validation, so that a misspelt field is an error and not a warning."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._resources: dict[str, Mapping[str, Any]] = {}

    def path(self, value: Object) -> str:
        version, kind, meta = value["apiVersion"], value["kind"], value["metadata"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if version not in self._resources:
            found = self._api.must("GET", root)["resources"]
            self._resources[version] = {one["kind"]: one for one in found if "/" not in one["name"]}
        resource = self._resources[version][kind]
        assert bool(meta.get("namespace")) == resource["namespaced"], f"{kind} {meta['name']}: namespace"
        place = f"/namespaces/{meta['namespace']}" if resource["namespaced"] else ""
        return f"{root}{place}/{resource['name']}/{meta['name']}"

    def apply(self, value: Object, *, validation: str = "Strict", subresource: str = "") -> Answer:
        path = self.path(value) + (f"/{subresource}" if subresource else "")
        query = f"fieldManager=deploy-tests&fieldValidation={validation}"
        return self._api.request("PATCH", f"{path}?{query}", value, content=APPLY)

    def must(self, value: Object, **how: str) -> Object:
        answer = self.apply(value, **how)
        assert answer.status in {200, 201}, answer.body
        made: Object = answer.body
        return made

    def delete(self, value: Object) -> None:
        self._api.request("DELETE", f"{self.path(value)}?propagationPolicy=Background")


@pytest.fixture(scope="module")
def definitions(shared_cluster: Cluster, crds: list[Object]) -> Applier:
    """The kinds are served."""
    return install_definitions(shared_cluster, crds)


def install_definitions(cluster: Cluster, crds: Sequence[Object]) -> Applier:
    api = cluster.admin
    applier = Applier(api)
    collection = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for crd in crds:
        applier.must(crd)
    for crd in crds:
        api.wait_for(collection, crd["metadata"]["name"], lambda found: condition(found, "Established") == "True")
    # Established is said a moment before the first request is served.
    deadline = time.monotonic() + CLIENT_SECONDS
    while time.monotonic() < deadline:
        statuses = [api.request("GET", f"/apis/nfd.k8s-sigs.io/v1alpha1/{plural(crd)}").status for crd in crds]
        if set(statuses) == {200}:
            return applier
        time.sleep(0.02)
    raise TimeoutError(f"the kinds are not served: {statuses}")


def plural(crd: Object) -> str:
    name: str = crd["spec"]["names"]["plural"]
    return name


def condition(value: Object, kind: str) -> str | None:
    conditions = value.get("status", {}).get("conditions") or []
    return next((one["status"] for one in conditions if one["type"] == kind), None)


@pytest.fixture(scope="module")
def installed(definitions: Applier, manifests: list[Object]) -> Iterator[Applier]:
    """Everything is applied, the kinds first."""
    # kubectl's order: what others need to be there comes first.
    ordered = sorted(manifests, key=lambda value: value["kind"] != "Namespace")
    try:
        for value in ordered:
            definitions.must(value)
        yield definitions
    finally:
        for value in reversed(ordered):
            if value["kind"] not in STAYS:
                definitions.delete(value)


def of_kind(manifests: Sequence[Object], *kinds: str) -> list[Object]:
    return [value for value in manifests if value["kind"] in kinds]


def templates(manifests: Sequence[Object]) -> dict[str, Object]:
    """The pod templates, by the name of the part."""
    workloads = of_kind(manifests, "Deployment", "DaemonSet", "StatefulSet")
    return {value["metadata"]["name"].removeprefix("nodeworthy-"): value["spec"]["template"] for value in workloads}
