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
    RejectedKind,
    RuleObject,
    compile_acceptance,
    compile_chain,
    compile_policy,
    want_labels,
)
from nodeworthy.rules import Rule, Taint

DIFFERENCES = {
    "c-labels-008": "values are checked in extra namespaces too",
    "c-labels-019": "values are checked in extra namespaces too",
    "c-labels-050": "values of short names are checked too",
    "c-labels-051": "values of short names are checked too",
    "c-random-labels-002": "values are checked in extra namespaces too",
}
"""design: bad label values are refused in every namespace, short keys without prefix too."""

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
    config = labels_case["input"].get("config", {})
    refused = [one for one in wanted.rejected if one.giver.kind is GiverKind.RULE and one.key not in SHORT_TWINS]
    rejected = {name: {one.key for one in refused if one.kind is kind} for name, kind in KINDS.items()}
    nfd = {name: {clean(key) for key in expected["rejected"].get(name, ())} for name in KINDS}
    labels = {key: label.value for key, label in wanted.labels.items() if label.given[-1].giver.kind is GiverKind.RULE}
    taken = {"labels": labels, "annotations": wanted.annotations, "extendedResources": wanted.extended_resources}
    for name in KINDS:
        if config.get(f"disable{name[0].upper()}{name[1:]}"):
            continue
        if labels_case["id"] in DIFFERENCES:
            assert all(expected.get(name, {}).get(key) in (value, "(padded)") for key, value in taken[name].items())
            continue
        assert {key: shown(value) for key, value in taken[name].items()} == expected.get(name, {}), name
        assert {clean(key) for key in rejected[name]} == nfd[name], name
    # Of two taints of one key and effect, NFD's filter passes both and the node gets the last one.
    taints = {(taint["key"], taint["effect"]): taint.get("value", "") for taint in expected.get("taints", ())}
    if config.get("enableTaints"):
        assert {(taint.key, taint.effect): taint.value for taint in wanted.taints} == taints


SHORT_TWINS = {"fast-net"}
"""c-labels-002: NFD drops the short spelling beside the full one in silence, we report it."""


def shown(value: str) -> str:
    return "(padded)" if len(value) >= 1000 else value


def clean(key: str) -> str:
    """NFD joins prefix and name as paths, so that ``""``, ``.`` and ``..`` become other illegal names."""
    prefix, _, name = key.rpartition("/")
    return "feature.node.kubernetes.io" if prefix == "feature.node.kubernetes.io" and name in {"", ".", ".."} else key


def test_what_differs_from_nfd_is_refused_with_its_reason() -> None:
    extra = compile_acceptance(AcceptanceSettings(extra_namespaces=frozenset({"foo.kubernetes.io"})))
    assert "the value must be" in str(extra.find_problem(RejectedKind.LABEL, "foo.kubernetes.io/x", "a b"))
    assert extra.find_problem(RejectedKind.LABEL, "foo.kubernetes.io/x", "a") is None
    short = compile_acceptance(AcceptanceSettings(), auto_prefix=False)
    assert "the value must be" in str(short.find_problem(RejectedKind.LABEL, "x", "a b"))
    assert "1024 bytes" in str(short.find_problem(RejectedKind.ANNOTATION, "x", "a" * 1025))


def test_l10_a_denied_pattern_does_not_reach_its_own_domain_or_longer_names() -> None:
    acceptance = compile_acceptance(AcceptanceSettings(denied_namespaces=("*.vendor.com",)))
    refused = {
        name: acceptance.find_problem(RejectedKind.LABEL, f"{name}/x", "1")
        for name in ("a.vendor.com", "vendor.com", "badvendor.com")
    }
    assert refused == {
        "a.vendor.com": "namespace a.vendor.com is denied by a setting",
        "vendor.com": None,
        "badvendor.com": None,
    }


def test_a_pattern_that_is_none_is_told_before_anything_runs() -> None:
    with pytest.raises(UsageError, match="pattern for names of labels"):
        compile_policy(LabelSettings(acceptance=AcceptanceSettings(name_pattern="(")))
