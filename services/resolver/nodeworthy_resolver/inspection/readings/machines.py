"""Machines: whether the programs that run are for the platform that the image claims, and what else they need.

The word size, byte order and machine of an ELF header decide whether a kernel executes a file at all (fs/binfmt_elf.c);
``binfmt_misc`` may hand a foreign one to an emulator. The platform that an image claims is held against a node elsewhere
(verdicts): here only what the files say beyond it.
"""

from collections.abc import Iterator

from nodeworthy.requirements import Defect, Effect, Evidence, Layer, Requirement, Sureness, Unexplored
from nodeworthy.requirements.conditions import has_instance, has_value
from nodeworthy.rules import Operator, Term
from nodeworthy_resolver.inspection.closure.records import Loaded, Role
from nodeworthy_resolver.inspection.elf import Elf
from nodeworthy_resolver.inspection.elf.machines import machine_name
from nodeworthy_resolver.inspection.subject import Outcome, Subject
from nodeworthy_resolver.inspection.tree import find_file

_NARROWER = {("amd64", "386"): "ia32", ("arm64", "arm"): "aarch32"}
"""Platform and machine of a program: the element of ``cpu.execution`` that says whether it runs there."""
_WIDER = frozenset({("386", "amd64"), ("arm", "arm64")})
"""A 64-bit program in an image of the 32-bit platform: many nodes that take the image are of 64 bits."""

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
        kind = (elf.machine, elf.architecture, loaded.sureness)
        if elf.architecture == claimed or kind in asked:
            continue
        asked.add(kind)
        if not claimed:
            requirements.extend(_own_machine(loaded, elf))
        elif ability := _NARROWER.get((claimed, elf.architecture)):
            requirements.append(_narrow(loaded.path, elf, ability, loaded.sureness))
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
    _add_helpers(subject, requirements, defects)
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


def _narrow(path: str, elf: Elf, ability: str, sureness: Sureness) -> Requirement:
    return Requirement(
        code="32-bit-programs",
        text=f"a kernel and CPU that run 32-bit programs ({ability})",
        layer=Layer.ARCHITECTURE,
        effect=Effect.DOES_NOT_START,
        sureness=sureness,
        match_features=(has_value("cpu.execution", ability, Operator.IN, "true"),),
        evidence=(_evidence(path, elf),),
        remedy="a 64-bit build, or a node whose kernel and CPU run 32-bit programs",
    )


def _mismatch(platform: str, loaded: Loaded, elf: Elf) -> Defect:
    name = machine_name(elf.machine, elf.architecture)
    return Defect(
        code="content-platform-mismatch",
        text=f"the image says it is for {platform}, but {loaded.path}, which it starts, is for {name}",
        effect=Effect.DOES_NOT_START,
        sureness=loaded.sureness,
        evidence=(_evidence(loaded.path, elf), Evidence(seen=platform, rule="architecture of the image's config")),
        remedy=f"build the program for {platform} (in Go: GOARCH=$TARGETARCH); until then take an older tag",
    )


def _add_helpers(subject: Subject, requirements: list[Requirement], defects: list[Defect]) -> None:
    """Programs of another machine that may be started later: those whose loader the image brings probably are."""
    main = next((elf.architecture for _, elf in _programs(subject)), "")
    foreign: dict[str, list[str]] = {}
    for path, elf in subject.elves.items():
        is_helper = elf.is_program and not elf.soname and elf.architecture not in {main, *_NEVER_TOLD}
        if is_helper and subject.start.sureness(path) is None and not is_sample(path):
            foreign.setdefault(elf.architecture, []).append(path)
    for architecture, paths in foreign.items() if main else ():
        usable = [path for path in paths if find_file(subject.tree, subject.elves[path].interpreter or "-")]
        if ability := _NARROWER.get((main, architecture)):
            sureness = Sureness.PROBABLE if usable else Sureness.ADVISORY
            path = (usable or paths)[0]
            requirements.append(_narrow(path, subject.elves[path], ability, sureness))
            continue
        named = ", ".join(paths[:_TOLD]) + (f" and {len(paths) - _TOLD} more" if len(paths) > _TOLD else "")
        defects.append(
            Defect(
                code="foreign-program",
                text=f"beside programs for {main} there are some for {architecture}: {named}",
                effect=Effect.DOES_NOT_START,
                sureness=Sureness.PROBABLE,
                evidence=tuple(_evidence(path, subject.elves[path]) for path in paths[:_TOLD]),
                remedy=f"if it is meant to run, take its build for {main}",
            )
        )
