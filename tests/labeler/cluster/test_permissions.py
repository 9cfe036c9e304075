"""A labeler with the permissions that our manifests give, and no others."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.labeler.cluster.objects import RULES, Objects
from tests.labeler.cluster.whole import Whole

from nodeworthy.features import FeatureSet
from nodeworthy.kubernetes.access import Access
from nodeworthy.kubernetes.credentials import FixedCredentials, Shown, bearer

if TYPE_CHECKING:
    from tests.kubernetes.cluster import Cluster
    from tests.kubernetes.fixtures import Kubectl
    from tests.labeler.conftest import Bus, Eventually, MakeFacts, Start

RBAC = Path(__file__).parents[3] / "deploy" / "kustomize" / "base" / "labeler" / "rbac.yaml"
NAMESPACE, ACCOUNT = "r-permissions", "nodeworthy-labeler"
"""A namespace of its own: one that was removed is never gone without a controller manager, and could not be made again."""
A = "x.org/a"


@pytest.fixture
def account(cluster: "Cluster", access: Access, kubectl: "Kubectl", tmp_path: Path) -> Iterator[Access]:
    """The API server as our ServiceAccount sees it."""
    cluster.create_namespace(NAMESPACE)
    token = cluster.create_service_account(NAMESPACE, ACCOUNT)
    roles = tmp_path / "rbac.yaml"
    roles.write_text(RBAC.read_text().replace("namespace: nodeworthy", f"namespace: {NAMESPACE}"))
    kubectl("apply", "-f", str(roles))
    yield dataclasses.replace(access, credentials=FixedCredentials(Shown(bearer(token))), namespace=NAMESPACE)
    kubectl("delete", "-f", str(roles))


async def test_all_that_a_labeler_does_is_allowed(
    cluster: "Cluster",
    account: Access,
    bus: "Bus",
    start: "Start",
    eventually: "Eventually",
    facts: "MakeFacts",
    objects: Objects,
) -> None:
    whole = Whole(cluster, account, bus, start, eventually)
    cluster.create_node("r-labelled", {"x.org/theirs": "theirs"})
    cluster.create_node("r-alone")
    contents = {"lab.a": FeatureSet(attributes={"x": "1"})}
    await bus.publish("r-labelled", facts({A: "1", "x.org/theirs": "ours"}, contents))
    objects.rule("r-allowed", {"x.org/r": "1"}, annotations={"x.org/note": "1"}, resources={"x.org/slots": "2"})
    objects.feature("default", "r-feature", "r-labelled", labels={"x.org/f": "1"})
    mark = cluster.mark_requests()
    await whole.start(status_seconds=0.2, info_seconds=3.0)
    await whole.labels_are("r-labelled", {A: "1", "x.org/r": "1", "x.org/f": "1", "x.org/theirs": "theirs"})
    await whole.node_is("r-labelled", lambda node: node["status"]["capacity"].get("x.org/slots") == "2")
    await whole.node_is(
        "r-alone", lambda node: "feature.node.kubernetes.io/kernel-version.full" in node["metadata"]["labels"]
    )
    await whole.object_is(RULES, "r-allowed", lambda rule: "status" in rule)
    await whole.event_on("r-labelled")
    requests = [one for one in cluster.read_requests(mark) if one.user.endswith(f":{ACCOUNT}")]
    assert requests
    assert [(one.verb, one.path) for one in requests if one.status == 403] == []
    assert [one for one in requests if one.resource == "nodes" and one.verb == "list" and one.status >= 300] == []
