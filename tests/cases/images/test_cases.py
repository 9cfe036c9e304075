"""Every case: the image is built, looked up, inspected and judged against its node, and so are its twins."""

import shutil
from pathlib import Path

import pytest
from tests.cases.images.making import judged
from tests.cases.images.records import Case, Trial, Truth
from tests.cases.images.table import CATEGORIES, HARD_NO

from nodeworthy.verdicts import Answer

CASES = [case for cases in CATEGORIES.values() for case in cases]
TRIALS = [
    pytest.param(case, trial, id=f"{case.id}-{number}" if number else case.id)
    for case in CASES
    for number, trial in enumerate(case.trials)
]


@pytest.mark.parametrize(("case", "trial"), TRIALS)
async def test_a_case_has_its_verdict(case: Case, trial: Trial, tmp_path: Path) -> None:
    if case.needs_gcc and shutil.which("gcc") is None:
        pytest.skip("its program is built with gcc")
    verdict = await judged(trial, tmp_path)
    assert (verdict.verdict, trial.what) == (trial.verdict, trial.what), verdict.reason
    if trial.code:
        assert trial.code in {finding.code for finding in verdict.findings if finding.state != "met"}, verdict.findings


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_case_has_a_twin_with_another_verdict_and_no_wrong_hard_one(case: Case) -> None:
    assert len({trial.verdict for trial in case.trials[:2]}) == 2
    for trial in case.trials:
        assert not (trial.truth is Truth.RUNS and trial.verdict in HARD_NO), trial.what
        assert not (trial.truth is Truth.FAILS and trial.verdict is Answer.COMPATIBLE), trial.what
