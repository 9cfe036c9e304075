import json
from pathlib import Path

import pytest

from nodeworthy.rules import Expression, Operator, read_rule_document
from nodeworthy.rules.flag_sets import FLAG_SETS, asks_value_of_flag, flag_form

RECORDED = sorted((Path(__file__).parents[2] / "data" / "hosts").glob("*/expected.json"))


def test_the_table_holds_the_sets_of_flags_of_the_recorded_machines_and_their_attributes() -> None:
    assert RECORDED
    for path in RECORDED:
        document = json.loads(path.read_text())
        flags = {name for name, content in document["flags"].items() if content["elements"]}
        assert flags <= set(FLAG_SETS), path.parent.name
        for name in flags & document["attributes"].keys():
            assert set(document["attributes"][name]["elements"]) <= set(FLAG_SETS[name]), path.parent.name


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ('{op: In, value: ["true"]}', "write {op: Exists}"),
        ('{op: In, value: ["false"]}', "write {op: DoesNotExist}"),
        ("{op: IsTrue}", "write {op: Exists}"),
        ("{op: IsFalse}", "write {op: DoesNotExist}"),
        ("{op: Gt, value: ['1']}", "write {op: Exists}"),
        ("{op: Exists}", ""),
        ("{op: DoesNotExist}", ""),
        ('{in: ["true"]}', ""),
    ],
)
@pytest.mark.parametrize("feature", ["cpu.cpuid", "Kernel.LoadedModule"])
def test_r7_a_question_for_the_value_of_a_flag_is_told_when_it_is_read(feature: str, written: str, hint: str) -> None:
    text = f"- name: r\n  matchFeatures:\n  - feature: {feature}\n    matchExpressions:\n      F: {written}\n"
    told = [one for one in read_rule_document(text, "f", strict=True).notices if "is a flag of" in one.message]
    assert [(one.line, one.hint) for one in told] == ([(5, hint)] if hint else [])


def test_what_has_a_value_may_be_asked_for_it() -> None:
    asked = Expression(Operator.IN, ("true",))
    assert not asks_value_of_flag("cpu.cpuid", "AVX10_VERSION", asked)
    assert not asks_value_of_flag("kernel.config", "SMP", asked)
    assert not asks_value_of_flag("acme.flags", "F", asked)
    assert flag_form(Expression(Operator.NOT_IN, ("false",))) == "{op: Exists}"
