"""Machines: whether the programs that run are for the platform that the image claims, and what else they need.

The word size, byte order and machine of an ELF header decide whether a kernel executes a file at all (fs/binfmt_elf.c);
``binfmt_misc`` may hand a foreign one to an emulator. The platform that an image claims is held against a node elsewhere
(verdicts): here only what the files say beyond it.
"""

import re
from collections.abc import Iterator
from posixpath import basename

import msgspec

from nodeworthy.requirements import OTHER_MACHINE, Defect, Effect, Evidence, Layer, Requirement, Sureness, Unexplored
from nodeworthy.requirements.conditions import has_instance, has_value
from nodeworthy.rules import Operator, Term
from nodeworthy_resolver.inspection.closure.records import Loaded, Role
from nodeworthy_resolver.inspection.elf import Elf, FileKind
from nodeworthy_resolver.inspection.elf.machines import machine_name
from nodeworthy_resolver.inspection.readings.findings import weaker
from nodeworthy_resolver.inspection.subject import Outcome, Subject
from nodeworthy_resolver.inspection.tree import find_file

_NARROWER = {("amd64", "386"): "ia32", ("arm64", "arm"): "aarch32"}
"""Platform and machine of a program: the element of ``cpu.execution`` that says whether it runs there."""
_WIDER = frozenset({("386", "amd64"), ("arm", "arm64")})
"""A 64-bit program in an image of the 32-bit platform: many nodes that take the image are of 64 bits."""

_OLD_WORLD_LOADER = "ld.so.1"
_NEW_WORLD_KERNEL = "5.19"
"""The first Linux with LoongArch; the old world's is 4.19. The two differ in the loader's name and in system calls ("The old
world and the new world", areweloongyet.com), and some kernels of distributions run both."""

_UNTOLD = frozenset(
    {
        ("amd64", "amd64p32"),
        ("mips64", "mips"),
        ("mips64", "mips64p32"),
        ("mips64le", "mipsle"),
        ("mips64le", "mips64p32le"),
        ("ppc64", "ppc"),
        ("riscv64", "riscv"),
        ("s390x", "s390"),
        ("sparc64", "sparc"),
    }
)
"""32-bit programs of 64-bit platforms that some kernels run, and of which no set of facts tells."""

_NAMES_MACHINE = re.compile(
    r"(?i)(?<![a-z0-9])(?:x86[_-]?64|amd64|x64|i[3-6]86|x86|386|ia32|aarch64|arm64|armv?[5-8]?\w{0,4}|ppc64\w{0,2}|powerpc\w*"
    r"|s390x?|riscv\w*|mips\w*|loong\w*|sparc\w*|wow64|avr|bpf|cortex\w*)(?![a-z0-9])"
)
"""A path that says for which machine its file is: whoever starts it chooses."""
_TOLD = 3
"""Files that are named of many."""
_SAMPLES = ("/testdata/", "/tests/", "/test/")
"""Folders of files that are examples and never run."""
_NEVER_TOLD = frozenset({"", "amd64p32"})
"""Programs for processors inside of cards and the like; x32, of which no set of facts tells."""


def read_machines(subject: Subject) -> Outcome:
    """The machines of the programs that run, and of the programs beside them."""
    requirements: list[Requirement] = []
    defects: list[Defect] = []
    unexplored: list[Unexplored] = []
    claimed = subject.config.platform.architecture if subject.config.platform else ""
    asked: set[tuple[int, str, Sureness]] = set()
    for loaded, elf in _programs(subject):
        requirements.extend(_world(loaded, elf))
        kind = (elf.machine, elf.architecture, loaded.sureness)
        if elf.architecture == claimed or kind in asked:
            continue
        asked.add(kind)
        if not claimed:
            requirements.extend(_own_machine(loaded, elf))
        elif ability := _NARROWER.get((claimed, elf.architecture)):
            requirements.extend(_narrow(loaded.path, elf, ability, loaded.sureness))
        elif (claimed, elf.architecture) in _WIDER:
            requirements.append(_native(loaded.path, elf, loaded.sureness))
        elif (claimed, elf.architecture) in _UNTOLD:
            unexplored.append(Unexplored(f"whether the kernel runs {loaded.path}", f"it is for {elf.architecture}"))
        elif loaded.path.rpartition("/")[2].startswith("qemu-"):
            unexplored.append(
                Unexplored(f"what {loaded.path} runs", "it is an emulator for programs of another machine")
            )
        else:
            defects.append(_mismatch(str(subject.config.platform), loaded, elf))
            if loaded.sureness is not Sureness.CERTAIN:
                unexplored.append(Unexplored(f"whether {loaded.by} executes {loaded.path}", defects[-1].text))
    _add_helpers(subject, requirements, defects, unexplored)
    return Outcome(tuple(requirements), tuple(defects), unexplored=tuple(unexplored))


def is_sample(path: str) -> bool:
    """Whether a file is an example, for tests of other programs."""
    return any(part in path for part in _SAMPLES)


def _programs(subject: Subject) -> Iterator[tuple[Loaded, Elf]]:
    """The ELF programs that run, in order."""
    for loaded in subject.start.loaded:
        elf = subject.elves.get(loaded.path)
        if elf is not None and loaded.role in {Role.PROGRAM, Role.INTERPRETER}:
            yield loaded, elf


def _evidence(path: str, elf: Elf) -> Evidence:
    name = machine_name(elf.machine, elf.architecture)
    return Evidence(path, f"{name}, {elf.bits} bits", 18, rule="e_machine of the ELF header (gABI)")


def _own_machine(loaded: Loaded, elf: Elf) -> Iterator[Requirement]:
    """Where nothing claims a platform: the program's machine, natively or by an emulator; of the latter nobody is sure."""
    yield _native(loaded.path, elf, Sureness.PROBABLE)
    yield Requirement(
        code="machine",
        text=f"a node that executes programs for {machine_name(elf.machine, elf.architecture)}",
        layer=Layer.ARCHITECTURE,
        effect=Effect.DOES_NOT_START,
        sureness=loaded.sureness,
        match_any=(*((way,) for way in _machine_terms(elf)), (_emulated(elf),)),
        evidence=(_evidence(loaded.path, elf),),
        remedy="a build for the node's own architecture",
    )


def _machine_terms(elf: Elf) -> tuple[Term, ...]:
    """The nodes that execute a program themselves, one way each."""
    same = has_value("system.architecture", "architecture", Operator.IN, elf.architecture or str(elf.machine))
    ability = next((word for (_, narrow), word in _NARROWER.items() if narrow == elf.architecture), "")
    return (same, has_value("cpu.execution", ability, Operator.IN, "true")) if ability else (same,)


def _emulated(elf: Elf) -> Term:
    wanted = {"architecture": (Operator.IN, elf.architecture or str(elf.machine)), "enabled": (Operator.IN, "true")}
    return has_instance("kernel.binfmt", {name: (one[0], one[1]) for name, one in wanted.items()})


def _native(path: str, elf: Elf, sureness: Sureness) -> Requirement:
    return Requirement(
        code="native-machine",
        text=f"a node of {machine_name(elf.machine, elf.architecture)}, for no emulator to stand between",
        layer=Layer.ARCHITECTURE,
        effect=Effect.DOES_NOT_START,
        sureness=sureness,
        match_any=tuple((way,) for way in _machine_terms(elf)),
        evidence=(_evidence(path, elf),),
        remedy="a build for the node's own architecture",
    )


def _narrow(path: str, elf: Elf, ability: str, sureness: Sureness) -> Iterator[Requirement]:
    """A 32-bit program on a 64-bit platform: run by the CPU, or by an emulator; of the latter nobody is sure.

    qemu-i386 is registered where the CPU is none of Intel's kind only (qemu, scripts/qemu-binfmt-conf.sh).
    """
    runs = has_value("cpu.execution", ability, Operator.IN, "true")
    is_foreign = has_value("system.architecture", "architecture", Operator.NOT_IN, "amd64")
    emulated = (is_foreign, _emulated(elf)) if elf.architecture == "386" else (_emulated(elf),)
    text = f"a kernel and CPU that run 32-bit programs ({ability})"
    native = Requirement(
        code="32-bit-programs",
        text=text,
        layer=Layer.ARCHITECTURE,
        effect=Effect.DOES_NOT_START,
        sureness=weaker(Sureness.PROBABLE, sureness),
        match_features=(runs,),
        evidence=(_evidence(path, elf),),
        remedy="a 64-bit build, or a node whose kernel and CPU run 32-bit programs",
    )
    yield native
    if sureness is Sureness.CERTAIN:
        ways = ((runs,), emulated)
        yield msgspec.structs.replace(
            native, text=f"{text}, or an emulator for them", sureness=sureness, match_features=(), match_any=ways
        )


def _world(loaded: Loaded, elf: Elf) -> Iterator[Requirement]:
    """LoongArch's two ABIs, by the loader of a program: each wants a kernel of its own time."""
    if elf.architecture != "loong64" or not elf.interpreter:
        return
    is_old = elf.interpreter.rpartition("/")[2] == _OLD_WORLD_LOADER
    operator, words = (Operator.LT, "before") if is_old else (Operator.GE, "from")
    yield Requirement(
        code="loongarch-world",
        text=f"a kernel {words} {_NEW_WORLD_KERNEL}, of LoongArch's {'old' if is_old else 'new'} world",
        layer=Layer.KERNEL_AND_LIBRARIES,
        effect=Effect.DOES_NOT_START,
        sureness=weaker(Sureness.PROBABLE, loaded.sureness),
        match_features=(has_value("kernel.version", "full", operator, _NEW_WORLD_KERNEL, kind="version"),),
        evidence=(Evidence(loaded.path, elf.interpreter, rule="PT_INTERP: ld.so.1 is the old world's loader"),),
        remedy="an image for the node's world, or a kernel that runs both",
    )


def _mismatch(platform: str, loaded: Loaded, elf: Elf) -> Defect:
    name = machine_name(elf.machine, elf.architecture)
    return Defect(
        code=OTHER_MACHINE,
        text=f"the image says it is for {platform}, but {loaded.path}, which it starts, is for {name}",
        effect=Effect.DOES_NOT_START,
        sureness=loaded.sureness,
        evidence=(_evidence(loaded.path, elf), Evidence(seen=platform, rule="architecture of the image's config")),
        remedy=f"build the program for {platform} (in Go: GOARCH=$TARGETARCH); until then take an older tag",
    )


def _add_helpers(
    subject: Subject, requirements: list[Requirement], defects: list[Defect], unexplored: list[Unexplored]
) -> None:
    """Programs and libraries of another machine that may be used later.

    32-bit programs whose loader the image brings probably are. Of others nobody knows, unless the path names the machine or
    there is a file of the same name for what starts, as in bundles for several platforms.
    """
    main = next((elf.architecture for _, elf in _programs(subject)), "")
    natives = {basename(path) for path, elf in subject.elves.items() if elf.architecture == main}
    for (architecture, kind), paths in _foreign(subject, main).items() if main else ():
        if ability := _NARROWER.get((main, architecture)):
            usable = [path for path in paths if find_file(subject.tree, subject.elves[path].interpreter or "-")]
            if kind == "program":
                sureness = Sureness.PROBABLE if usable else Sureness.ADVISORY
                path = (usable or paths)[0]
                requirements.extend(_narrow(path, subject.elves[path], ability, sureness))
            continue
        stray = next((one for one in paths if not _NAMES_MACHINE.search(one) and basename(one) not in natives), "")
        if stray:
            unexplored.append(Unexplored(f"whether what starts uses {stray}", f"it is for {architecture}"))
        if stray or kind == "program":
            defects.append(_beside(subject, kind, paths, architecture, main))


def _foreign(subject: Subject, main: str) -> dict[tuple[str, str], list[str]]:
    """The files of other machines than that of what starts, by architecture and kind; none that runs at the start."""
    found: dict[tuple[str, str], list[str]] = {}
    for path, elf in subject.elves.items():
        if elf.kind not in {FileKind.PROGRAM, FileKind.SHARED} or elf.architecture in {main, *_NEVER_TOLD}:
            continue
        if subject.start.sureness(path) is None and not is_sample(path):
            kind = "program" if elf.is_program and not elf.soname else "library"
            found.setdefault((elf.architecture, kind), []).append(path)
    return found


def _beside(subject: Subject, kind: str, paths: list[str], architecture: str, main: str) -> Defect:
    named = ", ".join(paths[:_TOLD]) + (f" and {len(paths) - _TOLD} more" if len(paths) > _TOLD else "")
    return Defect(
        code=f"foreign-{kind}",
        text=f"beside files for {main} there are some for {architecture}: {named}",
        effect=Effect.DOES_NOT_START if kind == "program" else Effect.CRASHES,
        sureness=Sureness.PROBABLE,
        evidence=tuple(_evidence(path, subject.elves[path]) for path in paths[:_TOLD]),
        remedy=f"if they are meant to run, take their builds for {main}",
    )
