"""Gathering what is known of a failure: from the cluster, the node and the image; then the conclusion."""

import re
from dataclasses import dataclass, field, replace

import msgspec

from nodeworthy.diagnosis import Case, Cause, Diagnosis, Separation, Signal, diagnose, kernel_log, load, read_signals
from nodeworthy.diagnosis.cores import Core
from nodeworthy.diagnosis.exit_codes import read_exit_code
from nodeworthy.diagnosis.kernel_log import Crash
from nodeworthy.diagnosis.pods import ContainerStatus, PodReport
from nodeworthy.diagnosis.separation import separate
from nodeworthy.diagnosis.steps import CORE, KERNEL_LOG, NODES, PLATFORMS, SIGN, plan_steps
from nodeworthy.errors import NodeworthyError
from nodeworthy.rules import Facts
from nodeworthy.verdicts import NodeFacts
from nodeworthy_cli.bus_options import BusOptions
from nodeworthy_cli.diagnose.inputs import Given
from nodeworthy_cli.diagnose.stops import Stops, recognize_stop
from nodeworthy_cli.kubernetes_options import KubernetesOptions
from nodeworthy_cli.labels.reaching import run_on_either
from nodeworthy_resolver.oci.access import RegistryAccess

_SIGNAL_BASE = 128
_ILLEGAL = frozenset({"invalid opcode", "undefined instruction"})
_PULLED = re.compile(r"(?:[a-z][a-z0-9+-]*://)?(?P<reference>[^@]+@sha256:[0-9a-f]{64})")
"""``imageID`` of a container: the runtime's name for the image, with the digest that it pulled."""


@dataclass
class Findings:
    """What was gathered until now."""

    case: Case = field(default_factory=Case)
    codes: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    causes: tuple[Cause, ...] = ()
    notices: list[str] = field(default_factory=list)
    separation: Separation | None = None
    image_error: NodeworthyError | None = None
    """Why the image could not be looked at."""

    def find(self, step: str, text: str) -> None:
        """Note what a step found."""
        self.case = replace(self.case, found={**self.case.found, step: text})


def ask_pod(found: Findings, bus: BusOptions, kubernetes: KubernetesOptions, name: str) -> None:
    """Add what the cluster says of a pod.

    Raises:
        UsageError: the name is none, or no cluster is known.
        KubernetesError, BusError: it cannot be read.
    """
    from nodeworthy_cli.diagnose.clusters import read_pod, split_name

    namespace, pod = split_name(name, "--pod")
    answer = run_on_either(
        bus, kubernetes, "diagnose", lambda reach: read_pod(reach, namespace, pod), needs_cluster=True
    )
    found.causes = answer.causes
    found.notices += answer.notices
    _take_pod(found, answer.report)
    _take_node(found, answer.node, answer.facts)
    if answer.architectures:
        found.find(NODES, answer.architectures)


def ask_workload(found: Findings, bus: BusOptions, kubernetes: KubernetesOptions, name: str) -> None:
    """Add where the pods of a workload run and fail, and one that fails; raises as :func:`ask_pod`."""
    from nodeworthy_cli.diagnose.clusters import read_workload, split_name

    namespace, workload = split_name(name, "--workload")
    answer = run_on_either(
        bus, kubernetes, "diagnose", lambda reach: read_workload(reach, namespace, workload), needs_cluster=True
    )
    found.notices += answer.notices
    differences = separate(
        {node: answer.facts[node] for node in answer.runs if node in answer.facts},
        {node: answer.facts[node] for node in answer.fails if node in answer.facts},
        answer.sets,
    )
    found.separation = Separation(answer.what, answer.runs, answer.fails, answer.both, differences)
    if answer.failing is not None and found.case.pod is None:
        node = answer.failing.pod.spec.node_name or ""
        _take_pod(found, answer.failing)
        _take_node(found, node, answer.facts.get(node))


def ask_node(found: Findings, bus: BusOptions, on: str) -> None:
    """Add the facts of the node that an option names.

    Raises:
        UsageError: there is no such node, or the file cannot be read.
        FeatureDocumentError: the file holds no features.
        BusError: the bus cannot be read.
    """
    from nodeworthy_cli.rules.subjects import read_subject

    subject = read_subject(on, bus, "diagnose")
    found.notices += subject.problems
    _take_node(found, subject.name, subject.facts)


def ask_image(found: Findings, image: str, access: RegistryAccess, given: Given, core: Core | None) -> None:
    """Add what the image claims and what its files say; an image that cannot be looked at is noted."""
    from nodeworthy_cli.diagnose.images import ImageSubject, look_at_image  # loads the readings of files

    case = found.case
    node = None if case.facts is None else NodeFacts.of(case.facts, case.node)
    answer = look_at_image(
        ImageSubject(image, _entrypoint(case)), node, access, Stops(given.events, core, _nearby(found))
    )
    if answer.line:
        found.find(KERNEL_LOG, answer.line)
    found.image_error = answer.error
    found.notices += answer.notices
    if answer.platforms:
        found.find(PLATFORMS, ", ".join(str(platform) for platform in answer.platforms))
    found.case = replace(
        found.case,
        image=image,
        image_platform=answer.platform,
        inspection=answer.inspection,
        verdict=answer.verdict,
        instruction=answer.instruction,
    )


def conclude(found: Findings, given: Given, core: Core | None) -> Diagnosis:
    """Everything that was gathered, held against the table of signatures."""
    case = replace(found.case, text=given.text)
    if case.instruction is None:
        machine = case.node_platform.architecture if case.node_platform else ""
        case = replace(case, instruction=recognize_stop(Stops(given.events, core), machine))
    codes = list(found.codes)
    if core is not None:
        codes.append(_SIGNAL_BASE + core.signal)
        case = replace(case, found={**case.found, CORE: _describe_core(core)})
    crash = next((event for event in given.events if isinstance(event, Crash)), None)
    if given.kernel.strip() or crash is not None:
        told = crash.line if crash is not None else given.kernel.strip().splitlines()[-1]
        case = replace(case, found={**case.found, KERNEL_LOG: told})
    table = load()
    signals = read_signals(given.text, codes, given.events, table)
    told_codes = [read_exit_code(code).text for code in codes]
    if signals or told_codes:
        case = replace(case, found={**case.found, SIGN: _describe_sign(signals, told_codes)})
    notices = [*given.notices, *found.notices]
    first = diagnose(case, signals, table, causes=found.causes)
    layer = first.cause.layer if first.cause is not None else None
    steps = plan_steps(case, signals, layer)
    answer = diagnose(case, signals, table, causes=found.causes, steps=steps, notices=notices)
    return msgspec.structs.replace(answer, separation=found.separation)


def _take_pod(found: Findings, report: PodReport) -> None:
    """Add a pod: its words, the exit code and image of the container that fails."""
    failing = report.pod.failing()
    found.texts += report.texts()
    if report.pod.is_pending:
        found.texts.append("Pending")
    image = container = ""
    if failing is not None:
        container = failing.name
        image = _image_of(failing)
        if failing.ended is not None:
            found.codes.append(failing.ended.exit_code)
    elif len(report.pod.spec.containers) == 1:
        container = report.pod.spec.containers[0].name
    found.case = replace(found.case, pod=report, container=container, image=image)


def _entrypoint(case: Case) -> tuple[str, ...]:
    """What the pod's container executes; empty where it leaves that to the image."""
    container = case.pod.pod.container(case.container) if case.pod else None
    return (*(container.command or ()), *(container.args or ())) if container and container.command else ()


def _image_of(status: ContainerStatus) -> str:
    """The image by the digest that was pulled, where the runtime tells one, else as the pod names it."""
    pulled = _PULLED.fullmatch(status.image_id)
    return pulled["reference"] if pulled else status.image


def _take_node(found: Findings, name: str, facts: Facts | None) -> None:
    if facts is None:
        found.case = replace(found.case, node=name)
        return
    node = NodeFacts.of(facts, name)
    found.case = replace(found.case, node=node.name or name, facts=facts, node_platform=node.platform)


def _nearby(found: Findings) -> list[Crash]:
    """Lines of the node's own log about illegal instructions, the newest first; only where one ended the program."""
    content = found.case.facts.lookup("kernellog.event").content if found.case.facts is not None else None
    if content is None or not any(read_exit_code(code).signal == "SIGILL" for code in found.codes):
        return []
    lines = [line for one in content.instances or () for line in (one.get("line", ""), one.get("code", ""))]
    events = kernel_log.read_events(lines)
    return [one for one in reversed(events) if isinstance(one, Crash) and one.what in _ILLEGAL]


def _describe_core(core: Core) -> str:
    place = f"in {core.file} at {core.offset:#x}" if core.offset is not None else f"at {core.pc:#x}, in no mapped file"
    build = f", build id {core.build_id}" if core.build_id else ""
    told = read_exit_code(_SIGNAL_BASE + core.signal).text.partition(": ")[2].partition(",")[0]
    return f"{core.process or 'the program'}: {told or f'signal {core.signal}'} {place}{build}"


def _describe_sign(signals: tuple[Signal, ...], codes: list[str]) -> str:
    texts = [signal.text for signal in signals[:1]]
    return "; ".join(dict.fromkeys([*texts, *codes]))
