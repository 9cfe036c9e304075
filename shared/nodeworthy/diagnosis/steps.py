"""The way to a cause, step by step: what each layer's chain asks, what was found, and the command for what is not done.

The chains: another architecture, an illegal instruction, a driver and its library, a crash, a pod without a node.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from nodeworthy.diagnosis.case import Case
from nodeworthy.diagnosis.instructions import Kind
from nodeworthy.diagnosis.records import Signal, Step
from nodeworthy.features import FeatureSet
from nodeworthy.requirements import Layer

SIGN, NODES, PLATFORMS, KERNEL_LOG, CORE = "sign", "nodes", "platforms", "kernel-log", "core"
"""Names in :attr:`nodeworthy.diagnosis.case.Case.found`."""

_ARCHITECTURE_SIGNS = frozenset(
    {
        "exec-format-error",
        "nested-exec-format-error",
        "python-exec-format-error",
        "library-exec-format-error",
        "malformed-platform",
        "no-manifest-for-platform",
        "platform-warning",
        "qemu-signal",
        "qemu-loader",
        "rosetta-loader",
    }
)


class _Way(NamedTuple):
    """One step before it is held against a case."""

    text: str
    find: Callable[[Case], str]
    command: str


def plan_steps(case: Case, signals: Sequence[Signal], layer: Layer | None) -> tuple[Step, ...]:
    """The steps of the chain of the most telling sign, or of the likely cause's layer; none where neither has one."""
    return tuple(_hold(way, case) for way in _choose(signals, layer))


def _choose(signals: Sequence[Signal], layer: Layer | None) -> tuple[_Way, ...]:
    codes = [one.code for one in signals]
    first = codes[0] if codes else ""
    if first.startswith("pending"):
        return ()
    if first in _ARCHITECTURE_SIGNS or layer is Layer.ARCHITECTURE:
        return _ARCHITECTURE
    if layer is Layer.ACCELERATOR or first == "device-not-found":
        return _ACCELERATOR
    if first == "illegal-instruction" or layer is Layer.INSTRUCTION_SET:
        return _INSTRUCTION
    return _CRASH if first in {"segmentation-fault", "bus-error"} else ()


def _hold(way: _Way, case: Case) -> Step:
    found = way.find(case)
    return Step(way.text, found, "" if found else _fill(way.command, case))


def _fill(command: str, case: Case) -> str:
    pod = case.pod.pod.metadata if case.pod else None
    names = {
        "IMAGE": case.image,
        "NODE": case.node,
        "NAMESPACE": pod.namespace if pod else "",
        "POD": pod.name if pod else "",
    }
    for name, value in names.items():
        command = command.replace(f"{{{name}}}", value or name)
    return command


def _sign(case: Case) -> str:
    return case.found.get(SIGN, "")


def _kept(name: str) -> Callable[[Case], str]:
    return lambda case: case.found.get(name, "")


def _node(case: Case) -> str:
    if not case.node and case.node_platform is None:
        return ""
    platform = case.node_platform or "of an architecture that nobody knows"
    return f"{case.node or 'the node'} is {platform}"


def _platform_list(case: Case) -> str:
    if case.verdict is not None and case.verdict.findings:
        finding = case.verdict.findings[0]
        offered = f", for {case.verdict.platform}" if case.verdict.platform else ""
        return f"{finding.code}: {case.verdict.reason}{offered}"
    return case.found.get(PLATFORMS, "")


def _instruction(case: Case) -> str:
    found = case.instruction
    if found is None or found.kind is Kind.UNKNOWN:
        return ""
    needs = f", which needs {', '.join(found.features)}" if found.features else ""
    return f"{found}{needs}"


def _flags_of_build(case: Case) -> str:
    if case.inspection is None:
        return ""
    told = [one.text for one in case.inspection.information if one.code == "compiled-for" or "GOAMD64" in one.text]
    return "; ".join(told[:3]) or "the image's files do not record them"


def _card(case: Case) -> str:
    content = case.facts.lookup("accel.device").content if case.facts is not None else None
    return _list(content, "vendor", "model", "health") if content else ""


def _drivers(case: Case) -> str:
    if case.facts is None:
        return ""
    conflict = case.facts.lookup("accel.conflict").content
    if conflict is not None and conflict.instances:
        return "; ".join(one.get("text", "") for one in conflict.instances[:3])
    content = case.facts.lookup("accel.driver").content
    return _list(content, "vendor", "where", "name", "version") if content else ""


def _list(content: FeatureSet, *names: str) -> str:
    told = [" ".join(one[name] for name in names if name in one) for one in content.instances or ()]
    return "; ".join(dict.fromkeys(told))


def _given_devices(case: Case) -> str:
    if case.pod is None:
        return ""
    return ", ".join(case.pod.devices_of(case.container)) or "the container was given no device"


def _library(case: Case) -> str:
    if case.inspection is None:
        return ""
    told = [f"{one.name} {one.version}" for one in case.inspection.software if one.kind == "cuda"]
    told += [one.text for one in case.inspection.requirements if one.layer is Layer.ACCELERATOR]
    return "; ".join(told[:3])


_DESCRIBE = "kubectl describe pod -n {NAMESPACE} {POD}"

_ARCHITECTURE = (
    _Way("the pod's status and events: is it this error", _sign, _DESCRIBE),
    _Way("the architectures of the nodes", _kept(NODES), "kubectl get nodes -L kubernetes.io/arch"),
    _Way("the node that the failing pod got, and what it is", _node, "kubectl get pod -n {NAMESPACE} {POD} -o wide"),
    _Way("whether the image's list has that platform", _platform_list, "nodeworthy platforms {IMAGE}"),
)
_INSTRUCTION = (
    _Way("the exit code or message: a signal", _sign, _DESCRIBE),
    _Way(
        "the kernel log of the node: trap invalid opcode",
        _kept(KERNEL_LOG),
        "dmesg | grep -A4 'invalid opcode\\|undefined instruction'  # on {NODE}; give the lines with --dmesg",
    ),
    _Way(
        "whether the program, taken out of the image, fails on that node again",
        _kept("extracted"),
        "nodeworthy inspect --extract ./files {IMAGE}  # then start it on {NODE}",
    ),
    _Way(
        "the instruction at the address, and whether the node's CPU has it",
        _instruction,
        "nodeworthy diagnose --image {IMAGE} --node {NODE} --dmesg LINE, or --core FILE",
    ),
    _Way("how it was built: -march=native, a high level", _flags_of_build, "nodeworthy inspect {IMAGE}"),
)
_ACCELERATOR = (
    _Way("whether the pod is on a node with the card", _card, "nodeworthy nodes -o wide {NODE}"),
    _Way(
        "whether the container sees the device nodes, and mounts are right",
        _given_devices,
        "kubectl exec -n {NAMESPACE} {POD} -- ls -l /dev",
    ),
    _Way("the runtime library in the image beside the driver on the node", _library, "nodeworthy inspect {IMAGE}"),
    _Way("which drivers the node has, and which one the program loads", _drivers, "nodeworthy features --only accel"),
    _Way(
        "the kernel log of the card's start",
        _kept(KERNEL_LOG),
        "dmesg | grep -i 'nvrm\\|xid\\|amdgpu'  # on {NODE}; give the lines with --dmesg",
    ),
)
_CRASH = (
    _Way("the exit code or message: a signal", _sign, _DESCRIBE),
    _Way(
        "where it crashed: the mapped file and address", _kept(CORE), "nodeworthy diagnose --image {IMAGE} --core FILE"
    ),
    _Way(
        "whether libraries differ from those of a build that runs",
        _kept("libraries"),
        "nodeworthy inspect --diff IMAGE_THAT_RUNS {IMAGE}",
    ),
)
