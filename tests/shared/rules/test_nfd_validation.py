import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.rules.nfd_validation import NfdError, NfdValidation, validate_as_nfd

SHORT = """\
spec:
  rules:
  - name: r
    labels: {x.org/k: "1"}
    matchFeatures:
    - feature: pci.device
      matchExpressions: {vendor: ["10de"]}
"""


def test_a_short_form_does_not_decode_and_its_place_is_told() -> None:
    found = validate_as_nfd(SHORT, "gpu.yaml")
    assert (found.valid, found.parsed, found.errors) == (False, None, (NfdError("document", None, "parse"),))
    (problem,) = found.problems
    assert (problem.source, problem.line) == ("gpu.yaml", 7)
    place = "spec.rules[0].matchFeatures[0].matchExpressions.vendor"
    assert problem.message == f"NFD wants a map at {place}, and this is a list"


def test_e1_nfd_refuses_the_short_label_to_which_it_would_add_its_prefix() -> None:
    text = "spec: {rules: [{name: r, labels: {accelerator: nvidia}}]}"
    assert validate_as_nfd(text).errors == (NfdError("label", "accelerator", "unprefixed"),)


def test_e3_nfd_finds_nothing_where_it_drops_the_condition() -> None:
    text = "spec: {rules: [{name: r, matchFeatures: [{feature: cpu.cpuid, matchExpressions: {AVX: {in: ['true']}}}]}]}"
    found = validate_as_nfd(text)
    assert found.valid
    assert found.parsed is not None
    assert found.parsed["rules"][0]["matchFeatures"][0]["matchExpressions"] == {"AVX": {"op": ""}}


@pytest.mark.parametrize(
    ("template", "valid"),
    [("{{ now }}=1", True), ("{{ randAlpha 5 }}=1", True), ("{{ env `HOME` }}", False), ("{{ nofunc }}", False)],
)
def test_functions_that_only_nodeworthy_refuses_are_good_for_nfd(template: str, valid: bool) -> None:
    text = f"spec: {{rules: [{{name: r, labelsTemplate: '{template}'}}]}}"
    assert validate_as_nfd(text).valid == valid


@pytest.mark.parametrize(
    "text",
    [
        "spec: []",
        "spec: {rules: {}}",
        "spec: {rules: [hello]}",
        "metadata: {labels: [a]}",
        "metadata: {annotations: {a: {b: c}}}",
        "kind: [NodeFeatureRule]",
        "spec: {rules: [{matchFeatures: [hello]}]}",
        "spec: {rules: [{matchAny: [{matchFeatures: hello}]}]}",
        "spec: {rules: [{matchFeatures: [{matchName: hello}]}]}",
        "spec: {rules: [{taints: [hello]}]}",
    ],
)
def test_a_part_of_the_wrong_kind_spoils_the_document(text: str) -> None:
    assert validate_as_nfd(text).parsed is None


@given(st.text(max_size=60) | st.binary(max_size=60))
def test_any_text_has_a_verdict(text: str | bytes) -> None:
    assert isinstance(validate_as_nfd(text), NfdValidation)
