"""What is made of a diagnosis: drafts of rules and specifications, steps, and what a pod was given."""

import msgspec
import pytest
from tests.shared.diagnosis.cases import explain, node, stopped_at

from nodeworthy import rules
from nodeworthy.diagnosis import Case
from nodeworthy.diagnosis.drafts import draft_rule, draft_specification
from nodeworthy.diagnosis.pods import Pod, PodReport
from nodeworthy.diagnosis.steps import plan_steps
from nodeworthy.errors import UsageError

OLD = node(cpu_cpuid=("X86_64_V1",))


def test_a_drafted_rule_is_valid_and_separates_the_nodes() -> None:
    cause = explain("Fatal glibc error: CPU does not support x86-64-v3", on=OLD).cause
    (document,) = rules.read_rule_file(draft_rule(cause).encode(), "draft").documents
    assert isinstance(document, rules.RuleDocument)
    assert not document.problems
    (rule,) = document.rules
    assert isinstance(rule, rules.Rule)
    compiled = rules.compile_rule(rule)
    assert rules.evaluate_rule(compiled, OLD.facts).outcome is rules.Outcome.FALSE
    fit = rules.evaluate_rule(compiled, node(cpu_cpuid=("X86_64_V3",)).facts)
    assert fit.labels == {"feature.node.kubernetes.io/without-cpu-below-baseline": "true"}


def test_a_drafted_specification_asks_for_what_the_instruction_needs() -> None:
    cause = explain("", 132, on=OLD, instruction=stopped_at("c5f5fed0", features=("AVX2",))).cause
    text = draft_specification(cause, "example.com/app:1\nx: y")
    spec = rules.read_compatibility_spec(text.encode(), "draft")
    assert not spec.problems
    (rule,) = spec.compatibilities[0].rules
    assert isinstance(rule, rules.Rule)
    assert list(rule.match_features[0].expressions or ()) == ["AVX2"]


def test_a_fault_of_the_image_is_no_matter_of_rules() -> None:
    cause = explain("/app: symbol lookup error: x.so: undefined symbol: foo").cause
    with pytest.raises(UsageError, match="no rule would have prevented it"):
        draft_rule(cause)
    with pytest.raises(UsageError, match="no rule can be drafted"):
        draft_rule(None)


def test_steps_follow_the_chain_of_the_sign() -> None:
    signals = explain("exec /app: exec format error").signals
    steps = plan_steps(Case(image="i:1", node="n7", node_platform=OLD.platform), signals, None)
    assert [bool(step.found) for step in steps] == [False, False, True, False]
    assert steps[2].found == "n7 is linux/amd64"
    assert steps[3].command == "nodeworthy platforms i:1"
    texts = {code: plan_steps(Case(), explain("", code).signals, None)[0].text for code in (132, 139)}
    assert set(texts.values()) == {"the exit code or message: a signal"}
    assert plan_steps(Case(), explain("", 137).signals, None) == ()


def test_devices_of_a_container_are_resources_mounts_and_privilege() -> None:
    volumes = [{"name": "kvm", "hostPath": {"path": "/dev/kvm"}}, {"name": "log", "hostPath": {"path": "/var/log"}}]
    containers = [
        {"name": "gpu", "resources": {"limits": {"nvidia.com/gpu": "1", "hugepages-2Mi": "1Gi", "cpu": 2}}},
        {"name": "vm", "volumeMounts": [{"name": "kvm", "mountPath": "/dev/kvm"}, {"name": "log", "mountPath": "/l"}]},
        {"name": "root", "securityContext": {"privileged": True}},
        {"name": "plain"},
    ]
    report = PodReport(msgspec.convert({"spec": {"containers": containers, "volumes": volumes}}, Pod))
    assert report.devices_of("gpu") == ("nvidia.com/gpu",)
    assert report.devices_of("vm") == ("hostPath /dev/kvm",)
    assert report.devices_of("root") == ("privileged",)
    assert report.devices_of("plain") == report.devices_of("none") == ()
