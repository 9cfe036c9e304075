"""Short ways to write a failure down."""

import msgspec

from nodeworthy.diagnosis import Case, Diagnosis, diagnose, kernel_log, load, read_signals
from nodeworthy.diagnosis.instructions import Instruction, recognize
from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot
from nodeworthy.platforms import Platform, parse
from nodeworthy.requirements import Defect, Effect, Inspection, Layer, Requirement, Sureness, Unexplored
from nodeworthy.requirements.conditions import has_flags
from nodeworthy.verdicts import NodeFacts, Verdict


def node(architecture: str = "amd64", unknown: tuple[str, ...] = (), **sets: object) -> NodeFacts:
    """A node with sets named with ``_`` for ``.``: tuples are flags, mappings attributes, lists instances."""
    contents = {"system.architecture": FeatureSet(attributes={"architecture": architecture})}
    for name, content in sets.items():
        made = FeatureSet()
        if isinstance(content, tuple):
            made = FeatureSet(flags=frozenset(content))
        elif isinstance(content, dict):
            made = FeatureSet(attributes=content)
        elif isinstance(content, list):
            made = FeatureSet(instances=tuple(content))
        contents[name.replace("_", ".", 1)] = made
    statuses = {name: SetStatus(SetState.UNKNOWN, "permission denied") for name in unknown}
    return NodeFacts.of(Snapshot(contents, statuses, frozenset({*contents, *statuses, "accel.device"})), "n1")


def needs(*flags: str, layer: Layer = Layer.INSTRUCTION_SET) -> Requirement:
    return Requirement(
        "cpu", f"a CPU with {flags[0]}", layer, Effect.CRASHES, Sureness.CERTAIN, (has_flags("cpu.cpuid", flags),)
    )


def inspection(
    *requirements: Requirement,
    machine: str = "amd64",
    defects: tuple[Defect, ...] = (),
    unexplored: tuple[Unexplored, ...] = (),
) -> Inspection:
    return Inspection(1, machine, ("/app",), requirements, defects, unexplored=unexplored)


def stopped_at(code: str, machine: str = "amd64", features: tuple[str, ...] = ()) -> Instruction:
    """The instruction of these bytes; with features as a decoder would have found them."""
    known = recognize(bytes.fromhex(code), machine)
    if features:
        known = msgspec.structs.replace(known, kind=known.kind.ORDINARY, features=features, text="vpaddd")
    return known


def explain(
    text: str = "",
    *codes: int,
    on: NodeFacts | None = None,
    found: Inspection | None = None,
    instruction: Instruction | None = None,
    platform: str = "",
    verdict: Verdict | None = None,
) -> Diagnosis:
    """The diagnosis of a text and exit codes on a node, with what an image's files say."""
    text = kernel_log.plain_text(text)
    events = kernel_log.read_events(kernel_log.split_lines(text))
    signals = read_signals(text, codes, events, load())
    image: Platform | None = parse(platform) if platform else None
    case = Case(
        text=text,
        node=on.name if on else "",
        facts=on.facts if on else None,
        node_platform=on.platform if on else None,
        image_platform=image,
        inspection=found,
        instruction=instruction,
        verdict=verdict,
    )
    return diagnose(case, signals, load())


def confidence(found: Diagnosis, code: str) -> str:
    """How a cause fared; empty where it is not among them."""
    return next((one.confidence.value for one in found.causes if one.code == code), "")
