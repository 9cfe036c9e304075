"""The rules of examples/rules say what their comments promise, and are read without a notice."""

from pathlib import Path

import pytest

from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot
from nodeworthy.rules import Outcome, compile_rules, evaluate_chain, read_rule_document

RULES = Path(__file__).parents[2] / "examples" / "rules"
FILES = sorted(RULES.glob("*.yaml"))

H100 = {"vendor": "nvidia", "model": "NVIDIA H100 80GB HBM3", "driver_version": "550.54.15", "health": "ok"}


def ask(name: str, facts: Snapshot) -> Outcome:
    document = read_rule_document((RULES / name).read_bytes(), name)
    (result,) = evaluate_chain(compile_rules(document.rules), facts).results
    return result.outcome


@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_an_example_is_read_without_a_notice(path: Path) -> None:
    document = read_rule_document(path.read_bytes(), path.name, strict=True)
    assert document.rules
    assert document.notices == ()


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, Outcome.TRUE),
        ({"model": "NVIDIA H200"}, Outcome.TRUE),
        ({"driver_version": "580.65.06"}, Outcome.TRUE),
        ({"driver_version": "550.54.14"}, Outcome.TRUE),
        ({"health": "unknown"}, Outcome.TRUE),
        ({"driver_version": "550.54.13"}, Outcome.FALSE),
        ({"driver_version": "535.183.01"}, Outcome.FALSE),
        ({"driver_version": "1000.1"}, Outcome.FALSE),
        ({"model": "NVIDIA A100-SXM4-40GB"}, Outcome.FALSE),
        ({"vendor": "amd"}, Outcome.FALSE),
        ({"health": "failed"}, Outcome.FALSE),
    ],
)
def test_model_and_driver_have_to_fit(changed: dict[str, str], expected: Outcome) -> None:
    facts = Snapshot({"accel.device": FeatureSet(instances=(H100 | changed,))}, catalogue=frozenset())
    assert ask("gpu-model-and-driver.yaml", facts) is expected


def test_model_and_driver_have_to_fit_on_one_and_the_same_device() -> None:
    devices = (H100 | {"driver_version": "535.183.01"}, H100 | {"model": "NVIDIA A30"})
    facts = Snapshot({"accel.device": FeatureSet(instances=devices)}, catalogue=frozenset())
    assert ask("gpu-model-and-driver.yaml", facts) is Outcome.FALSE


def test_a_node_of_which_devices_are_not_known_is_neither_fit_nor_unfit() -> None:
    status = {"accel.device": SetStatus(SetState.UNKNOWN, "permission denied")}
    assert ask("gpu-model-and-driver.yaml", Snapshot({}, status, catalogue=frozenset())) is Outcome.UNKNOWN


def test_a_device_without_a_driver_has_no_version_that_fits() -> None:
    device = {name: value for name, value in H100.items() if name != "driver_version"}
    facts = Snapshot({"accel.device": FeatureSet(instances=(device,))}, catalogue=frozenset())
    assert ask("gpu-model-and-driver.yaml", facts) is Outcome.FALSE
