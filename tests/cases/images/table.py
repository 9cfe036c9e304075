"""How many rows of each category are foreseen, as a table for the documentation; ``make cases`` prints it.

Every verdict is made anew, as the tests make it.
"""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from tests.cases.images import (
    a_machines,
    a_platforms,
    b_emulation,
    b_variants,
    c_x86,
    c_x86_code,
    d_arm,
    e_pages,
    f_kernels,
    g_libraries,
    g_loaders,
    h_kernel,
    h_settings,
    i_runtime,
    j_gpu,
    j_gpu_code,
    k_windows,
)
from tests.cases.images.making import judged
from tests.cases.images.records import Case, Trial, Truth

from nodeworthy.verdicts import Answer, Verdict

HARD_NO = frozenset({Answer.INCOMPATIBLE, Answer.IMAGE_DEFECT})

CATEGORIES: Mapping[str, Sequence[Case]] = {
    "A. Platform lists, manifests, ELF machines": (*a_machines.CASES, *a_platforms.CASES),
    "B. Variants, 32-bit programs, emulation": (*b_variants.CASES, *b_emulation.CASES),
    "C. Instruction sets of x86, POWER and z": (*c_x86.CASES, *c_x86_code.CASES),
    "D. Instruction sets of Arm and RISC-V": d_arm.CASES,
    "E. Sizes of pages and address spaces": e_pages.CASES,
    "F. Kernels too old and too new": f_kernels.CASES,
    "G. C libraries and loaders of the image": (*g_libraries.CASES, *g_loaders.CASES),
    "H. Options of kernels, devices, settings": (*h_kernel.CASES, *h_settings.CASES),
    "I. Seccomp profiles and container runtimes": i_runtime.CASES,
    "J. GPUs": (*j_gpu.CASES, *j_gpu_code.CASES),
    "K. Builds of Windows": k_windows.CASES,
}
"""Titles to rows."""


class Caught(StrEnum):
    """How the failing image of a row is told."""

    CERTAIN = "certain"
    PROBABLE = "probable"
    UNKNOWN = "unknown"
    UNDECIDABLE = "not decidable"


def caught(case: Case, verdict: Verdict) -> Caught:
    """What the verdict on a row's first image says of its fault."""
    if case.undecidable:
        return Caught.UNDECIDABLE
    trial = case.trials[0]
    if trial.truth is Truth.RUNS or verdict.verdict in HARD_NO:
        return Caught.CERTAIN
    told = {finding.code for finding in verdict.findings if finding.state == "unmet"}
    return Caught.PROBABLE if trial.code in told else Caught.UNKNOWN


def is_wrong(trial: Trial, verdict: Verdict) -> bool:
    """Whether a hard verdict says what does not happen."""
    if verdict.verdict in HARD_NO:
        return trial.truth is Truth.RUNS
    return verdict.verdict is Answer.COMPATIBLE and trial.truth is Truth.FAILS


async def tabled() -> str:
    """The table, in Markdown: "run, and told so" counts those that run, "wrong hard" yes and no that are not so."""
    lines = [
        "| category | rows | certain | probable | unknown | not decidable | images | run, and told so | wrong hard |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for title, cases in CATEGORIES.items():
        counts: Counter[Caught] = Counter()
        judgements = [(case, trial, await _judged(trial)) for case in cases for trial in case.trials]
        counts.update(caught(case, verdict) for case, trial, verdict in judgements if trial is case.trials[0])
        wrong = sum(is_wrong(trial, verdict) for _, trial, verdict in judgements)
        running = [verdict.verdict for _, trial, verdict in judgements if trial.truth is Truth.RUNS]
        told = f"{running.count(Answer.COMPATIBLE)} of {len(running)}"
        numbers = [len(cases), *(counts[one] for one in Caught), len(judgements), told, wrong]
        lines.append(f"| {title} | " + " | ".join(map(str, numbers)) + " |")
    return "\n".join(lines)


async def _judged(trial: Trial) -> Verdict:
    with tempfile.TemporaryDirectory() as folder:
        return await judged(trial, Path(folder))


if __name__ == "__main__":
    print(asyncio.run(tabled()))  # noqa: T201 # it is what the script is for
