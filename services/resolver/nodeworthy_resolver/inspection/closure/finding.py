"""Following what is executed when an image is run: from the config's entrypoint to the programs and what they load."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from nodeworthy.requirements import Defect, Sureness, Unexplored
from nodeworthy_resolver.inspection.closure import faults
from nodeworthy_resolver.inspection.closure.executables import (
    DEFAULT_PATH,
    LINE_BYTES,
    MAX_INTERPRETERS,
    Shebang,
    look_at,
    look_up,
    parse_shebang,
)
from nodeworthy_resolver.inspection.closure.programs import load_program
from nodeworthy_resolver.inspection.closure.records import Loaded, Role, Start
from nodeworthy_resolver.inspection.closure.shell import SHELLS, find_command, parse_call
from nodeworthy_resolver.inspection.closure.wrappers import parse_env, unwrapped
from nodeworthy_resolver.inspection.elf import Elf
from nodeworthy_resolver.inspection.tree import Kind, NotKeptError, Tree, canonical

if TYPE_CHECKING:
    # A subject holds what is found here.
    from nodeworthy_resolver.inspection.subject import ImageConfig

_MAX_STEPS = 24
"""Programs that are followed one behind the other: tini, gosu, a script, its shell, env, the program are six."""
_MAX_SCRIPT = 256 * 1024
"""Bytes of a script."""

_FOREIGN = (b"MZ", b"PK\x03\x04", b"\0asm", b"\xca\xfe\xba\xbe", b"BC\xc0\xde")
"""What some nodes hand to an interpreter of theirs (binfmt_misc, WebAssembly runtimes): Windows programs, Java archives and
classes, WebAssembly, LLVM bitcode."""
_OF_THE_RUNTIME = ("/proc/", "/sys/", "/dev/", "/run/secrets/")
"""Folders that the container runtime mounts: what is there is not in the image."""
_OF_THE_DRIVER = re.compile(r"nvidia-(?:smi|debugdump|persistenced|cuda-mps-(?:control|server)|imex(?:-ctl)?)|npu-smi")
"""Programs that come with the node's driver (NVIDIA Container Toolkit, nvidia-container-cli list; Ascend Docker Runtime)."""
_LOADERS = re.compile(r"ld-linux[\w-]*\.so\.[0-9]+|ld64\.so\.[0-9]+|ld-[0-9.]+\.so|ld-musl-[\w-]+\.so\.1")
_EMULATORS = re.compile(
    r"qemu-(?:aarch64(?:_be)?|alpha|arm(?:eb)?|hexagon|hppa|i386|loongarch64|m68k|microblaze(?:el)?|mips(?:64|n32)?(?:el)?"
    r"|or1k|ppc(?:64(?:le)?)?|riscv(?:32|64)|s390x|sh4(?:eb)?|sparc(?:32plus|64)?|x86_64|xtensa(?:eb)?)(?:-static)?"
    r"|box(?:32|64|86)|FEXInterpreter"
)
"""They run the program that their arguments name (qemu, "User Mode Emulation")."""


@dataclass(frozen=True)
class _Step:
    """One program that is executed."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    by: str
    sureness: Sureness
    runs_text: bool = False
    """Whether a text without ``#!`` is handed to a shell."""
    may_be_function: bool = False
    """Whether it may be no file, but a function of a script that is sourced."""
    is_read: bool = False
    """Whether the file is read as a script by an interpreter, which asks for no permission to execute."""
    depth: int = 0
    """How many ``#!`` lines led from the executed file to this interpreter."""

    @property
    def search(self) -> str:
        return self.environment.get("PATH") or DEFAULT_PATH


@dataclass
class _Walk:
    """What was found so far."""

    tree: Tree
    elves: Mapping[str, Elf]
    folder: str
    chain: list[str] = field(default_factory=list)
    loaded: dict[str, Loaded] = field(default_factory=dict)
    defects: list[Defect] = field(default_factory=list)
    unexplored: list[Unexplored] = field(default_factory=list)

    def add(self, loaded: Loaded) -> None:
        known = self.loaded.get(loaded.path)
        if known is None or (known.sureness is not Sureness.CERTAIN and loaded.sureness is Sureness.CERTAIN):
            self.loaded[loaded.path] = loaded
        if loaded.role in {Role.PROGRAM, Role.INTERPRETER} and loaded.path not in self.chain:
            self.chain.append(loaded.path)

    def unknown(self, what: str, why: str) -> None:
        self.unexplored.append(Unexplored(what, why))


def find_start(tree: Tree, elves: Mapping[str, Elf], config: "ImageConfig") -> Start:
    """What is executed when an image is run as its config says, and what that loads.

    Entrypoint and command are one command line (OCI image specification, config.md); its program is looked for in PATH.
    Known programs that only execute their arguments, shells with a plain command and ``#!`` lines are followed.
    """
    arguments = (*config.entrypoint, *config.command)
    if config.platform is not None and config.platform.os != "linux":
        why = f"programs of {config.platform.os} are not followed"
        return Start(arguments=arguments, unexplored=(Unexplored("what is started", why),))
    walk = _Walk(tree, elves, canonical(config.working_folder or "/"))
    if not arguments:
        return _start_of_one(walk, has_config=config.platform is not None)
    step: _Step | None = _Step(arguments, dict(config.environment), "", Sureness.CERTAIN)
    for _ in range(_MAX_STEPS):
        if step is None:
            break
        step = _follow(walk, step)
    else:
        walk.unknown("what is started in the end", f"it is reached over more than {_MAX_STEPS} programs")
    return _started(walk, arguments)


def _started(walk: _Walk, arguments: tuple[str, ...]) -> Start:
    return Start(
        chain=tuple(walk.chain),
        loaded=tuple(walk.loaded.values()),
        arguments=arguments,
        defects=tuple(dict.fromkeys(walk.defects)),
        unexplored=tuple(dict.fromkeys((*walk.unexplored, *_doubts(walk.defects)))),
    )


def _doubts(defects: list[Defect]) -> Iterator[Unexplored]:
    """A fault of what a script most likely comes to may be one of all starts: then it is nowhere said to run well."""
    for defect in defects:
        if defect.sureness is not Sureness.CERTAIN:
            yield Unexplored("how the start goes on", f"only running it tells; most likely, {defect.text}")


def _start_of_one(walk: _Walk, *, has_config: bool) -> Start:
    """Without a config: the only file of the tree, if there is just one; what it loads is not there to be seen."""
    files = [path for path, entry in walk.tree.walk() if entry.kind is Kind.FILE][:2]
    if len(files) != 1 or has_config:
        walk.unknown("what is started", "neither an entrypoint nor a command is named")
        return _started(walk, ())
    (path,) = files
    elf = walk.elves.get(path)
    walk.add(Loaded(path, Role.PROGRAM, "", Sureness.CERTAIN))
    if elf is None or elf.interpreter or elf.needed:
        walk.unknown(f"what {path} loads", "only this one file was given")
    return _started(walk, (path,))


def _follow(walk: _Walk, step: _Step) -> _Step | None:
    """Looks at one program; gives the one that it executes, if that can be told."""
    path = _reach(walk, step)
    if path is None:
        return None
    elf = walk.elves.get(path)
    if elf is None:
        return _follow_text(walk, step, path)
    if step.is_read:
        walk.unknown(f"what {step.by} makes of {path}", "it is a program, which a shell does not read")
        return None
    walk.add(Loaded(path, Role.INTERPRETER if step.depth else Role.PROGRAM, step.by, step.sureness))
    linked = load_program(walk.tree, walk.elves, path, walk.folder, step.environment, step.sureness)
    for loaded in linked.loaded:
        walk.add(loaded)
    walk.defects.extend(linked.defects)
    walk.unexplored.extend(linked.unexplored)
    if any(defect.sureness is Sureness.CERTAIN for defect in linked.defects):
        return None
    return _follow_arguments(walk, step, path)


def _reach(walk: _Walk, step: _Step) -> str | None:
    """The file that a step executes; ``None``, and told, where there is none or it may not be executed."""
    name = step.arguments[0]
    if step.is_read:
        # A shell reads a script from the working folder, and looks in PATH only if none is there.
        found = look_at(walk.tree, name, walk.folder)
        if found.entry is None:
            found = look_up(walk.tree, name, walk.folder, step.search)
    else:
        found = look_up(walk.tree, name, walk.folder, step.search) if name else look_at(walk.tree, "/", "/")
    if found.entry is None and step.may_be_function:
        walk.unknown(f"what {step.by} runs", f"{name} is no program, and may be a function of a file that it sources")
        return None
    if found.entry is None:
        sureness = Sureness.PROBABLE if _may_be_there(walk, step, name) else step.sureness
        walk.defects.append(faults.program_missing(name, step.by, step.search, sureness))
        return None
    if found.entry.kind is Kind.FOLDER or not (found.is_executable or step.is_read):
        is_folder = found.entry.kind is Kind.FOLDER
        walk.defects.append(faults.not_executable(found.path, found.entry.mode, is_folder, step.sureness))
        return None
    if found.entry.kind is not Kind.FILE:
        walk.unknown(found.path, "it is no file")
        return None
    return found.path


def _may_be_there(walk: _Walk, step: _Step, name: str) -> bool:
    """Whether a program that is not in the image may be found all the same.

    A shell that holds programs itself may need no file for them, some are mounted, and runtimes differ in whether they look
    into folders of PATH that are relative.
    """
    if canonical(name, walk.folder).startswith(_OF_THE_RUNTIME) or _OF_THE_DRIVER.fullmatch(name.rpartition("/")[2]):
        return True
    if "/" in name:
        return False
    relative = (part for part in step.search.split(":") if not part.startswith("/"))
    return any(part in one for one in walk.chain for part in ("busybox", "toybox")) or any(
        look_at(walk.tree, f"./{part}/{name}", walk.folder).entry for part in relative
    )


def _follow_text(walk: _Walk, step: _Step, path: str) -> _Step | None:
    """A file that is no ELF file: a script, or nothing that the kernel executes."""
    try:
        start = walk.tree.read(path, 0, LINE_BYTES)
    except NotKeptError as error:
        walk.unknown(path, str(error))
        return None
    shebang = parse_shebang(start)
    if step.is_read:
        return _follow_script(walk, step, path)
    if shebang is not None:
        return _follow_shebang(walk, step, path, shebang)
    if start.startswith(_FOREIGN):
        walk.unknown(path, "it is a program of another system, which only some nodes execute")
        return None
    if step.runs_text and start:
        return replace(step, arguments=("/bin/sh", path, *step.arguments[1:]), by=path, sureness=Sureness.PROBABLE)
    seen = (
        "empty" if not start else "a broken ELF file" if start[:4] == b"\x7fELF" else "neither ELF nor a script with #!"
    )
    walk.defects.append(faults.no_program(path, seen, step.sureness))
    return None


def _follow_shebang(walk: _Walk, step: _Step, path: str, shebang: Shebang) -> _Step | None:
    walk.add(Loaded(path, Role.PROGRAM, step.by, step.sureness))
    if step.depth >= MAX_INTERPRETERS:
        walk.defects.append(faults.interpreters_circular(path, step.sureness))
        return None
    if look_at(walk.tree, shebang.interpreter, walk.folder).entry is None:
        walk.defects.append(faults.interpreter_missing(path, shebang.interpreter, step.sureness))
        return None
    argument = (shebang.argument,) if shebang.argument else ()
    called = path if "/" not in step.arguments[0] else step.arguments[0]
    return replace(
        step,
        arguments=(shebang.interpreter, *argument, called, *step.arguments[1:]),
        by=path,
        runs_text=False,
        depth=step.depth + 1,
    )


def _follow_arguments(walk: _Walk, step: _Step, path: str) -> _Step | None:
    """What a program executes, if it is one that is known to do just that."""
    name, arguments = step.arguments[0].rpartition("/")[2], step.arguments[1:]
    if path.endswith("/busybox") and name == "busybox" and arguments:
        name, arguments = arguments[0], arguments[1:]
    if name in SHELLS:
        return _follow_shell(walk, step, path, arguments)
    if name == "env":
        return _follow_env(walk, step, path, arguments)
    known = unwrapped(name, arguments)
    if known is None:
        if arguments and (_LOADERS.fullmatch(name) or _EMULATORS.fullmatch(name)):
            walk.unknown(f"what {path} runs", "it is a loader or emulator, and what its arguments name is not followed")
        return None
    wrapper, command = known
    if not command or "$" in command[0]:
        walk.unknown(f"what {path} starts", "no plain command is among its arguments")
        return None
    return _Step(command, step.environment, path, step.sureness, runs_text=wrapper.runs_text)


def _follow_env(walk: _Walk, step: _Step, path: str, arguments: tuple[str, ...]) -> _Step | None:
    parsed = parse_env(arguments)
    if parsed is None or not parsed.command or "$" in parsed.command[0]:
        walk.unknown(f"what {path} starts", "its options are not understood")
        return None
    environment = {**({} if parsed.is_cleared else step.environment), **parsed.assigned}
    command = parsed.command
    if command[0].endswith("\r"):
        walk.defects.append(faults.interpreter_missing(step.by or path, command[0], step.sureness))
        return None
    return _Step(command, environment, step.by or path, step.sureness, runs_text=True)


def _follow_shell(walk: _Walk, step: _Step, path: str, arguments: tuple[str, ...]) -> _Step | None:
    call = parse_call(arguments)
    sureness = Sureness.PROBABLE if call.is_login else step.sureness
    if call.script:
        arguments = (call.script, *call.arguments)
        return _Step(arguments, step.environment, path, sureness, is_read=True)
    if not call.text:
        walk.unknown(f"what {path} runs", "it is a shell that reads commands")
        return None
    return _follow_commands(walk, replace(step, sureness=sureness), call.text, call.arguments, path)


def _follow_script(walk: _Walk, step: _Step, path: str) -> _Step | None:
    walk.add(Loaded(path, Role.PROGRAM, step.by, step.sureness))
    try:
        text = walk.tree.read(path, 0, _MAX_SCRIPT).decode("utf-8", "replace")
    except NotKeptError as error:
        walk.unknown(path, str(error))
        return None
    return _follow_commands(walk, step, text, step.arguments[1:], path)


def _follow_commands(walk: _Walk, step: _Step, text: str, arguments: tuple[str, ...], path: str) -> _Step | None:
    """The program that a shell ends up running: CERTAIN where it does nothing else, otherwise PROBABLE."""
    command = find_command(text, arguments, step.environment)
    if command is None or command.words[0].startswith("-"):
        walk.unknown(f"what {path} runs", "its commands cannot be told without running it")
        return None
    sureness = step.sureness if command.is_only else Sureness.PROBABLE
    if sureness is not Sureness.CERTAIN:
        walk.unexplored.append(
            Unexplored(f"what else {path} runs", "it is a script; its last command is followed", decides=False)
        )
    is_held = command.may_be_function
    environment = {**step.environment, **command.loading}
    return _Step(command.words, environment, path, sureness, runs_text=True, may_be_function=is_held)
