"""Oracle cases as parameters, and what the tests of the rule language share.

A test that takes ``rule_case``, ``compat_case`` and so on, for one of :data:`KINDS`, runs once for each case
of that kind (tests/data/oracle/README.md), under the case's id.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from nodeworthy.features import Snapshot, read_document

ORACLE = Path(__file__).parents[2] / "data" / "oracle"
KINDS = ("rule", "rules", "group", "matrix", "compat", "nfr", "custom", "template")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for kind in KINDS:
        if f"{kind}_case" in metafunc.fixturenames:
            metafunc.parametrize(f"{kind}_case", oracle_parameters(kind))


def oracle_parameters(kind: str) -> list[Any]:
    # Not splitlines: some cases hold other characters that Python takes for ends of lines.
    cases = (json.loads(line) for line in (ORACLE / "cases.jsonl").read_text().strip().split("\n"))
    return [pytest.param(case, id=case["id"]) for case in cases if case["kind"] == kind]


@pytest.fixture(scope="session")
def oracle() -> Path:
    """The folder of the oracle's data."""
    return ORACLE


@pytest.fixture(scope="session")
def snapshot_of() -> Callable[[Mapping[str, Any] | None], Snapshot]:
    """Makes facts of NFD's three maps; what is not there was looked for and is absent, as NFD takes it."""

    def make(features: Mapping[str, Any] | None) -> Snapshot:
        document = json.dumps({"flags": {}, **(features or {})})
        return Snapshot(read_document(document, "features").contents, catalogue=frozenset())

    return make
