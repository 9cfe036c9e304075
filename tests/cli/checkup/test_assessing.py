"""The order of risks, from answers as a judge gives them."""

import pytest

from nodeworthy.bus.requests import NodeGroup
from nodeworthy.images import ArtifactSearch, ImageKnowledge, PlatformImage, SearchState
from nodeworthy.platforms import Platform
from nodeworthy.requirements import Defect, Effect, Inspection, Layer, Requirement, Sureness
from nodeworthy.verdicts import Answer
from nodeworthy_cli.checkup.assessing import Subject, assess, order
from nodeworthy_cli.checkup.judging import Fare, Known
from nodeworthy_cli.checkup.pools import Pools
from nodeworthy_cli.checkup.records import ImageReport, Risk, Standing
from nodeworthy_cli.checkup.surveying import Fares
from nodeworthy_cli.checkup.uses import Use, WorkloadName

AMD, ARM = Platform("linux", "amd64"), Platform("linux", "arm64")
NODES = {"amd": AMD, "arm": ARM}
IMAGE = "r.test/app:1"


def fare(**counts: int) -> Fare:
    answers = {Answer(name.replace("_", "-")): count for name, count in counts.items()}
    return Fare(answers, tuple(NodeGroup(one, f"why {one}", count, ("n1",)) for one, count in answers.items()))


GOOD, BAD, MIXED = fare(compatible=2), fare(incompatible=2), fare(compatible=1, incompatible=1)
DEFECT, DOUBT, NOBODY = fare(image_defect=2), fare(unknown=2), Fare({})


def report(
    fares: Fares,
    *,
    offered: tuple[Platform, ...] = (AMD, ARM),
    inspection: Inspection | None = None,
    uses: dict[WorkloadName, Use] | None = None,
) -> ImageReport:
    none = ArtifactSearch(SearchState.NONE)
    images = tuple(PlatformImage(f"sha256:{one}", one, one, search=none, inspection=inspection) for one in offered)
    knowledge = ImageKnowledge(IMAGE, "sha256:0", "", images, search=none)
    subject = Subject(IMAGE, uses or {}, Pools(free=frozenset(NODES)))
    return assess(subject, Known(IMAGE, knowledge), fares, NODES)


@pytest.mark.parametrize(
    ("fares", "expected"),
    [
        (Fares(MIXED, running=BAD, free=GOOD), Risk.CANNOT_RUN),
        (Fares(MIXED, chosen=MIXED, free=GOOD), Risk.CANNOT_RUN),
        (Fares(BAD, free=BAD), Risk.CANNOT_RUN),
        (Fares(BAD, running=BAD, free=DEFECT), Risk.CANNOT_RUN),
        (Fares(DEFECT, free=DEFECT), Risk.IMAGE_DEFECT),
        (Fares(MIXED, free=MIXED), Risk.NODES_LACK),
        (Fares(DOUBT, running=DOUBT), Risk.UNKNOWN),
        (Fares(DOUBT, running=DOUBT, is_only_undeclared=True), Risk.UNDECLARED),
        (Fares(MIXED, running=GOOD, chosen=NOBODY), Risk.NONE),
    ],
)
def test_the_worst_that_matters_is_the_risk(fares: Fares, expected: Risk) -> None:
    found = report(fares)

    assert (found.risk, found.rank) == (expected, expected.rank)


def test_a_platform_that_is_not_offered_is_worse_than_a_level_that_nodes_lack() -> None:
    found = report(Fares(MIXED, free=MIXED), offered=(AMD,))

    assert (found.risk, found.missing) == (Risk.PLATFORM_MISSING, ("linux/arm64",))
    assert found.reason.startswith("not offered for linux/arm64; cannot run on 1 of the 2 nodes")


def test_the_reason_tells_of_the_missing_platform_before_other_reasons() -> None:
    level = NodeGroup(Answer.INCOMPATIBLE, "a level", 5, ("amd",))
    platform = NodeGroup(Answer.INCOMPATIBLE, "another platform", 1, ("arm",))
    free = Fare({Answer.INCOMPATIBLE: 6, Answer.COMPATIBLE: 1}, (level, platform))

    assert report(Fares(free, free=free), offered=(AMD,)).reason == (
        "not offered for linux/arm64; cannot run on 6 of the 7 nodes where it could be placed, as it selects none (arm):"
        " another platform; on 5 more for other reasons"
    )


def test_an_image_without_a_node_is_unknown() -> None:
    none = ArtifactSearch(SearchState.NONE)
    knowledge = ImageKnowledge(IMAGE, "sha256:0", "", (PlatformImage("sha256:1", AMD, search=none),))

    found = assess(Subject(IMAGE, {}, Pools()), Known(IMAGE, knowledge), Fares(GOOD), NODES)

    assert (found.risk, found.reason) == (Risk.UNKNOWN, "there is no node for it")


def test_levels_and_defects_come_from_the_files() -> None:
    level = Requirement(
        "x86-64-level", "a CPU of level x86-64-v2", Layer.INSTRUCTION_SET, Effect.CRASHES, Sureness.CERTAIN
    )
    hint = Requirement("avx512", "AVX-512", Layer.INSTRUCTION_SET, Effect.CRASHES, Sureness.ADVISORY)
    card = Requirement("gpu", "a GPU", Layer.ACCELERATOR, Effect.DOES_NOT_START, Sureness.CERTAIN)
    defect = Defect("mixed", "libx is for arm64", Effect.CRASHES, Sureness.PROBABLE)

    found = report(Fares(GOOD, free=GOOD), inspection=Inspection(1, "amd64", (), (level, hint, card), (defect,)))

    assert found.levels == ("a CPU of level x86-64-v2",)
    assert found.defects == ("libx is for arm64 (probable)",)
    assert found.inspected


def test_a_rollback_is_named_where_something_is_at_risk() -> None:
    uses = {WorkloadName("shop", "Deployment", "cart"): Use(Standing.ROLLBACK, revisions={"10", "9"})}

    assert report(Fares(BAD, free=BAD), uses=uses).reason.endswith("; a rollback would start it: Deployment shop/cart")
    assert "rollback" not in report(Fares(GOOD, free=GOOD), uses=uses).reason
    assert report(Fares(GOOD, free=GOOD), uses=uses).workloads[0].revisions == ("9", "10")


def test_of_one_risk_what_more_workloads_use_comes_first() -> None:
    one = {WorkloadName("shop", "Deployment", name): Use(Standing.RUNNING) for name in ("a",)}
    two = {WorkloadName("shop", "Deployment", name): Use(Standing.RUNNING) for name in ("a", "b")}
    few, many = report(Fares(BAD, free=BAD), uses=one), report(Fares(BAD, free=BAD), uses=two)
    worse, better = report(Fares(BAD, running=BAD), uses=one), report(Fares(GOOD, free=GOOD), uses=two)

    assert order([better, few, many])[0] is many
    assert order([better, many, worse])[-1] is better
