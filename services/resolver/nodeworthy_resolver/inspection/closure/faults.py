"""The faults that show when an image's start is followed, as people read them."""

from nodeworthy.requirements import Defect, Effect, Evidence, Sureness
from nodeworthy_resolver.inspection.closure.linking import Missing, Unusable
from nodeworthy_resolver.inspection.elf import Elf, NeededVersion
from nodeworthy_resolver.inspection.elf.machines import machine_name

_OVERRIDE = "or name another program when the container is started"


def _defect(code: str, text: str, sureness: Sureness, evidence: Evidence, remedy: str) -> Defect:
    return Defect(code, text, Effect.DOES_NOT_START, sureness, (evidence,), remedy)


def program_missing(name: str, by: str, search: str, sureness: Sureness) -> Defect:
    """A program is not in the image."""
    where = f" in any folder of PATH ({search})" if "/" not in name else ""
    return _defect(
        "program-missing",
        f"{name}, which {by or 'the config'} starts, is not in the image{where}",
        sureness,
        Evidence(by if by.startswith("/") else "", name, rule="execve(2): ENOENT"),
        f"copy it into the image, {_OVERRIDE}",
    )


def not_executable(path: str, mode: int, is_folder: bool, sureness: Sureness) -> Defect:  # says which text
    """A file that nobody may execute, or a folder."""
    return _defect(
        "program-not-executable",
        f"{path} is a folder" if is_folder else f"{path} may not be executed: its mode is {mode:04o}",
        sureness,
        Evidence(path, "a folder" if is_folder else f"mode {mode:04o}", rule="execve(2): EACCES, for root too"),
        f"chmod +x {path} when the image is built",
    )


def no_program(path: str, seen: str, sureness: Sureness) -> Defect:
    """Neither ELF nor a script: exec format error."""
    return _defect(
        "exec-format",
        f"{path} is {seen}: the kernel cannot execute it (exec format error)",
        sureness,
        Evidence(path, seen, 0, rule="execve(2): ENOEXEC"),
        "begin a script with #!/bin/sh, or start it by its interpreter; build a program whole",
    )


def interpreter_missing(script: str, interpreter: str, sureness: Sureness) -> Defect:
    """The program behind ``#!`` is not there."""
    if interpreter.endswith("\r"):
        return _defect(
            "carriage-return",
            f"the first line of {script} ends in a carriage return, so it asks for a program {interpreter!r}",
            sureness,
            Evidence(script, f"#!{interpreter}".encode("unicode_escape").decode(), 0, rule="fs/binfmt_script.c"),
            "write the script with Unix line ends (dos2unix)",
        )
    return _defect(
        "interpreter-missing",
        f"{script} asks for {interpreter}, which is not in the image",
        sureness,
        Evidence(script, f"#!{interpreter}", 0, rule="fs/binfmt_script.c: ENOENT"),
        "install the interpreter, or name one that the image has",
    )


def interpreters_circular(path: str, sureness: Sureness) -> Defect:
    """Scripts are each other's interpreters."""
    return _defect(
        "interpreter-loop",
        f"{path} and its interpreters are scripts of each other",
        sureness,
        Evidence(path, "#!", 0, rule="fs/exec.c: ELOOP after 5 interpreters"),
        "name a program behind #!",
    )


def loader_missing(program: str, elf: Elf, sureness: Sureness) -> Defect:
    """PT_INTERP is not there: "no such file or directory" for a file that exists."""
    kind = "musl" if "/ld-musl-" in elf.interpreter else "glibc" if "/ld" in elf.interpreter else ""
    hint = f" (it was built for {kind})" if kind else ""
    return _defect(
        "loader-missing",
        f"{program} asks for the loader {elf.interpreter}, which is not in the image{hint}",
        sureness,
        Evidence(program, elf.interpreter, rule="PT_INTERP: execve(2) answers ENOENT"),
        "build it statically or for the libc of the image, or take a base image with that libc",
    )


def loader_unusable(program: str, loader: str, why: str, sureness: Sureness) -> Defect:
    """PT_INTERP is there and the kernel does not take it."""
    return _defect(
        "loader-unusable",
        f"{program} asks for the loader {loader}, and {why}",
        sureness,
        Evidence(loader, why, 0, rule="PT_INTERP: execve(2) answers ELIBBAD or EACCES"),
        "do not mix files of several platforms or libcs in one image",
    )


def library_missing(missing: Missing, needing: Elf, sureness: Sureness) -> Defect:
    """DT_NEEDED without a file that the loader takes."""
    what = f"{missing.by} needs {missing.name}, which the loader does not find"
    if missing.others:
        what += f"; {', '.join(missing.others[:3])} is there for another machine than {machine_of(needing)}"
    elif missing.is_configured:
        what += "; it is in a folder of /etc/ld.so.conf, but /etc/ld.so.cache does not list it"
    return _defect(
        "library-other-machine" if missing.others else "library-missing",
        what,
        Sureness.PROBABLE if missing.is_configured or missing.is_open else sureness,
        Evidence(missing.by, missing.name, rule="DT_NEEDED: cannot open shared object file"),
        "run ldconfig in the last stage of the build" if missing.is_configured else "install the library's package",
    )


def library_unusable(unusable: Unusable, sureness: Sureness) -> Defect:
    """A file that is taken for a library and is none."""
    return _defect(
        "library-unusable",
        f"{unusable.by} loads {unusable.path}, and {unusable.why}",
        sureness,
        Evidence(unusable.path, unusable.why, 0, rule="the loader takes the first file of the name"),
        "install the library for the image's own platform",
    )


def version_missing(path: str, version: NeededVersion, library: str, newest: str, sureness: Sureness) -> Defect:
    """A needed version of symbols that the library of the image does not define."""
    return _defect(
        "symbol-version-missing",
        f"{path} needs {version.name} of {version.library}; {library} has {newest or 'none of its kind'}",
        sureness,
        Evidence(path, version.name, rule=f"version `{version.name}' not found: Elf_Vernaux against Elf_Verdef"),
        "build on the release on which it runs, or take a newer base image",
    )


def symbol_missing(path: str, name: str, count: int, sureness: Sureness) -> Defect:
    """A symbol that musl looks up at the start and does not find."""
    more = f" and {count - 1} more" if count > 1 else ""
    return _defect(
        "symbol-missing",
        f"{path} needs the symbol {name}{more}, which none of the libraries that it loads has",
        sureness,
        Evidence(
            path, name, symbol=name, rule="musl binds everything at the start: Error relocating: symbol not found"
        ),
        "build it for musl, or take a base image with glibc",
    )


def machine_of(elf: Elf) -> str:
    """The machine of a file as a person calls it."""
    return machine_name(elf.machine, elf.architecture)
