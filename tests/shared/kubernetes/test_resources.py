import pytest

from nodeworthy.kubernetes.resources import EVENTS, LEASES, NODES, Resource

RULES = Resource("nfd.k8s-sigs.io", "v1alpha1", "nodefeaturerules", "NodeFeatureRule", is_namespaced=False)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (NODES.path(), "/api/v1/nodes"),
        (NODES.path("n1", subresource="status"), "/api/v1/nodes/n1/status"),
        (NODES.path("n1", namespace="passed over"), "/api/v1/nodes/n1"),
        (RULES.path("r"), "/apis/nfd.k8s-sigs.io/v1alpha1/nodefeaturerules/r"),
        (LEASES.path(), "/apis/coordination.k8s.io/v1/leases"),
        (LEASES.path("l", namespace="ns"), "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l"),
        (NODES.path("../pods?x=1#y"), "/api/v1/nodes/..%2Fpods%3Fx%3D1%23y"),
    ],
)
def test_each_object_has_its_path_and_no_name_makes_another_one(path: str, expected: str) -> None:
    assert path == expected


def test_objects_name_their_version_with_the_group() -> None:
    assert (NODES.api_version, EVENTS.api_version) == ("v1", "events.k8s.io/v1")


def test_a_person_reads_the_namespace_where_there_is_one() -> None:
    assert (NODES.describe("n1"), LEASES.describe("l", "ns")) == ("Node n1", "Lease ns/l")
