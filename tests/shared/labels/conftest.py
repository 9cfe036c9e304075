"""What the tests of labels share: facts in few words, the policy with NFD's defaults, and the oracle's cases.

A test that takes ``labels_case`` runs once for each case of kind ``labels`` (tests/data/oracle/README.md).
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot
from nodeworthy.labels import LabelPolicy, compile_policy

ORACLE = Path(__file__).parents[2] / "data" / "oracle" / "cases.jsonl"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "labels_case" in metafunc.fixturenames:
        # Not splitlines: some cases hold other characters that Python takes for ends of lines.
        cases = (json.loads(line) for line in ORACLE.read_text().strip().split("\n"))
        chosen = [case for case in cases if case["kind"] == "labels"]
        metafunc.parametrize("labels_case", chosen, ids=[case["id"] for case in chosen])


@pytest.fixture(scope="session")
def policy() -> LabelPolicy:
    """NFD's settings."""
    return compile_policy()


@pytest.fixture(scope="session")
def facts_of() -> Callable[..., Snapshot]:
    """Makes facts: the sets that are there, those that are unknown; every other one is absent."""

    def make(contents: Mapping[str, FeatureSet] | None = None, *unknown: str) -> Snapshot:
        statuses = {name: SetStatus(SetState.UNKNOWN, "permission denied") for name in unknown}
        return Snapshot(contents or {}, statuses, catalogue=frozenset())

    return make
