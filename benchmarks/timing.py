"""How the benchmarks measure: medians of interleaved runs, and ratios within one run."""

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PROGRAM = Path(sys.executable).parent / "nodeworthy"


class Process(NamedTuple):
    """One finished run of a program."""

    wall: float
    """Seconds."""
    cpu: float
    """Seconds, user and system."""


def run_program(command: Sequence[object], folder: Path = ROOT) -> Process:
    """Run a program once and take its time; a failure of the program ends the benchmark."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, check=False)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in {0, 1, 3}:
        sys.exit(f"error: {command} ended with {done.returncode}\n{done.stderr.decode()}")
    return Process(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def compare_programs(commands: Mapping[str, Sequence[object]], *, runs: int, folder: Path = ROOT) -> None:
    """Print the median wall and processor time of each program, in turn, and the ratio to the first."""
    for command in commands.values():
        run_program(command, folder)  # warms the file cache
    taken: dict[str, list[Process]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            taken[name].append(run_program(command, folder))
    base = statistics.median(process.wall for process in next(iter(taken.values())))
    print(f"{'':44}   wall ms    cpu ms   ratio   (median of {runs})")
    for name, processes in taken.items():
        wall = statistics.median(process.wall for process in processes)
        cpu = statistics.median(process.cpu for process in processes)
        print(f"{name:44} {wall * 1e3:9.1f} {cpu * 1e3:9.1f} {wall / base:7.1f}")


def measure(name: str, work: Callable[[], object], *, runs: int, unit: float = 1e3, word: str = "ms") -> float:
    """Print the median and the smallest processor time of a function, and return the median in seconds."""
    work()
    taken = []
    for _ in range(runs):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    median = statistics.median(taken)
    print(f"{name:60} {median * unit:9.3f} {word}, least {min(taken) * unit:9.3f}   (cpu, median of {runs})")
    return median
