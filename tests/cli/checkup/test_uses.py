"""Which workload an image belongs to, from objects as an API server gives them."""

from typing import Any

import msgspec

from nodeworthy.kubernetes.resources import Resource
from nodeworthy_cli.checkup import objects
from nodeworthy_cli.checkup.records import Standing
from nodeworthy_cli.checkup.uses import Uses, WorkloadName

CART = WorkloadName("shop", "Deployment", "cart")


def metadata(name: str, owner: tuple[str, str] | None = None, revision: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "namespace": "shop"}
    if owner:
        found["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "controller": True}]
    if revision:
        found["annotations"] = {"deployment.kubernetes.io/revision": revision, "other": "x"}
    return found


def spec(*images: str, **more: Any) -> dict[str, Any]:
    return {"containers": [{"name": f"c{n}", "image": image} for n, image in enumerate(images)], **more}


def add(uses: Uses, kind: Resource, meta: dict[str, Any], pod: dict[str, Any], **more: Any) -> None:
    template = {"template": {"spec": pod}}
    whole = {"jobTemplate": {"spec": template}} if kind is objects.CRON_JOBS else template
    status = more.pop("status", {})
    document = {"metadata": meta, "spec": {**whole, **more}, "status": status}
    uses.add_workload(kind, msgspec.convert(document, objects.Workload))


def add_pod(uses: Uses, meta: dict[str, Any], pod: dict[str, Any], **status: Any) -> None:
    uses.add_pod(msgspec.convert({"metadata": meta, "spec": pod, "status": status}, objects.Pod))


def deployed(image: str = "r.test/cart:2", revision: str = "2") -> Uses:
    uses = Uses()
    add(uses, objects.DEPLOYMENTS, metadata("cart", revision=revision), spec(image))
    return uses


def test_a_pod_is_its_deployments_and_runs_what_the_template_names() -> None:
    uses = deployed()
    add(uses, objects.REPLICA_SETS, metadata("cart-2", ("Deployment", "cart"), "2"), spec("r.test/cart:2"))
    for node in ("n1", "n2"):
        add_pod(uses, metadata(f"cart-{node}", ("ReplicaSet", "cart-2")), spec("r.test/cart:2", nodeName=node))

    (use,) = uses.images["r.test/cart:2"].values()
    assert list(uses.images["r.test/cart:2"]) == [CART]
    assert (use.standing, use.nodes) == (Standing.RUNNING, {"n1", "n2"})
    assert len(use.placements) == 1


def test_an_older_replica_set_without_pods_is_a_rollback() -> None:
    uses = deployed()
    add(uses, objects.REPLICA_SETS, metadata("old", ("Deployment", "cart"), "1"), spec("r.test/cart:1"), replicas=0)

    use = uses.images["r.test/cart:1"][CART]
    assert (use.standing, use.revisions) == (Standing.ROLLBACK, {"1"})


def test_the_present_replica_set_of_a_deployment_that_is_scaled_down_is_none() -> None:
    uses = deployed()
    add(uses, objects.REPLICA_SETS, metadata("now", ("Deployment", "cart"), "2"), spec("r.test/cart:2"), replicas=0)

    assert uses.images["r.test/cart:2"][CART].standing is Standing.TEMPLATE


def test_without_revisions_the_images_tell_whether_a_replica_set_is_older() -> None:
    uses = deployed(revision="")
    for name, image in (("now", "r.test/cart:2"), ("old", "r.test/cart:1")):
        add(uses, objects.REPLICA_SETS, metadata(name, ("Deployment", "cart")), spec(image), replicas=0)

    assert uses.images["r.test/cart:2"][CART].standing is Standing.TEMPLATE
    assert uses.images["r.test/cart:1"][CART].revisions == {"old"}


def test_an_older_replica_set_that_still_has_pods_is_told_by_its_pods() -> None:
    uses = deployed()
    add(uses, objects.REPLICA_SETS, metadata("old", ("Deployment", "cart"), "1"), spec("r.test/cart:1"), replicas=1)

    assert "r.test/cart:1" not in uses.images


def test_all_kinds_of_containers_count() -> None:
    uses = Uses()
    debug = [{"name": "debug", "image": "r.test/debug:1"}]
    pod = spec("r.test/app:1", initContainers=[{"name": "i", "image": "r.test/init:1"}], ephemeralContainers=debug)
    add_pod(uses, metadata("p"), pod | {"nodeName": "n1"})

    assert set(uses.images) == {"r.test/app:1", "r.test/init:1", "r.test/debug:1"}


def test_pods_and_jobs_that_are_over_start_nothing() -> None:
    uses = Uses()
    add_pod(uses, metadata("done"), spec("r.test/a:1", nodeName="n1"), phase="Succeeded")
    ended = {"conditions": [{"type": "Complete", "status": "True"}]}
    add(uses, objects.JOBS, metadata("job"), spec("r.test/b:1"), status=ended)

    assert uses.images == {}


def test_a_job_of_a_cron_job_is_the_cron_jobs() -> None:
    uses = Uses()
    add(uses, objects.CRON_JOBS, metadata("nightly"), spec("r.test/n:1"))
    add(uses, objects.JOBS, metadata("nightly-1", ("CronJob", "nightly")), spec("r.test/n:1"))
    add_pod(uses, metadata("p", ("Job", "nightly-1")), spec("r.test/n:1", nodeName="n1"))

    assert list(uses.images["r.test/n:1"]) == [WorkloadName("shop", "CronJob", "nightly")]


def test_a_pod_that_nobody_keeps_is_placed_once_and_never_again() -> None:
    uses = Uses()
    add_pod(uses, metadata("bare"), spec("r.test/a:1", nodeName="n1"))
    add_pod(uses, metadata("static", ("Node", "n1")), spec("r.test/b:1", nodeName="n1"))
    add_pod(uses, metadata("waiting"), spec("r.test/c:1"))

    placements = {image: len(use.placements) for image, by in uses.images.items() for use in by.values()}
    assert placements == {"r.test/a:1": 0, "r.test/b:1": 0, "r.test/c:1": 1}
    assert WorkloadName("shop", "Pod", "static") in uses.images["r.test/b:1"]


def test_a_workload_of_a_kind_of_somebody_else_is_placed_as_its_pods_are() -> None:
    uses = Uses()
    pod = spec("r.test/a:1", nodeName="n1", nodeSelector={"kubernetes.io/arch": "arm64"})
    add_pod(uses, metadata("p", ("Rollout", "web")), pod)

    (use,) = uses.images["r.test/a:1"].values()
    assert [str(one) for one in use.placements] == ["kubernetes.io/arch=arm64"]


def test_the_digest_that_a_runtime_pulled_is_kept() -> None:
    uses = Uses()
    status = {"name": "c0", "imageID": "docker-pullable://r.test/a@sha256:abc"}
    add_pod(uses, metadata("p"), spec("r.test/a:1", nodeName="n1"), containerStatuses=[status])

    (use,) = uses.images["r.test/a:1"].values()
    assert use.digests == {"sha256:abc"}


def test_one_image_under_two_names_is_one() -> None:
    uses = Uses()
    for name in ("nginx", "docker.io/library/nginx:latest", "not a name"):
        uses.add_image(name)

    assert list(uses.images) == ["docker.io/library/nginx:latest", "not a name"]


def test_null_stands_for_nothing() -> None:
    uses = Uses()
    add(
        uses, objects.DEPLOYMENTS, metadata("d"), spec("r.test/a:1", tolerations=None, nodeSelector=None, affinity=None)
    )

    assert set(uses.images) == {"r.test/a:1"}
