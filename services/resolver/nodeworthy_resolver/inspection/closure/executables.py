r"""What the kernel makes of a file that is executed: ``#!`` lines, and where a program of a bare name is looked for.

Linux, fs/binfmt_script.c (``load_script``)::

    #!/usr/bin/env -S python3 -u\n
      interpreter  one argument, up to the end of the line
"""

from typing import NamedTuple

from nodeworthy_resolver.inspection.tree import Entry, Kind, Tree, resolve

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where containerd, CRI-O and Docker look if the config's environment has no PATH."""

LINE_BYTES = 256
"""Of a file the kernel reads for the ``#!`` line: BINPRM_BUF_SIZE (since Linux 5.1; before, 128)."""
MAX_INTERPRETERS = 5
"""Scripts that may be interpreters of each other before the kernel answers ELOOP (fs/exec.c, exec_binprm)."""

_EXECUTABLE = 0o111


class Shebang(NamedTuple):
    """A ``#!`` line."""

    interpreter: str
    """As written: relative ones and those that end in a carriage return too."""
    argument: str
    """Everything behind it, one argument; empty where there is none."""


def parse_shebang(start: bytes) -> Shebang | None:
    """The ``#!`` line at the beginning of a file; ``None`` where the kernel takes it for none and answers ENOEXEC."""
    if start[:2] != b"#!":
        return None
    buffer = start[:LINE_BYTES].ljust(LINE_BYTES, b"\0")
    end = buffer.find(b"\n")
    if end < 0:
        # Without an end of line the interpreter's name must at least be whole.
        end = LINE_BYTES - 1
        if not any(byte in b" \t\0" for byte in buffer[2:end].lstrip(b" \t")):
            return None
    line = buffer[2:end].strip(b" \t")
    name = line.split(b"\0", 1)[0].replace(b"\t", b" ").split(b" ", 1)[0]
    if not name:
        return None
    rest = line[len(name) :].lstrip(b" \t").split(b"\0", 1)[0] if line[len(name) : len(name) + 1] != b"\0" else b""
    return Shebang(name.decode("utf-8", "surrogateescape"), rest.decode("utf-8", "surrogateescape"))


class Candidate(NamedTuple):
    """A path that was tried, and what stands there."""

    path: str
    """Canonical; empty where nothing is there."""
    entry: Entry | None

    @property
    def is_executable(self) -> bool:
        """Whether the kernel would execute it: a file with one of its three permission bits, which root needs too."""
        return self.entry is not None and self.entry.kind is Kind.FILE and bool(self.entry.mode & _EXECUTABLE)


def look_at(tree: Tree, path: str, folder: str) -> Candidate:
    """What a path with a slash names, seen from the working folder."""
    found = resolve(tree, path, folder)
    return Candidate(found or "", tree.entry(found) if found else None)


def look_up(tree: Tree, name: str, folder: str, search: str) -> Candidate:
    """The program of a name: a path, or the first executable file of that name in the folders of PATH.

    Where nothing is executable, the first file of the name, to be told.
    """
    if "/" in name:
        return look_at(tree, name, folder)
    tried = [look_at(tree, f"{one}/{name}", folder) for one in search.split(":") if one.startswith("/")]
    files = [one for one in tried if one.entry is not None and one.entry.kind is Kind.FILE]
    return next((one for one in files if one.is_executable), files[0] if files else Candidate("", None))
