"""Programs that stop at a known instruction, built by the compiler of this machine."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

needs_gcc = pytest.mark.skipif(
    shutil.which("gcc") is None or shutil.which("objdump") is None, reason="no compiler for x86-64"
)

_SOURCE = """
int main(int count, char **arguments) {
    if (count < 9) __asm__ volatile("vpaddd %ymm0, %ymm1, %ymm2");
    else __builtin_trap();
    return 0;
}
"""


class Program(NamedTuple):
    """A program in a root folder, and the addresses of two of its instructions."""

    root: Path
    file: Path
    vector: int
    trap: int
    base: int
    """Where its code is mapped."""
    size: int

    def line(self, address: int) -> str:
        """What the kernel logs of a crash there."""
        where = f"ip:{address:x} sp:7ffd00 error:0 in app[{self.base:x}+{self.size:x}]"
        return f"traps: app[77] trap invalid opcode {where}"


def build(folder: Path) -> Program:
    """Compile it into ``folder/root/bin/app``."""
    file = folder / "root" / "bin" / "app"
    file.parent.mkdir(parents=True)
    (folder / "app.c").write_text(_SOURCE)
    flags = ["-O1", "-static", "-no-pie", "-Wl,-z,separate-code"]
    subprocess.run(["gcc", *flags, "-o", str(file), "app.c"], cwd=folder, check=True)
    listing = subprocess.run(["objdump", "-d", str(file)], check=True, capture_output=True, text=True).stdout
    main = listing[listing.index("<main>:") :]
    vector, trap = (int(_find(rf"([0-9a-f]+):.*{word}", main), 16) for word in ("vpaddd", "ud2"))
    headers = subprocess.run(["readelf", "-lW", str(file)], check=True, capture_output=True, text=True).stdout
    found = re.search(r"LOAD\s+0x\S+ 0x(\S+) 0x\S+ 0x(\S+) 0x\S+ R E", headers)
    assert found
    return Program(file.parents[1], file, vector, trap, int(found[1], 16), -(-int(found[2], 16) // 4096) * 4096)


def _find(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found, pattern
    return found[1]
