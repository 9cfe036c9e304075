import json
from collections.abc import Iterator
from pathlib import Path

from nodeworthy.rules.known_sets import INSTANCE_SETS, KNOWN_SETS, is_known_element, is_known_set
from nodeworthy_detector.sources import SOURCES

RECORDED = sorted((Path(__file__).parents[2] / "data" / "hosts").glob("*/expected.json"))


def elements(kind: str, content: object) -> Iterator[str]:
    assert isinstance(content, dict)
    found = content["elements"]
    yield from (name for one in found for name in one["attributes"]) if kind == "instances" else found


def test_every_set_that_the_detector_delivers_is_known() -> None:
    delivered = {name for source in SOURCES for name in source.sets}
    assert delivered <= set(KNOWN_SETS), "add the new sets to nodeworthy/rules/known_sets.py"


def test_every_element_of_the_recorded_machines_is_known() -> None:
    unknown = set()
    for path in RECORDED:
        document = json.loads(path.read_text())
        for kind in ("flags", "attributes", "instances"):
            for name, content in document[kind].items():
                unknown |= {(name, one) for one in elements(kind, content) if not is_known_element(name, one)}
    assert RECORDED
    assert unknown == set(), "add the new elements to nodeworthy/rules/known_sets.py"


def test_sets_of_instances_are_those_of_the_recorded_machines() -> None:
    instances, others = set(), set()
    for path in RECORDED:
        document = json.loads(path.read_text())
        instances |= set(document["instances"])
        others |= set(document["flags"]) | set(document["attributes"])
    assert instances <= INSTANCE_SETS, "add the new sets to nodeworthy/rules/known_sets.py"
    assert not others & INSTANCE_SETS
    assert set(KNOWN_SETS) >= INSTANCE_SETS


def test_the_case_of_a_set_does_not_matter_and_that_of_an_element_does() -> None:
    assert is_known_set("Kernel.Version")
    assert not is_known_set("kernel.versio")
    assert is_known_element("Kernel.Version", "major")
    assert not is_known_element("kernel.version", "Major")
    assert is_known_element("acme.warp", "anything")


def test_every_program_of_an_administrator_has_a_set_of_its_own() -> None:
    assert is_known_set("programs.custom-avx512")
    assert not is_known_set("program.custom-avx512")
