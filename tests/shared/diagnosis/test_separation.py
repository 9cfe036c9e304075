"""What separates nodes where a workload runs from nodes where it fails."""

from tests.shared.diagnosis.cases import node

from nodeworthy.diagnosis.separation import separate
from nodeworthy.rules import Facts

SETS = ("cpu.cpuid", "kernel.version", "system.name")


def facts(*flags: str, kernel: str = "6.1", name: str = "") -> Facts:
    return node(cpu_cpuid=flags, kernel_version={"full": kernel}, system_name={"nodename": name}).facts


def test_the_fact_that_separates_best_comes_first() -> None:
    runs = {"a": facts("AVX2", "X", kernel="6.1", name="a"), "b": facts("AVX2", kernel="5.15", name="b")}
    fails = {"c": facts("X", kernel="5.15", name="c"), "d": facts(kernel="5.15", name="d")}
    first, second = separate(runs, fails, SETS)
    assert (first.feature, first.name, first.score) == ("cpu.cpuid", "AVX2", 1.0)
    assert (first.runs, first.fails) == ({"present": 2}, {"absent": 2})
    assert (second.feature, second.name, second.score) == ("kernel.version", "full", 0.5)


def test_facts_that_nobody_knows_do_not_count() -> None:
    runs = {"a": facts("AVX2"), "b": node(unknown=("cpu.cpuid",)).facts}
    fails = {"c": facts()}
    (found,) = separate(runs, fails, ("cpu.cpuid",))
    assert found.runs == {"present": 1}
    assert separate({"b": node(unknown=("cpu.cpuid",)).facts}, fails, ("cpu.cpuid",)) == ()


def test_nodes_that_are_alike_are_not_separated() -> None:
    assert separate({"a": facts("AVX2")}, {"b": facts("AVX2")}, SETS) == ()
    assert separate({"a": facts("AVX2")}, {}, SETS) == ()
