"""Root folders of Debian 12, put together from its packages as their installation does it, and nodes for them."""

from collections.abc import Iterable, Mapping

from tests.resolver.inspection.nodes import node
from tests.resolver.inspection.real_files import debian_tree
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy import platforms
from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.requirements import Inspection
from nodeworthy.verdicts import Answer
from nodeworthy.verdicts.inspected import doubt, judge_inspected, refusal
from nodeworthy_resolver.inspection.inspecting import inspect_tree
from nodeworthy_resolver.inspection.subject import ImageConfig

_MERGED = ("bin", "sbin", "lib", "lib64")
"""Folders that are links into /usr (https://wiki.debian.org/UsrMerge)."""
_LEVELS = {
    1: "CMOV CMPXCHG8 CX16 FXSR HYPERVISOR LAHF MMX NX SSE SSE2 SSE3 SYSCALL SYSEE X87",
    2: "POPCNT SSE4 SSE42 SSSE3",
    3: "AVX AVX2 BMI1 BMI2 F16C FMA3 LZCNT MOVBE OSXSAVE XSAVE",
    4: "AVX512BW AVX512CD AVX512DQ AVX512F AVX512VL",
}
"""x86-64 psABI, "Micro-Architecture Levels"; the first is what the recorded machine ``linux-talos1.6-kvm64`` has."""


def listed(text: str) -> dict[str, str]:
    """Packages by their paths in Debian's pool, each followed by its SHA-256."""
    words = text.split()
    return dict(zip(words[::2], words[1::2], strict=True))


def root_of(packages: Mapping[str, str]) -> dict[str, bytes | str]:
    """The files of packages, as :func:`listed` gives them."""
    found: dict[str, bytes | str] = {f"/{name}": f"-> usr/{name}" for name in _MERGED}
    for path, sha256 in packages.items():
        found |= {_merged(name): data for name, data in debian_tree(path, sha256).items()}
    return found


def _merged(path: str) -> str:
    return f"/usr{path}" if path.split("/")[1] in _MERGED else path


def node_of_level(level: int) -> Snapshot:
    """A virtual machine with a level of x86-64, from 1 on, and no instruction beyond it, and the kernel of Debian 12."""
    flags = {one for number in range(1, level + 1) for one in (*_LEVELS[number].split(), f"X86_64_V{number}")}
    return node(
        {
            "kernel.version": {"full": "6.1.0", "major": "6", "minor": "1", "revision": "0"},
            "memory.page": {"size": "4096"},
            "system.architecture": {"architecture": "amd64", "machine": "x86_64"},
            "cpu.execution": {"ia32": "true"},
        },
        cpu_cpuid=FeatureSet(flags=frozenset(flags)),
    )


def inspect_program(root: Mapping[str, bytes | str], program: str, others: Iterable[str] = ()) -> Inspection:
    """A root as an image that starts one of its programs; ``others`` are left out of it."""
    left_out = {*others} - {program}
    tree = MemoryTree({path: data for path, data in root.items() if path not in left_out})
    return inspect_tree(tree, ImageConfig(entrypoint=(program,), platform=platforms.parse("linux/amd64")))


def answer_of(inspection: Inspection, facts: Snapshot) -> tuple[Answer, str]:
    """What a verdict says of it, were nothing else known, and why."""
    result, _ = judge_inspected(inspection, facts)
    if no := refusal(result):
        return no
    why = doubt(result)
    return (Answer.UNKNOWN, why) if why else (Answer.COMPATIBLE, "")
