"""The first layer: which image a node would take, and whether the claims of index and config let it run there."""

from collections.abc import Sequence
from typing import NamedTuple

from nodeworthy import platforms
from nodeworthy.images import ArtifactKind, ImageKnowledge, PlatformImage
from nodeworthy.platforms import Platform
from nodeworthy.requirements import Effect, Layer, Sureness
from nodeworthy.verdicts.emulation import emulator
from nodeworthy.verdicts.nodes import NodeFacts
from nodeworthy.verdicts.records import Finding, Origin, State


class PlatformChoice(NamedTuple):
    """The image that the node would take, if any, and the finding that says why."""

    image: PlatformImage | None
    finding: Finding


def choose_image(knowledge: ImageKnowledge, node: NodeFacts, wanted: Platform | None = None) -> PlatformChoice:
    """The image for a node, or the one of the platform ``wanted``, held against the node."""
    candidates = [(platform, image) for image in knowledge.images if (platform := _selectable(image)) is not None]
    if wanted is not None:
        chosen = platforms.choose(wanted, candidates)
        if chosen is None:
            # What is declared for a single image is still worth showing.
            only = knowledge.images[0] if len(knowledge.images) == 1 and knowledge.search is None else None
            return PlatformChoice(only, _missing(str(wanted), candidates))
    elif node.platform is not None:
        chosen = next(
            filter(None, (platforms.choose(platform, candidates) for platform in node.platforms)), None
        ) or _incomparable(node.platform, candidates)
        if chosen is None and candidates:
            return PlatformChoice(None, _mismatch(node, node.platform, candidates))
    else:
        chosen = None
    if chosen is None and len(knowledge.images) == 1:
        chosen = knowledge.images[0]
    return PlatformChoice(chosen, _hold(chosen, node, candidates))


def settle_contradiction(choice: PlatformChoice, node: NodeFacts) -> PlatformChoice:
    """Where index and config say different things of an image, what starts in its files decides, if somebody looked."""
    image = choice.image
    if choice.finding.code != CONTRADICTION or image is None or image.inspection is None:
        return choice
    if not image.inspection.machine or node.platform is None:
        return choice
    claimed = image.claimed or node.platform
    return choice._replace(finding=_compare(platforms.normalize(claimed.os, image.inspection.machine), node))


CONTRADICTION = "platform-contradiction"
"""The code of the finding that index and config disagree."""


def _selectable(image: PlatformImage) -> Platform | None:
    # A container runtime selects by what the index says; without an index by what the config says.
    return image.claimed or image.configured


def _incomparable(node: Platform, candidates: Sequence[tuple[Platform, PlatformImage]]) -> PlatformImage | None:
    """The first image of the node's architecture with a variant that nobody can compare with the node's."""
    kind = (node.os, node.architecture)
    return next((i for p, i in candidates if (p.os, p.architecture) == kind and not platforms.is_ordered(p)), None)


def _hold(
    image: PlatformImage | None, node: NodeFacts, candidates: Sequence[tuple[Platform, PlatformImage]]
) -> Finding:
    if node.platform is None:
        return _finding(
            "node-platform-unknown",
            State.UNKNOWN,
            _names(candidates),
            settle="facts that hold the set system.architecture, written by: nodeworthy features -o json",
        )
    if image is not None and image.kind in {ArtifactKind.HELM, ArtifactKind.WASM} and image.platform is None:
        return _finding("platform-free", State.MET, f"none: it is {image.kind.phrase}", str(node.platform))
    if image is None or image.platform is None:
        if image is not None and image.kind is ArtifactKind.SIF:
            return _finding(
                "image-platform-unknown",
                State.UNKNOWN,
                "the architecture in the file's header",
                str(node.platform),
                settle="a look at the file itself: singularity pull FILE.sif oras://IMAGE, nodeworthy check FILE.sif",
            )
        return _finding(
            "image-platform-unknown",
            State.UNKNOWN,
            "a platform",
            str(node.platform),
            settle="an image config or an index that names the platform",
        )
    if image.claimed and image.configured and _contradict(image.claimed, image.configured):
        return _finding(
            CONTRADICTION,
            State.UNKNOWN,
            f"{image.claimed} says the index, {image.configured} says the image config",
            str(node.platform),
            settle="a look at the image's files",
        )
    claims = [_compare(platform, node) for platform in (image.claimed, image.configured) if platform]
    return max(claims, key=lambda finding: _SEVERITY[finding.state])


_SEVERITY = {State.MET: 0, State.UNKNOWN: 1, State.UNMET: 2}


def _contradict(claimed: Platform, configured: Platform) -> bool:
    return (claimed.os, claimed.architecture) != (configured.os, configured.architecture)


def _compare(image: Platform, node: NodeFacts) -> Finding:
    assert node.platform is not None
    if platforms.preference(node.platform, image) is not None:
        if node.platform.architecture != image.architecture:
            return _compare_32_bit(image, node)
        return _finding("platform", State.MET, str(image), str(node.platform))
    same = (node.platform.os, node.platform.architecture) == (image.os, image.architecture)
    if same and not (node.variant_known and platforms.is_ordered(image)):
        return _finding(
            "platform-variant-unknown",
            State.UNKNOWN,
            str(image),
            str(node.platform),
            layer=Layer.INSTRUCTION_SET,
            settle="the set cpu.cpuid of the node, with the levels of its architecture",
        )
    if not same and (emulated := _emulated(node, [image])):
        return emulated
    layer, effect = (Layer.INSTRUCTION_SET, Effect.CRASHES) if same else (Layer.ARCHITECTURE, Effect.DOES_NOT_START)
    return _finding("platform-mismatch", State.UNMET, str(image), str(node.platform), layer=layer, effect=effect)


def _compare_32_bit(image: Platform, node: NodeFacts) -> Finding:
    """A 32-bit image on a 64-bit node runs where ``cpu.execution`` says so, or the kernel was built for it."""
    ability = "ia32" if image.architecture == "386" else "aarch32"
    execution = node.facts.lookup("cpu.execution").content
    runs = ((execution.attributes or {}) if execution else {}).get(ability)
    if runs == "true":
        return _finding("platform", State.MET, str(image), f"{node.platform}, runs {ability}")
    if runs == "false":
        return _emulated(node, [image]) or _finding(
            "platform-32-bit-unsupported",
            State.UNMET,
            str(image),
            f"{node.platform}, runs no {ability}",
            effect=Effect.DOES_NOT_START,
        )
    return _compare_kernel(image, node)


def _compare_kernel(image: Platform, node: NodeFacts) -> Finding:
    """By the kernel's configuration alone, as NFD's facts have it."""
    option = "IA32_EMULATION" if image.architecture == "386" else "COMPAT"
    found = node.facts.lookup("kernel.config").content
    built = found is not None and (found.attributes or {}).get(option) == "y"
    if not built and found is not None and option not in found.unobserved:
        return _emulated(node, [image]) or _finding(
            "platform-32-bit-unsupported",
            State.UNMET,
            str(image),
            f"{node.platform}, kernel built without CONFIG_{option}",
            effect=Effect.DOES_NOT_START,
        )
    if built and image.architecture == "386":
        return _finding("platform", State.MET, str(image), f"{node.platform}, CONFIG_{option}=y")
    # Many Arm server CPUs cannot run AArch32 whatever the kernel was built with.
    return _finding(
        "platform-32-bit-unknown",
        State.UNKNOWN,
        str(image),
        str(node.platform),
        settle=f"the set cpu.execution of the node, or its kernel configuration (CONFIG_{option})",
    )


def _mismatch(node: NodeFacts, platform: Platform, candidates: Sequence[tuple[Platform, PlatformImage]]) -> Finding:
    same = any((platform.os, platform.architecture) == (one.os, one.architecture) for one, _ in candidates)
    if not same and (emulated := _emulated(node, [one for one, _ in candidates])):
        return emulated
    return _finding(
        "platform-mismatch",
        State.UNMET,
        _names(candidates),
        str(platform),
        layer=Layer.INSTRUCTION_SET if same else Layer.ARCHITECTURE,
        effect=Effect.CRASHES if same else Effect.DOES_NOT_START,
    )


def _emulated(node: NodeFacts, offered: Sequence[Platform]) -> Finding | None:
    """Programs of another architecture, on a node that hands them to an emulator: nobody knows how far they get."""
    interpreter = emulator(node.facts, [one.architecture for one in offered if one.os == "linux"])
    if not interpreter:
        return None
    return _finding(
        "platform-emulated",
        State.UNKNOWN,
        platforms.names(list(dict.fromkeys(offered))),
        f"{node.platform}, with the emulator {interpreter}",
        effect=Effect.CRASHES,
        settle="an image for the node's own platform; an emulator is slow, lacks instructions and may crash",
    )


def _missing(wanted: str, candidates: Sequence[tuple[Platform, PlatformImage]]) -> Finding:
    return Finding(
        code="platform-missing",
        state=State.UNMET,
        requirement=f"the image is offered for {wanted}",
        observed=_names(candidates),
        expected=wanted,
        origin=Origin.PLATFORM,
        layer=Layer.ARCHITECTURE,
        effect=Effect.DOES_NOT_START,
    )


def _names(candidates: Sequence[tuple[Platform, PlatformImage]]) -> str:
    return platforms.names(list(dict.fromkeys(platform for platform, _ in candidates)))


def _finding(
    code: str,
    state: State,
    expected: str,
    observed: str = "",
    *,
    layer: Layer = Layer.ARCHITECTURE,
    effect: Effect | None = None,
    settle: str = "",
) -> Finding:
    return Finding(
        code=code,
        state=state,
        requirement="the node runs the image's platform",
        observed=observed,
        expected=expected,
        origin=Origin.PLATFORM,
        layer=layer,
        effect=effect,
        sureness=Sureness.CERTAIN,
        settle=settle,
    )
