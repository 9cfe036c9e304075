"""The oracle's verdicts on names and values, and what they do not reach."""

import json
from typing import Any

import pytest

from nodeworthy.errors import UsageError
from nodeworthy.features import Snapshot, read_document
from nodeworthy.labels import (
    AcceptanceSettings,
    GiverKind,
    LabelSettings,
    OutputSettings,
    Rejected,
    RejectedKind,
    RuleObject,
    WantedLabels,
    compile_acceptance,
    compile_chain,
    compile_policy,
    want_labels,
)
from nodeworthy.rules import Rule, Taint
from nodeworthy.rules.labels import Fault

KINDS = {
    "labels": RejectedKind.LABEL,
    "annotations": RejectedKind.ANNOTATION,
    "extendedResources": RejectedKind.EXTENDED_RESOURCE,
}


def want(case: dict[str, Any]) -> Any:
    given, config = case["input"], case["input"].get("config", {})
    settings = LabelSettings(
        acceptance=AcceptanceSettings(
            denied_namespaces=tuple(config.get("denyLabelNs", ())),
            extra_namespaces=frozenset(config.get("extraLabelNs", ())),
            name_pattern=config.get("labelWhiteList", ""),
        ),
        outputs=OutputSettings(
            labels=not config.get("disableLabels", False),
            annotations=not config.get("disableAnnotations", False),
            extended_resources=not config.get("disableExtendedResources", False),
            taints=config.get("enableTaints", False),
        ),
        auto_prefix=not config.get("disableAutoPrefix", False),
    )
    pads = given.get("annotationPad", {})
    rule = Rule(
        "r",
        labels=given.get("labels", {}),
        annotations={name: "x" * pads.get(name, 0) or text for name, text in given.get("annotations", {}).items()},
        extended_resources=given.get("extendedResources", {}),
        taints=tuple(Taint(t["key"], t["effect"], t.get("value", "")) for t in given.get("taints", ())),
    )
    # Labels of NodeFeature objects come before all rules: here, a rule of an object that comes first.
    objects = (RuleObject("b", (rule,)), RuleObject("a", (Rule("o", labels=given.get("nodeFeatureLabels", {})),)))
    policy = compile_policy(settings)
    return want_labels(facts(given.get("features")), policy, compile_chain(objects, auto_prefix=policy.auto_prefix))


def facts(features: dict[str, Any] | None) -> Snapshot:
    found = read_document(json.dumps({"flags": {}, **(features or {})}), "features")
    # Default labels are not the subject, so the sets that make them are left out where nothing else reads them.
    return Snapshot(found.contents, catalogue=frozenset())


def test_nfd_and_we_take_and_refuse_the_same(labels_case: dict[str, Any]) -> None:
    wanted, expected = want(labels_case), labels_case["expected"]
    by_rules = {
        key: one for key, one in wanted.labels.items() if one.given[-1].giver.kind is GiverKind.RULE
    }  # not the default labels that the facts of a case give
    taken = {"labels": by_rules, "annotations": wanted.annotations, "extendedResources": wanted.extended_resources}
    for name, kind in KINDS.items():
        assert {key: shown(one.value) for key, one in taken[name].items()} == expected.get(name, {}), name
        refused = {clean(one.key): one.fault.value for one in refusals(wanted, kind)}
        assert shared_reasons(refused) == shared_reasons(expected["rejected"].get(name, {})), name
    # Of two taints of one key and effect, NFD's filter passes both and the node gets the last one.
    taints = {(taint["key"], taint["effect"]): taint.get("value", "") for taint in expected.get("taints", ())}
    assert {(one.taint.key, one.taint.effect): one.taint.value for one in wanted.taints} == taints
    refused_taints = {one.key: one.fault.value for one in refusals(wanted, RejectedKind.TAINT)}
    assert refused_taints == {key.partition("=")[0]: why for key, why in expected["rejected"].get("taints", {}).items()}


def refusals(wanted: WantedLabels, kind: RejectedKind) -> list[Rejected]:
    """What NFD refuses too: it drops the short spelling beside the full one in silence, we report it."""
    by_rules = [one for one in wanted.rejected if one.giver.kind is GiverKind.RULE and one.kind is kind]
    return [one for one in by_rules if one.fault is not Fault.SPELLED_TWICE]


def shared_reasons(refused: dict[str, str]) -> dict[str, str]:
    """Reasons by key; where :func:`clean` has made one key of several, only that they are refused."""
    return {key: "" if key == "feature.node.kubernetes.io" else reason for key, reason in refused.items()}


def shown(value: str) -> str:
    return "(padded)" if len(value) >= 1000 else value


def clean(key: str) -> str:
    """NFD joins prefix and name as paths, so that ``""``, ``.`` and ``..`` become other illegal names."""
    prefix, _, name = key.rpartition("/")
    return "feature.node.kubernetes.io" if prefix == "feature.node.kubernetes.io" and name in {"", ".", ".."} else key


def test_l9_what_differs_from_nfd_is_refused_with_its_reason() -> None:
    extra = compile_acceptance(AcceptanceSettings(extra_namespaces=frozenset({"foo.kubernetes.io"})))
    assert "the value must be" in str(extra.find_problem(RejectedKind.LABEL, "foo.kubernetes.io/x", "a b"))
    assert extra.find_problem(RejectedKind.LABEL, "foo.kubernetes.io/x", "a") is None
    short = compile_acceptance(AcceptanceSettings())
    assert "the value must be" in str(short.find_problem(RejectedKind.LABEL, "x", "a b"))
    assert "1024 bytes" in str(short.find_problem(RejectedKind.ANNOTATION, "x", "a" * 1025))


def test_l10_a_denied_pattern_does_not_reach_its_own_domain_or_longer_names() -> None:
    acceptance = compile_acceptance(AcceptanceSettings(denied_namespaces=("*.vendor.com",)))
    refused = {
        name: problem and problem.text
        for name in ("a.vendor.com", "vendor.com", "badvendor.com")
        for problem in [acceptance.find_problem(RejectedKind.LABEL, f"{name}/x", "1")]
    }
    assert refused == {
        "a.vendor.com": "namespace a.vendor.com is denied by a setting",
        "vendor.com": None,
        "badvendor.com": None,
    }


def test_a_pattern_that_is_none_is_told_before_anything_runs() -> None:
    with pytest.raises(UsageError, match="pattern for names of labels"):
        compile_policy(LabelSettings(acceptance=AcceptanceSettings(name_pattern="(")))
