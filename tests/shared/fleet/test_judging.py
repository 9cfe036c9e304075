"""An image against many nodes: every verdict is the one that verdicts.judge makes of the node alone."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodeworthy import fleet as fleets
from nodeworthy import platforms
from nodeworthy.errors import UsageError
from nodeworthy.features import FeatureSet, Lookup, SetState, SetStatus, Snapshot
from nodeworthy.fleet import DETECTOR, Declarations, Fleet, Question
from nodeworthy.fleet.judging import PLATFORM_SETS
from nodeworthy.images import Artifact, ArtifactSearch, ImageKnowledge, PlatformImage, SearchState
from nodeworthy.requirements import Defect, Effect, Inspection, Layer, Requirement, Sureness, Unexplored
from nodeworthy.requirements.conditions import has_flags, has_instance, has_value
from nodeworthy.rules import CompatibilitySpec, Operator
from nodeworthy.verdicts import Answer, ArtifactSummary, Declaration, NodeFacts, Verdict, Wishes, judge, read_claims

if TYPE_CHECKING:
    from tests.shared.fleet.conftest import Worlds

SPEC = """
version: v1alpha1
compatibilities:
- tag: {tag}
  rules:
  - name: network
    matchFeatures:
    - feature: network.device
      matchExpressions:
        speed: {{op: Gt, value: ["10000"]}}
"""
NONE = ArtifactSearch(SearchState.NONE)
FAILED = ArtifactSearch(SearchState.FAILED, reason="the registry answered 500")


def found(text: str = SPEC.format(tag="fast"), digit: str = "a") -> ArtifactSearch:
    return ArtifactSearch(SearchState.FOUND, Artifact("sha256:" + digit * 64, "sha256:s", "", text.encode()))


def image(platform: str, search: ArtifactSearch | None = None, digit: str = "1") -> PlatformImage:
    return PlatformImage("sha256:" + digit * 64, claimed=platforms.parse(platform), search=search)


def index(*images: PlatformImage, search: ArtifactSearch | None = NONE) -> ImageKnowledge:
    return ImageKnowledge("example.com/app:1", "sha256:i", "index", images, search)


def node(architecture: str | None = "amd64", *, flags: str = "", speed: str = "25000", ia32: str = "y") -> Snapshot:
    contents = {
        "cpu.cpuid": FeatureSet(flags=frozenset(flags.split())),
        "kernel.config": FeatureSet(attributes={"IA32_EMULATION": ia32}),
        "network.device": FeatureSet(instances=({"name": "eth0", "speed": speed},)),
    }
    if architecture:
        contents["system.architecture"] = FeatureSet(attributes={"architecture": architecture})
    return Snapshot(contents, catalogue=frozenset(contents))


def fleet_of(*snapshots: Snapshot) -> Fleet:
    fleet = Fleet()
    for number, snapshot in enumerate(snapshots):
        fleet.update(f"n{number}", DETECTOR, snapshot)
    return fleet


def alone(question: Question, snapshot: Snapshot, name: str) -> Verdict:
    facts = NodeFacts.of(snapshot)._replace(name=name)
    return judge(question.knowledge, facts, wanted=question.wanted, wishes=question.wishes, override=question.override)


INSPECTIONS = st.builds(
    Inspection,
    engine=st.just(1),
    machine=st.sampled_from(("", "amd64")),
    requirements=st.lists(
        st.builds(
            Requirement,
            code=st.sampled_from(("network", "level")),
            text=st.just("what it needs"),
            layer=st.just(Layer.INSTRUCTION_SET),
            effect=st.just(Effect.CRASHES),
            sureness=st.sampled_from(Sureness),
            only_if_told=st.booleans(),
            match_features=st.sampled_from(
                (
                    (),
                    (has_flags("cpu.cpuid", ["X86_64_V2"]),),
                    (has_value("kernel.config", "IA32_EMULATION", Operator.IN, "y"),),
                )
            ),
            match_any=st.sampled_from(
                ((), ((has_instance("network.device", {"speed": (Operator.GT, "10000")}),), (has_flags("x.y", ["z"]),)))
            ),
        ),
        max_size=3,
    ).map(tuple),
    defects=st.sampled_from(
        ((), tuple(Defect("broken", "it is broken", Effect.CRASHES, sureness) for sureness in Sureness))
    ),
    unexplored=st.sampled_from(((), (Unexplored("a file", "too large"),))),
)
PLATFORMS = ("linux/amd64", "linux/amd64/v3", "linux/386", "linux/arm64", "linux/arm/v7", "windows/amd64")
IMAGES = st.lists(
    st.builds(
        image,
        st.sampled_from(PLATFORMS),
        st.sampled_from((None, NONE, FAILED, found(), found(digit="b"), found("{", "c"))),
        st.sampled_from("12"),
    ),
    min_size=1,
    max_size=3,
)
INSPECTED = st.lists(st.none() | INSPECTIONS, min_size=3, max_size=3)
NODES = st.builds(
    node,
    st.sampled_from((None, "amd64", "x86_64", "arm64", "armv6l")),
    flags=st.sampled_from(("", "X86_64_V1", "X86_64_V1 X86_64_V2 X86_64_V3", "ARMv8.2")),
    speed=st.sampled_from(("1000", "25000", "40000", "fast")),
    ia32=st.sampled_from("yn"),
)
WANTED = st.none() | st.sampled_from(("linux/amd64", "linux/arm64")).map(platforms.parse)


@st.composite
def overrides(draw: st.DrawFn, worlds: "Worlds") -> Declaration | None:
    sets = tuple(draw(worlds.specifications))
    return draw(st.none() | st.just(Declaration(CompatibilitySpec("v1alpha1", sets), ArtifactSummary("file x"))))


@settings(max_examples=60)  # a busy machine is no failure
@given(data=st.data())
def test_every_verdict_is_the_one_of_the_node_alone(data: st.DataObject, worlds: "Worlds") -> None:
    snapshots = [
        Snapshot({**facts.contents, **more.contents}, more.statuses, facts.catalogue)
        for facts, more in data.draw(st.lists(st.tuples(NODES, worlds.snapshots), min_size=1, max_size=5))
    ]
    images = [
        msgspec.structs.replace(one, inspection=inspection)
        for one, inspection in zip(data.draw(IMAGES), data.draw(INSPECTED), strict=False)
    ]
    question = Question(
        index(*images, search=data.draw(st.sampled_from((None, NONE, FAILED, found())))),
        data.draw(WANTED),
        Wishes(undeclared_is_compatible=data.draw(st.booleans())),
        data.draw(overrides(worlds)),
    )
    results = fleets.judge_image(fleet_of(*snapshots), question)
    expected = [alone(question, snapshot, f"n{number}") for number, snapshot in enumerate(snapshots)]
    assert list(results.verdicts()) == expected
    assert results.answers() == [verdict.verdict for verdict in expected]
    assert {answer: count for answer, count in results.counts().items() if count} == Counter(results.answers())
    for kind in results.kinds():
        members = results.nodes(kind.number)
        assert (len(members), members[0]) == (kind.size, kind.example)
        assert {expected[int(name[1:])].verdict for name in members} == {kind.answer}
        assert results.example(kind.number) == expected[int(kind.example[1:])]


class Recorder:
    """Facts that remember which sets were looked up."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.names: set[str] = set()

    def lookup(self, name: str) -> Lookup:
        self.names.add(name)
        return self.snapshot.lookup(name)


@settings(max_examples=60)  # a busy machine is no failure
@given(NODES, IMAGES, WANTED)
def test_claims_read_no_other_sets_than_those_that_kinds_are_made_of(
    snapshot: Snapshot, images: list[PlatformImage], wanted: platforms.Platform | None
) -> None:
    recorder = Recorder(snapshot)
    read_claims(index(*images), NodeFacts.of(recorder), wanted=wanted)
    assert recorder.names <= PLATFORM_SETS | {"system.name"}  # the name is replaced by the table's


def test_nodes_whose_observed_values_differ_are_of_one_kind_and_keep_their_own_values() -> None:
    fleet = fleet_of(node(speed="25000"), node(speed="40000"), node(speed="25000"), node(speed="1000"))
    results = fleets.judge_image(fleet, Question(index(image("linux/amd64", found()))))
    assert [(kind.answer, kind.size) for kind in results.kinds()] == [(Answer.COMPATIBLE, 3), (Answer.INCOMPATIBLE, 1)]
    observed = [verdict.findings[-1].observed for verdict in results.verdicts()]
    assert ["25000" in observed[0], "40000" in observed[1], observed[2] == observed[0]] == [True] * 3


def test_an_unknown_set_is_unknown_with_its_reason_and_never_compatible() -> None:
    dark = node()
    contents = {name: content for name, content in dark.contents.items() if name != "network.device"}
    failed = Snapshot(contents, {"network.device": SetStatus(SetState.UNKNOWN, "permission denied")}, dark.catalogue)
    results = fleets.judge_image(fleet_of(node(), failed), Question(index(image("linux/amd64", found()))))
    assert results.answers() == [Answer.COMPATIBLE, Answer.UNKNOWN]
    [verdict] = results.verdicts(["n1"])
    assert "permission denied" in verdict.findings[-1].settle


def test_each_platform_has_its_own_declaration() -> None:
    impossible = SPEC.format(tag="x").replace("10000", "99999999")
    knowledge = index(image("linux/amd64", found()), image("linux/arm64", found(impossible, "b"), "2"))
    results = fleets.judge_image(fleet_of(node(), node("arm64"), node("s390x")), Question(knowledge))
    assert results.answers() == [Answer.COMPATIBLE, Answer.INCOMPATIBLE, Answer.INCOMPATIBLE]


def test_a_tag_that_no_set_carries_is_an_error_as_for_one_node() -> None:
    with pytest.raises(UsageError, match="no compatibility set carries the tag slow"):
        fleets.judge_image(fleet_of(node()), Question(index(image("linux/amd64", found())), wishes=Wishes(("slow",))))


def test_verdicts_are_given_for_the_nodes_that_were_asked_about_and_no_other() -> None:
    fleet = fleet_of(node(), node("arm64"), node("s390x"))
    results = fleets.judge_image(fleet, Question(index(image("linux/amd64", NONE))), ["n2", "n0"])
    assert results.nodes() == ["n2", "n0"]
    assert [verdict.node for verdict in results.verdicts(["n0"])] == ["n0"]
    with pytest.raises(UsageError, match="n1 is not among those"):
        list(results.verdicts(["n1"]))


def test_the_table_names_nodes_whatever_their_facts_call_them() -> None:
    named = node()
    facts = {**named.contents, "system.name": FeatureSet(attributes={"nodename": "localhost"})}
    fleet = fleet_of(msgspec.structs.replace(named, contents=facts))
    [verdict] = fleets.judge_image(fleet, Question(index(image("linux/amd64", NONE)))).verdicts()
    assert verdict.node == "n0"


def test_no_nodes_give_no_verdicts() -> None:
    results = fleets.judge_image(Fleet(), Question(index(image("linux/amd64", found()))))
    assert (list(results.verdicts()), results.kinds(), results.nodes()) == ([], [], [])
    counts: Mapping[Answer, int] = results.counts()
    assert counts == dict.fromkeys(Answer, 0)


def test_an_artifact_is_read_and_compiled_once_for_all_questions() -> None:
    known = Declarations()
    search = found()
    assert search.artifact is not None
    declaration = known.read(search.artifact)
    assert known.read(search.artifact) is declaration
    assert known.specification(declaration, ()) is known.specification(declaration, ())
    assert known.specification(declaration, ("fast",)) is not known.specification(declaration, ())


def test_what_an_image_asks_for_is_compiled_once_whoever_brings_it() -> None:
    known = Declarations()
    asked = [Inspection(1, requirements=(requirement("cpu", Sureness.CERTAIN),)) for _ in range(2)]
    assert known.requirements(asked[0]) is known.requirements(asked[1])


def requirement(code: str, sureness: Sureness) -> Requirement:
    return Requirement(code, code, Layer.INSTRUCTION_SET, Effect.CRASHES, sureness, (has_flags("cpu.cpuid", ["AVX2"]),))
