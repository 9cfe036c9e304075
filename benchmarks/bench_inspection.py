"""Reading the layers of an image: bytes a second by compression, memory for a large image, an image of a million files."""

import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import zstandard

from nodeworthy_resolver.inspection.layers import Layer, read_layers
from nodeworthy_resolver.oci.digests import Digest

MIB = 1024 * 1024
PROGRAMS, PROGRAM_BYTES = 4, 32 * MIB
"""Of the image for bytes a second."""
LARGE_BYTES = 64 * MIB
FEW, MANY = 100_000, 1_000_000


def run() -> None:
    """Write layers, and read each in a process of its own, whose memory is then the reading's."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain = folder / "plain.tar"
        write_programs(plain, PROGRAMS, PROGRAM_BYTES)
        compress(plain, folder)
        size = plain.stat().st_size
        for path in (plain, folder / "gzip", folder / "zstd"):
            seconds, memory = measure("nodeworthy", path)
            told = f"{size / MIB / seconds:6.0f} MiB/s unpacked, {memory:4.0f} MiB of memory"
            print(f"{path.name:9} {path.stat().st_size / MIB:5.0f} of {size / MIB:.0f} MiB: {told}")
        seconds, _ = measure("tarfile", folder / "gzip")
        print(f"{'tarfile':9} of the standard library, names alone, gzip: {size / MIB / seconds:6.0f} MiB/s")
        write_programs(plain, 32, LARGE_BYTES)
        seconds, memory = measure("nodeworthy", plain)
        print(f"2 GiB of libraries: {seconds:5.1f} s, peak memory {memory:4.0f} MiB")
        for reader, count in (("tarfile", FEW), ("nodeworthy", FEW), ("nodeworthy", MANY)):
            write_files(plain, count)
            seconds, memory = measure(reader, plain)
            print(f"{count:,} files, {reader}: {seconds:5.1f} s, peak memory {memory:4.0f} MiB")


def measure(reader: str, path: Path) -> tuple[float, float]:
    """Seconds of processor time and MiB of memory at most, of a process that reads a layer and walks its tree."""
    done = subprocess.run([sys.executable, __file__, reader, path], capture_output=True, text=True, check=True)
    seconds, memory = done.stdout.split()
    return float(seconds), float(memory)


def write_programs(path: Path, count: int, size: int) -> None:
    """A layer with libraries; half of each can be compressed."""
    content = b"\x7fELF" + b"".join(os.urandom(2048) + bytes(2048) for _ in range(size // 4096))
    with tarfile.open(path, "w") as archive:
        for number in range(count):
            entry = tarfile.TarInfo(f"usr/lib/lib{number}.so")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def write_files(path: Path, count: int) -> None:
    """A layer with many small files, a hundred in each folder."""
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as archive:
        for number in range(count):
            entry = tarfile.TarInfo(f"usr/lib/python3/site-packages/package{number // 100}/module_{number}.py")
            entry.size = 10
            archive.addfile(entry, io.BytesIO(b"import os\n"))


def compress(plain: Path, folder: Path) -> None:
    """The same layer, with gzip and zstd."""
    with plain.open("rb") as source, gzip.open(folder / "gzip", "wb", compresslevel=6) as target:
        while piece := source.read(MIB):
            target.write(piece)
    with plain.open("rb") as source, (folder / "zstd").open("wb") as target:
        zstandard.ZstdCompressor(level=3).copy_stream(source, target)


def read(path: Path) -> int:
    """The number of paths that a layer leaves."""
    with path.open("rb") as file:
        digest = Digest(f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}")
    before = time.process_time()
    with read_layers([Layer("layer", lambda: closing(pieces(path)), digest)]) as tree:
        count = sum(1 for _ in tree.walk())
    report(before)
    return count


def pieces(path: Path) -> Generator[bytes, None, None]:
    with path.open("rb") as file:
        while piece := file.read(256 * 1024):
            yield piece


def read_names(path: Path) -> int:
    """The same, for the standard library's reader, which keeps every header."""
    before = time.process_time()
    with tarfile.open(path, "r|*") as archive:
        count = sum(1 for _ in archive)
    report(before)
    return count


def report(before: float) -> None:
    seconds = time.process_time() - before
    # Not getrusage: what it tells goes on counting from the process that started this one.
    status = Path("/proc/self/status").read_text()
    print(seconds, int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024)


if __name__ == "__main__":
    {"nodeworthy": read, "tarfile": read_names}[sys.argv[1]](Path(sys.argv[2]))
