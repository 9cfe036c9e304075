"""What a library costs the process that imports it: time and resident memory, each in an interpreter of its own."""

import statistics
import subprocess
import sys

RUNS = 7

MODULES = (
    "asyncio",
    "msgspec",
    "msgpack",
    "nodeworthy_detector.discovery",
    "nodeworthy.rules",
    "pydantic; pydantic.create_model('Rule', name=(str, ...))",
    "yaml",
    "re2",
    "click",
    "argparse",
    "aiohttp",
    "oras.client",
    "cpuinfo",
)

CODE = """
import resource, time
start = time.perf_counter()
import {module}
took = time.perf_counter() - start
resident = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
print(took, resident)
"""


def run() -> None:
    """Measure each module against an interpreter that imports nothing."""
    _, bare = weigh("sys")
    print(f"{'module':40}  import ms    resident MB over a bare interpreter's {bare / 1e6:.1f}")
    for module in MODULES:
        took, resident = weigh(module)
        print(f"{module:40} {took * 1e3:10.1f} {(resident - bare) / 1e6:14.1f}")


def weigh(module: str) -> tuple[float, float]:
    """The least import time in seconds, and the median resident size in bytes."""
    runs = [
        subprocess.run([sys.executable, "-c", CODE.format(module=module)], capture_output=True, text=True, check=True)
        for _ in range(RUNS)
    ]
    pairs = [tuple(map(float, done.stdout.split())) for done in runs]
    return min(took for took, _ in pairs), statistics.median(resident for _, resident in pairs)
