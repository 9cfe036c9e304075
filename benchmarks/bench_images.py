"""Looking an image up in a registry with the referrers API and in one without, over loopback."""

import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from timing import PROGRAM, ROOT, compare_programs, run_program

from nodeworthy.platforms import Platform
from nodeworthy_resolver import oci

RUNS = 15
REGISTRIES = {"referrers API": "registry-referrers", "fallback tag": "registry-distribution"}


def run() -> None:
    """Build images, push them with the stock client, and measure looking them up and checking them."""
    built = subprocess.run(
        [sys.executable, ROOT / "tests/servers/build.py"], capture_output=True, text=True, check=True
    )
    programs = Path(built.stdout.strip())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_program([sys.executable, ROOT / "examples" / "build_images.py", folder])
        for title, program in REGISTRIES.items():
            with start(programs / program) as server:
                assert server.stdout
                assert server.stdin
                host = server.stdout.readline().decode().strip().removeprefix("http://")
                measure_registry(title, f"{host}/app:1", programs, folder)
                server.stdin.close()


def start(program: Path) -> subprocess.Popen[bytes]:
    """Start a registry that ends when its input is closed; what it logs is of no use here."""
    return subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def measure_registry(title: str, image: str, programs: Path, folder: Path) -> None:
    """Push the example with its specification, look it up in this process and check it with the program."""
    run_program([programs / "oras", "cp", "--from-oci-layout", "fits:latest", "--to-plain-http", image], folder)
    spec = ROOT / "examples" / "specs" / "fits.yaml"
    run_program([PROGRAM, "spec", "attach", image, spec, "--plain-http"], folder)
    taken = sorted(asyncio.run(look_up(image)) for _ in range(RUNS))
    print(f"{title}: one look-up in a running process {taken[RUNS // 2] * 1e3:.1f} ms wall (median of {RUNS})")
    commands: dict[str, list[object]] = {
        "python -c 'import aiohttp'": [sys.executable, "-c", "import aiohttp"],
        f"nodeworthy check, {title}": [PROGRAM, "check", image, "--plain-http"],
    }
    compare_programs(commands, runs=RUNS, folder=folder)


async def look_up(image: str) -> float:
    """Seconds for one look-up with a client of its own."""
    reference = oci.parse_reference(image)
    start = time.perf_counter()
    async with oci.open_store(reference, oci.RegistryAccess(plain_http=True)) as store:
        await oci.resolve_image(store, reference, [Platform("linux", "amd64")])
    return time.perf_counter() - start
