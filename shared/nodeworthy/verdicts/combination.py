"""The verdict on one image and one node: the layers' claims are read, held against the node and put together."""

from collections.abc import Callable

from nodeworthy import platforms
from nodeworthy.errors import ArtifactError, DocumentError, NodeworthyError
from nodeworthy.images import Artifact, ArtifactSearch, ImageKnowledge, PlatformImage, SearchState
from nodeworthy.platforms import Platform
from nodeworthy.verdicts.conclusion import NOTHING_DECLARED, Claims, Declared, conclude
from nodeworthy.verdicts.declared import Declaration, Wishes, declaration_of_artifact, judge_declared
from nodeworthy.verdicts.emulation import emulator
from nodeworthy.verdicts.inspected import judge_inspected
from nodeworthy.verdicts.nodes import NodeFacts
from nodeworthy.verdicts.platform import choose_image, settle_contradiction
from nodeworthy.verdicts.records import Answer, Finding, Origin, State, Verdict


def judge(
    knowledge: ImageKnowledge,
    node: NodeFacts,
    *,
    wanted: Platform | None = None,
    wishes: Wishes = Wishes(),  # noqa: B008 # an immutable record
    override: Declaration | None = None,
) -> Verdict:
    """The verdict for an image on a node.

    Args:
        knowledge: what is known of the image.
        node: the node's facts.
        wanted: the platform to take from an index, instead of the node's own.
        wishes: tags, and what an image that declares nothing counts as.
        override: a specification to use in place of the attached one.

    Raises:
        UsageError: no compatibility set is left to judge.
    """
    return judge_claims(knowledge, node, read_claims(knowledge, node, wanted=wanted, override=override), wishes)


def read_claims(
    knowledge: ImageKnowledge,
    node: NodeFacts,
    *,
    wanted: Platform | None = None,
    override: Declaration | None = None,
    read: Callable[[Artifact], Declaration] = declaration_of_artifact,
) -> Claims:
    """The image that a node would take, and what is declared for it; ``read`` reads an artifact, perhaps from memory."""
    choice = settle_contradiction(choose_image(knowledge, node, wanted), node)
    if override is not None:
        declared = Declared(override, None, override.notices)
    else:
        declared = _find_declaration(knowledge, choice.image, read)
    return Claims(choice, declared, _find_emulator(choice.image, node))


def judge_claims(knowledge: ImageKnowledge, node: NodeFacts, claims: Claims, wishes: Wishes) -> Verdict:
    """Hold what is declared against the node, and put everything together.

    Raises:
        UsageError: no compatibility set is left to judge.
    """
    choice, declared = claims.choice, claims.declared
    result = judge_declared(declared.declaration, node.facts, wishes.tags) if declared.declaration else None
    inspection = claims.inspection
    inspected, inspected_findings = judge_inspected(inspection, node.facts) if inspection else (None, ())
    answer, reason = conclude(claims, result, inspected, wishes)
    return Verdict(
        image=knowledge.reference,
        node=node.name,
        verdict=answer,
        reason=reason,
        digest=knowledge.digest,
        platform=str(choice.image.platform) if choice.image and choice.image.platform else "",
        node_platform=str(node.platform) if node.platform else "",
        score=result.score if result and answer is Answer.COMPATIBLE else None,
        artifact=declared.declaration.artifact if declared.declaration else None,
        findings=(
            *(f for f in (choice.finding, _missing_declaration(claims)) if f),
            *(result.findings if result else ()),
            *inspected_findings,
        ),
        sets=result.sets if result else (),
        notices=_notices(knowledge, choice.image, declared),
    )


def unresolved(reference: str, node: NodeFacts, error: NodeworthyError) -> Verdict:
    """The verdict where the image could not be looked at: unknown, with the error as its finding."""
    what, why, todo = error.diagnostics()
    finding = Finding(
        code="image-not-read",
        state=State.UNKNOWN,
        requirement="the image can be looked at",
        observed=f"{what}: {why}" if why else what,
        origin=Origin.LOOKUP,
        settle=todo,
    )
    return Verdict(
        image=reference,
        node=node.name,
        verdict=Answer.UNKNOWN,
        reason=what,
        node_platform=str(node.platform) if node.platform else "",
        findings=(finding,),
    )


def _find_emulator(image: PlatformImage | None, node: NodeFacts) -> str:
    """What the node would hand the programs of an image to, where its files show that they are for another machine."""
    machine = image.inspection.machine if image and image.inspection else ""
    if not machine or node.platform is None or platforms.normalize("linux", machine).architecture in _runs(node):
        return ""
    return emulator(node.facts, [machine])


def _runs(node: NodeFacts) -> frozenset[str]:
    """The architectures whose programs a node may run by itself."""
    assert node.platform is not None
    own = node.platform.architecture
    return frozenset({own, *({"amd64": ("386",), "arm64": ("arm",)}.get(own, ()))})


def _missing_declaration(claims: Claims) -> Finding | None:
    """Why nothing is declared, unless the files themselves were asked instead."""
    finding = claims.declared.finding
    return None if finding and finding.code == NOTHING_DECLARED and claims.inspection else finding


def _find_declaration(
    knowledge: ImageKnowledge, image: PlatformImage | None, read: Callable[[Artifact], Declaration]
) -> Declared:
    """The artifact of the chosen image, else the index's; a failed search hides what it might have found."""
    notices: tuple[str, ...] = ()
    for search in (image.search if image else None, knowledge.search):
        if search is None:
            continue
        notices += search.notices
        if search.state is SearchState.FAILED:
            return Declared(None, _failed(search), notices)
        if search.artifact is not None:
            return _read(search, read, notices)
    return Declared(None, _nothing_declared(), notices)


def _read(search: ArtifactSearch, read: Callable[[Artifact], Declaration], notices: tuple[str, ...]) -> Declared:
    assert search.artifact is not None
    try:
        declaration = read(search.artifact)
    except (DocumentError, ArtifactError) as error:
        failed = ArtifactSearch(SearchState.FAILED, reason=f"{error.what}: {error.why}")
        return Declared(None, _failed(failed), notices)
    return Declared(declaration, None, notices + declaration.notices)


def _failed(search: ArtifactSearch) -> Finding:
    return Finding(
        code="declaration-not-read",
        state=State.UNKNOWN,
        requirement="the image's compatibility artifact can be read",
        observed=search.reason,
        origin=Origin.LOOKUP,
        settle="a registry that answers, and an artifact that parses; nodeworthy spec show prints it",
    )


def _nothing_declared() -> Finding:
    return Finding(
        code=NOTHING_DECLARED,
        state=State.UNKNOWN,
        requirement="the image declares what it needs",
        observed="the image declares nothing of what it needs",
        origin=Origin.LOOKUP,
        settle="a compatibility specification (nodeworthy spec attach IMAGE FILE, or check --spec FILE), or a look at the"
        " image's files (check --inspect)",
    )


def _notices(knowledge: ImageKnowledge, image: PlatformImage | None, declared: Declared) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*knowledge.notices, *(image.notices if image else ()), *declared.notices)))
