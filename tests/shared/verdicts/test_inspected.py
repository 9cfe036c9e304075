"""What an image's files ask for, held against nodes: what is a no, what a yes, and what nobody knows."""

import msgspec
import pytest

from nodeworthy import platforms
from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot
from nodeworthy.images import Artifact, ArtifactSearch, ImageKnowledge, PlatformImage, SearchState
from nodeworthy.requirements import (
    Defect,
    Effect,
    Evidence,
    Inspection,
    Layer,
    Requirement,
    Sureness,
    Unexplored,
)
from nodeworthy.requirements.conditions import has_flags, has_version
from nodeworthy.verdicts import Answer, NodeFacts, Origin, State, Verdict, Wishes, judge

AVX2 = has_flags("cpu.cpuid", ["AVX2"])


def requirement(sureness: Sureness = Sureness.CERTAIN) -> Requirement:
    return Requirement(
        "cpu-features",
        "a CPU with AVX2",
        Layer.INSTRUCTION_SET,
        Effect.CRASHES,
        sureness,
        (AVX2,),
        evidence=(Evidence("/app", "vpaddd ymm0, ymm1, ymm2", 0x1234),),
        remedy="build it for x86-64",
    )


def inspection(
    *requirements: Requirement, defects: tuple[Defect, ...] = (), unexplored: tuple[Unexplored, ...] = ()
) -> Inspection:
    return Inspection(1, "amd64", ("/app",), requirements=requirements, defects=defects, unexplored=unexplored)


def node(*flags: str, known: bool = True) -> NodeFacts:
    contents = {"system.architecture": FeatureSet(attributes={"architecture": "amd64"})}
    statuses = {}
    if known:
        contents["cpu.cpuid"] = FeatureSet(flags=frozenset(flags))
    else:
        statuses["cpu.cpuid"] = SetStatus(SetState.UNKNOWN, "permission denied")
    return NodeFacts.of(Snapshot(contents, statuses, frozenset({*contents, *statuses})), "n1")


def knowledge(found: Inspection | None, search: ArtifactSearch | None = None) -> ImageKnowledge:
    child = PlatformImage("sha256:b", configured=platforms.parse("linux/amd64"), search=search, inspection=found)
    return ImageKnowledge("example.com/app:1", "sha256:b", "manifest", (child,))


def verdict(found: Inspection, facts: NodeFacts, wishes: Wishes = Wishes()) -> Verdict:  # noqa: B008 # immutable
    return judge(knowledge(found), facts, wishes=wishes)


def test_a_node_that_has_all_that_the_files_ask_for_runs_the_image() -> None:
    given = verdict(inspection(requirement()), node("AVX2"))
    assert given.verdict is Answer.COMPATIBLE
    assert [finding.origin for finding in given.findings] == [Origin.PLATFORM, Origin.INSPECTED]
    assert "nothing-declared" not in {finding.code for finding in given.findings}


def test_a_certain_requirement_that_is_not_met_is_a_no_with_its_evidence_and_cure() -> None:
    given = verdict(inspection(requirement()), node("SSE2"))
    assert given.verdict is Answer.INCOMPATIBLE
    assert "AVX2" in given.reason
    finding = given.findings[-1]
    assert (finding.state, finding.effect, finding.sureness) == (State.UNMET, Effect.CRASHES, Sureness.CERTAIN)
    assert (finding.evidence[0].file, finding.remedy) == ("/app", "build it for x86-64")


@pytest.mark.parametrize(
    ("sureness", "facts", "answer"),
    [
        (Sureness.PROBABLE, node("SSE2"), Answer.UNKNOWN),
        (Sureness.PROBABLE, node("AVX2"), Answer.COMPATIBLE),
        (Sureness.PROBABLE, node(known=False), Answer.UNKNOWN),
        (Sureness.CERTAIN, node(known=False), Answer.UNKNOWN),
        (Sureness.ADVISORY, node("SSE2"), Answer.COMPATIBLE),
        (Sureness.ADVISORY, node(known=False), Answer.COMPATIBLE),
    ],
)
def test_only_what_is_certain_says_no_and_only_what_is_known_says_yes(
    sureness: Sureness, facts: NodeFacts, answer: Answer
) -> None:
    given = verdict(inspection(requirement(sureness)), facts)
    assert given.verdict is answer
    if answer is Answer.UNKNOWN:
        assert "AVX2" in given.reason


def test_a_defect_is_the_images_fault_whatever_the_node_has() -> None:
    broken = Defect("loader-missing", "/lib64/ld.so is not in the image", Effect.DOES_NOT_START, Sureness.CERTAIN)
    given = verdict(inspection(requirement(), defects=(broken,)), node("SSE2"))
    assert (given.verdict, given.reason) == (Answer.IMAGE_DEFECT, broken.text)
    lesser = msgspec.structs.replace(broken, sureness=Sureness.PROBABLE)
    assert verdict(inspection(defects=(lesser,)), node()).verdict is Answer.COMPATIBLE


def test_what_was_not_looked_at_keeps_the_answer_open_if_it_could_decide() -> None:
    hidden = Unexplored("/app", "30 s were over")
    assert verdict(inspection(unexplored=(hidden,)), node()).verdict is Answer.UNKNOWN
    harmless = msgspec.structs.replace(hidden, decides=False)
    assert verdict(inspection(unexplored=(harmless,)), node()).verdict is Answer.COMPATIBLE
    refused = verdict(inspection(requirement(), unexplored=(hidden,)), node())
    assert refused.verdict is Answer.INCOMPATIBLE


def test_an_image_in_which_nothing_starts_is_not_said_to_run() -> None:
    given = verdict(Inspection(1), node())
    assert given.verdict is Answer.UNKNOWN
    assert "nothing" in given.reason


def test_a_declaration_that_is_met_counts_beside_files_that_say_no() -> None:
    spec = b"version: v1alpha1\ncompatibilities: [{rules: [{name: any, matchFeatures: []}]}]"

    found = ArtifactSearch(SearchState.FOUND, Artifact("sha256:a", "sha256:b", "", spec))
    assert judge(knowledge(None, found), node()).verdict is Answer.COMPATIBLE
    assert judge(knowledge(inspection(requirement()), found), node()).verdict is Answer.INCOMPATIBLE
    probable = inspection(requirement(Sureness.PROBABLE))
    assert judge(knowledge(probable, found), node()).verdict is Answer.COMPATIBLE


def test_a_search_that_failed_leaves_the_answer_open() -> None:
    failed = ArtifactSearch(SearchState.FAILED, reason="500")
    given = judge(knowledge(inspection(), failed), node())
    assert given.verdict is Answer.UNKNOWN
    assert judge(knowledge(inspection(requirement()), failed), node()).verdict is Answer.INCOMPATIBLE


def test_versions_are_compared_as_rules_do() -> None:
    floor = msgspec.structs.replace(
        requirement(), text="Linux 5.6", match_features=(has_version("kernel.version", "full", "5.6"),)
    )
    contents = {"kernel.version": FeatureSet(attributes={"full": "5.14.0-427.13.1.el9_4.x86_64"})}
    facts = node()
    assert isinstance(facts.facts, Snapshot)
    snapshot = Snapshot({**facts.facts.contents, **contents}, {}, frozenset({*facts.facts.contents, *contents}))
    assert verdict(inspection(floor), NodeFacts.of(snapshot)).verdict is Answer.COMPATIBLE


MISMATCH = Defect(
    "content-platform-mismatch", "it says amd64 and starts arm64", Effect.DOES_NOT_START, Sureness.CERTAIN
)


def emulating(*flags: str) -> NodeFacts:
    facts = node(*flags).facts
    assert isinstance(facts, Snapshot)
    handler = {"name": "qemu", "enabled": "true", "architecture": "arm64", "interpreter": "/usr/bin/qemu"}
    return NodeFacts.of(Snapshot({**facts.contents, "kernel.binfmt": FeatureSet(instances=(handler,))}))


def test_what_runs_under_an_emulator_is_neither_a_defect_nor_judged_by_the_nodes_own_cpu() -> None:
    foreign = msgspec.structs.replace(inspection(requirement(), defects=(MISMATCH,)), machine="arm64")
    assert verdict(foreign, node("SSE2")).verdict is Answer.IMAGE_DEFECT
    given = verdict(foreign, emulating("SSE2"))
    assert given.verdict is Answer.UNKNOWN
    assert "/usr/bin/qemu" in given.reason
    broken = Defect("loader-missing", "no loader", Effect.DOES_NOT_START, Sureness.CERTAIN)
    both = msgspec.structs.replace(foreign, defects=(MISMATCH, broken))
    assert verdict(both, emulating()).verdict is Answer.IMAGE_DEFECT


@pytest.mark.parametrize(("machine", "answer"), [("amd64", Answer.COMPATIBLE), ("arm64", Answer.INCOMPATIBLE)])
def test_where_index_and_config_disagree_the_files_decide(machine: str, answer: Answer) -> None:
    child = PlatformImage(
        "sha256:b",
        claimed=platforms.parse("linux/amd64"),
        configured=platforms.parse("linux/arm64"),
        inspection=msgspec.structs.replace(inspection(), machine=machine),
    )
    both = ImageKnowledge("example.com/app:1", "sha256:i", "index", (child,))
    assert judge(both, node()).verdict is answer
    unread = msgspec.structs.replace(both, images=(msgspec.structs.replace(child, inspection=None),))
    assert judge(unread, node()).verdict is Answer.UNKNOWN


@pytest.mark.parametrize(
    ("runtime", "answer"),
    [
        ({"docker": "20.10.9"}, Answer.UNKNOWN),
        ({"docker": "20.10.10"}, Answer.COMPATIBLE),
        (None, Answer.COMPATIBLE),
        ("unknown", Answer.COMPATIBLE),
    ],
)
def test_what_sharpens_another_requirement_counts_only_where_the_facts_tell(
    runtime: dict[str, str] | str | None, answer: Answer
) -> None:
    floor = msgspec.structs.replace(
        requirement(Sureness.PROBABLE),
        match_features=(has_version("system.runtime", "docker", "20.10.10"),),
        only_if_told=True,
    )
    facts = node().facts
    assert isinstance(facts, Snapshot)
    contents, statuses = dict(facts.contents), {}
    if isinstance(runtime, dict):
        contents["system.runtime"] = FeatureSet(attributes=runtime)
    elif runtime is not None:
        statuses["system.runtime"] = SetStatus(SetState.UNKNOWN, "usr/bin is not there")
    snapshot = Snapshot(contents, statuses, frozenset({*contents, *statuses}))
    given = verdict(inspection(floor), NodeFacts.of(snapshot))
    assert given.verdict is answer
    assert (given.findings[-1].state is State.UNKNOWN) == (not isinstance(runtime, dict))
