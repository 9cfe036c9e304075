"""Programs of this machine, held against what its own loader says that they load."""

import subprocess
from pathlib import Path

import pytest

from nodeworthy_resolver.inspection.closure import Role, find_start
from nodeworthy_resolver.inspection.elf import Elf, read_elf
from nodeworthy_resolver.inspection.folders import FolderTree
from nodeworthy_resolver.inspection.subject import ImageConfig

_PROGRAMS = ("bash", "ls", "curl", "git", "python3", "gcc", "openssl", "perl", "ssh", "systemctl", "tar", "xz")


class Elves(dict[str, Elf]):
    """The ELF files of this machine, read when they are asked for: an inspection has them all, but of an image."""

    def __missing__(self, path: str) -> Elf:
        elf = read_elf(Path(path).read_bytes())
        if elf is None:
            raise KeyError(path)
        self[path] = elf
        return elf

    def get(self, path: str, default: Elf | None = None) -> Elf | None:  # type: ignore[override]  # one kind of default
        try:
            return self[path]
        except (KeyError, OSError):
            return default


def _loaders_list(loader: str, program: str) -> set[str]:
    done = subprocess.run([loader, "--list", program], capture_output=True, text=True, check=True, env={})
    paths = (line.partition("=>")[2].split() for line in done.stdout.splitlines() if "=>" in line)
    return {str(Path(words[0]).resolve()) for words in paths if words}


@pytest.mark.parametrize("name", _PROGRAMS)
def test_a_program_loads_what_its_loader_says(name: str) -> None:
    tree, elves = FolderTree(Path("/")), Elves()
    start = find_start(tree, elves, ImageConfig((name,)))
    program = next((one for one in start.loaded if one.role is Role.PROGRAM), None)
    loader = next((one for one in start.loaded if one.role is Role.LOADER), None)
    if program is None or loader is None:
        pytest.skip(f"this machine has no {name} with a loader")
    found = {one.path for one in start.loaded if one.role in {Role.LIBRARY, Role.LOADER}}
    said = _loaders_list(loader.path, program.path)
    assert start.defects == ()
    assert found - {loader.path} == said - {loader.path}
