"""Reading the instructions of files: how many megabytes of code a second."""

import random
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from timing import measure

from nodeworthy_resolver.inspection.closure.records import Role
from nodeworthy_resolver.inspection.elf import read_elf
from nodeworthy_resolver.inspection.instructions.arm64 import Arm64
from nodeworthy_resolver.inspection.instructions.code import Code
from nodeworthy_resolver.inspection.instructions.machines import find_machine
from nodeworthy_resolver.inspection.instructions.starting import entry_points
from nodeworthy_resolver.inspection.instructions.surely import Walk
from nodeworthy_resolver.inspection.instructions.usage import count_usage

RUNS = 5
WORDS = 1_000_000


def run() -> None:
    """Count the functions of this machine's files, follow the interpreter from its entry point, scan words of AArch64."""
    for path in files():
        content = path.read_bytes()
        elf = read_elf(content)
        machine = find_machine(elf.architecture) if elf else None
        if elf is None or machine is None:
            continue
        size = sum(segment.file_size for segment in elf.loads() if segment.is_executable)
        seconds = measure(f"count {path.name}", lambda: count_usage(Code(content, elf, machine)), runs=RUNS)  # noqa: B023 # run now
        print(f"  {size / 1e6:.1f} MB of code, {size / 1e6 / seconds:.1f} MB/s")
    follow(Path(sys.executable).resolve())
    scan_words()


def files() -> Iterator[Path]:
    """The C library, and NumPy's largest modules where it is installed."""
    yield from Path("/lib").glob("*-linux-gnu/libc.so.6")
    yield from sorted(Path(sys.prefix).glob("lib/python*/site-packages/numpy/_core/_multiarray_umath*.so"))
    yield from sorted(Path(sys.prefix).glob("lib/python*/site-packages/numpy.libs/*openblas*.so"))


def follow(path: Path) -> None:
    """What surely runs of one program."""
    content = path.read_bytes()
    elf = read_elf(content)
    machine = find_machine(elf.architecture) if elf else None
    if elf and machine:
        code = Code(content, elf, machine)
        starts = entry_points(code, Role.PROGRAM)
        measure(
            f"follow {path.name} from its entry point", lambda: [Walk(code).summary(one) for one in starts], runs=RUNS
        )


def scan_words() -> None:
    """Random words, of which more need a feature than in real code."""
    choose = random.Random(1)
    code = memoryview(struct.pack(f"<{WORDS}I", *(choose.getrandbits(32) | 0x10000 for _ in range(WORDS))))
    borders = [(first, first + 400) for first in range(0, 4 * WORDS, 400)]
    seconds = measure("scan words of AArch64", lambda: list(Arm64().styles(code, 0, borders)), runs=RUNS)
    print(f"  {4 * WORDS / 1e6 / seconds:.1f} MB/s")
