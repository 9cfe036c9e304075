"""What the layers say together; E9 of the project's requirements stands here with its four nodes."""

from pathlib import Path

import pytest

from nodeworthy import platforms
from nodeworthy.errors import RegistryUnreachableError, UsageError
from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot
from nodeworthy.images import Artifact, ArtifactSearch, ImageKnowledge, PlatformImage, SearchState
from nodeworthy.verdicts import Answer, NodeFacts, State, Verdict, Wishes, declaration_of_artifact, judge, unresolved

SPEC = (Path(__file__).parents[2] / "data" / "specifications" / "e9.yaml").read_bytes()

AMD64 = FeatureSet(attributes={"architecture": "amd64"})
CATALOGUE = frozenset({"system.architecture", "kernel.loadedmodule", "cpu.model", "pci.device"})


def node(
    *, vendor: str = "Intel", modules: tuple[str, ...] = ("vfio_pci",), cards: tuple[str, ...] | None = ("10de",)
) -> NodeFacts:
    contents = {
        "system.architecture": AMD64,
        "kernel.loadedmodule": FeatureSet(flags=frozenset(modules)),
        "cpu.model": FeatureSet(attributes={"vendor_id": vendor}),
    }
    statuses = {}
    if cards is None:
        statuses["pci.device"] = SetStatus(SetState.UNKNOWN, "sys/bus/pci/devices: Permission denied")
    else:
        contents["pci.device"] = FeatureSet(instances=tuple({"vendor": card, "class": "0302"} for card in cards))
    return NodeFacts.of(Snapshot(contents, statuses, CATALOGUE), "n1")


def found(spec: bytes = SPEC) -> ArtifactSearch:
    artifact = Artifact("sha256:" + "a" * 64, "sha256:" + "b" * 64, "2026-01-01T00:00:00Z", spec)
    return ArtifactSearch(SearchState.FOUND, artifact)


NONE = ArtifactSearch(SearchState.NONE)
FAILED = ArtifactSearch(SearchState.FAILED, reason="the registry answered 500")


def image(
    search: ArtifactSearch | None, index: ArtifactSearch | None = None, platform: str = "linux/amd64"
) -> ImageKnowledge:
    child = PlatformImage("sha256:" + "b" * 64, configured=platforms.parse(platform), search=search)
    return ImageKnowledge("example.com/app:1", "sha256:" + "b" * 64, "manifest", (child,), index)


def states(verdict: Verdict) -> list[State]:
    return [s.state for s in verdict.sets]


def test_e9_a_node_that_meets_both_sets_gets_the_higher_score() -> None:
    verdict = judge(image(found()), node())
    assert (verdict.verdict, verdict.score) == (Answer.COMPATIBLE, 10)
    assert states(verdict) == [State.MET, State.MET]


def test_e9_a_node_that_meets_only_the_second_set_is_told_why_not_the_first() -> None:
    verdict = judge(image(found()), node(cards=("8086",)))
    assert (verdict.verdict, verdict.score) == (Answer.COMPATIBLE, 1)
    assert states(verdict) == [State.UNMET, State.MET]
    [unmet] = [f for f in verdict.findings if f.state is State.UNMET]
    assert (unmet.set, unmet.rule, unmet.requirement) == (0, "card", "pci.device vendor")
    assert "10de" in unmet.expected
    assert "8086" in unmet.observed


def test_e9_a_node_that_meets_none_is_incompatible() -> None:
    verdict = judge(image(found()), node(vendor="AMD"))
    assert (verdict.verdict, verdict.score) == (Answer.INCOMPATIBLE, None)
    assert states(verdict) == [State.UNMET, State.UNMET]


def test_e9_without_pci_facts_the_set_that_asks_for_them_is_unknown() -> None:
    only_first = SPEC[: SPEC.index(b"- description: without it")]
    verdict = judge(image(found(only_first)), node(cards=None))
    assert verdict.verdict is Answer.UNKNOWN
    [unknown] = [f for f in verdict.findings if f.state is State.UNKNOWN]
    assert "Permission denied" in unknown.settle


def test_a_met_set_is_enough_even_where_a_better_one_is_unknown() -> None:
    verdict = judge(image(found()), node(cards=None))
    assert (verdict.verdict, verdict.score) == (Answer.COMPATIBLE, 1)
    assert states(verdict) == [State.UNKNOWN, State.MET]


def test_one_unmet_rule_decides_a_set_whatever_is_unknown_beside_it() -> None:
    only_first = SPEC[: SPEC.index(b"- description: without it")]
    assert judge(image(found(only_first)), node(vendor="AMD", cards=None)).verdict is Answer.INCOMPATIBLE


def test_i1_an_image_that_declares_nothing_is_unknown() -> None:
    verdict = judge(image(NONE), node())
    assert verdict.verdict is Answer.UNKNOWN
    assert "nothing-declared" in {f.code for f in verdict.findings}


def test_an_image_that_declares_nothing_can_be_asked_to_count_as_compatible() -> None:
    wishes = Wishes(undeclared_is_compatible=True)
    assert judge(image(NONE), node(), wishes=wishes).verdict is Answer.COMPATIBLE
    assert judge(image(NONE, platform="linux/arm64"), node(), wishes=wishes).verdict is Answer.INCOMPATIBLE
    assert judge(image(FAILED), node(), wishes=wishes).verdict is Answer.UNKNOWN


def test_i2_a_failed_search_is_unknown_and_never_compatible() -> None:
    verdict = judge(image(FAILED), node())
    assert verdict.verdict is Answer.UNKNOWN
    assert "the registry answered 500" in verdict.reason


def test_i4_the_childs_artifact_comes_before_the_indexs() -> None:
    nothing_fits = SPEC.replace(b"Intel", b"Nobody")
    assert judge(image(NONE, found()), node()).verdict is Answer.COMPATIBLE
    assert judge(image(found(nothing_fits), found()), node()).verdict is Answer.INCOMPATIBLE
    assert judge(image(FAILED, found()), node()).verdict is Answer.UNKNOWN


def test_i7_an_artifact_of_another_version_is_unknown_with_the_reason() -> None:
    verdict = judge(image(found(SPEC.replace(b"v1alpha1", b"v9"))), node())
    assert verdict.verdict is Answer.UNKNOWN
    assert "v9" in verdict.reason


def test_i8_a_tag_filter_chooses_among_the_sets() -> None:
    assert judge(image(found()), node(), wishes=Wishes(tags=("fallback",))).score == 1
    verdict = judge(image(found()), node(cards=("8086",)), wishes=Wishes(tags=("preferred",)))
    assert verdict.verdict is Answer.INCOMPATIBLE


def test_i8_a_tag_that_nothing_carries_is_an_error() -> None:
    with pytest.raises(UsageError) as caught:
        judge(image(found()), node(), wishes=Wishes(tags=("fast",)))
    assert "fallback, preferred" in caught.value.why


def test_a_wrong_architecture_is_incompatible_whatever_is_declared() -> None:
    verdict = judge(image(found(), platform="linux/arm64"), node())
    assert verdict.verdict is Answer.INCOMPATIBLE
    assert verdict.reason == "the image is for linux/arm64, the node is linux/amd64"


def test_a_declared_set_that_fails_decides_even_where_the_platform_is_unknown() -> None:
    lookups = {name: node(vendor="AMD").facts.lookup(name).content for name in CATALOGUE - {"system.architecture"}}
    contents = {name: content for name, content in lookups.items() if content is not None}
    unplaced = NodeFacts.of(Snapshot(contents, {}, CATALOGUE), "n1")
    assert judge(image(found()), unplaced).verdict is Answer.INCOMPATIBLE
    met = {**contents, "cpu.model": FeatureSet(attributes={"vendor_id": "Intel"})}
    assert judge(image(found()), NodeFacts.of(Snapshot(met, {}, CATALOGUE), "n1")).verdict is Answer.UNKNOWN


def test_an_image_that_could_not_be_looked_at_is_unknown_with_what_to_do() -> None:
    error = RegistryUnreachableError("registry example.com cannot be reached", why="refused", todo="start it")
    verdict = unresolved("example.com/app:1", node(), error)
    assert verdict.verdict is Answer.UNKNOWN
    assert verdict.findings[0].observed == "registry example.com cannot be reached: refused"
    assert verdict.findings[0].settle == "start it"


def test_what_is_noticed_of_a_specification_is_told_wherever_it_is_from() -> None:
    spec = SPEC.replace(b"feature: cpu.model", b"feature: cpu.modle", 1)
    attached = judge(image(found(spec)), node())
    artifact = found(spec).artifact
    assert artifact is not None
    instead = judge(image(NONE), node(), override=declaration_of_artifact(artifact))
    assert "did you mean cpu.model?" in attached.notices[0]
    assert instead.notices == attached.notices
