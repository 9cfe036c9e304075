"""``nodeworthy rules validate`` as its users run it; the first examples are E1 and E3 of the requirements."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Nodeworthy

PREFIX = "feature.node.kubernetes.io/"
E1 = """apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata:
  name: gpu-rule
spec:
  rules:
    - name: "nvidia-gpu-present"
      matchFeatures:
        - feature: pci.device
          matchExpressions:
            vendor: {op: In, value: ["10de"]}
      labels:
        "accelerator": "nvidia"
"""
E3 = """apiVersion: nfd.node.kubernetes.io/v1
kind: NodeFeatureRule
metadata:
  name: cpu-avx512-ready
spec:
  rules:
    - name: "cpu-avx512-ready"
      matchFeatures:
        - feature: cpu.cpuid
          matchExpressions:
            AVX512F: { in: ["true"] }
            AVX512BW: { in: ["true"] }
      labels:
        cpu.feature.avx512-ready: "true"
"""


def rules(*written: str, name: str = "r", annotations: str = "{}") -> str:
    head = "kind: NodeFeatureRule\napiVersion: nfd.k8s-sigs.io/v1alpha1\n"
    head += f"metadata: {{name: {name}, annotations: {annotations}}}"
    return head + "\nspec:\n  rules:\n" + "".join(f"  - {one}\n" for one in written)


def validate(nodeworthy: "Nodeworthy", *arguments: str, code: int, text: str | None = None) -> Any:
    done = nodeworthy("rules", "validate", *arguments, "-o", "json", input=text, code=code)
    return json.loads(done.stdout)


def messages(report: Any, kind: str) -> list[str]:
    return [one["message"] for file in report["files"] for document in file["documents"] for one in document[kind]]


def test_e1_is_accepted_with_one_notice_that_names_the_key_of_a_node_selector(
    nodeworthy: "Nodeworthy", tmp_path: Path
) -> None:
    (tmp_path / "e1.yaml").write_text(E1)
    report = validate(nodeworthy, "e1.yaml", code=0)
    assert report["valid"]
    (warning,) = report["files"][0]["documents"][0]["warnings"]
    assert (warning["line"], warning["column"]) == (12, 7)
    assert f"accelerator reaches the node as {PREFIX}accelerator" in warning["message"]
    assert "nodeSelector has to use that key" in warning["hint"]
    assert "nodeworthy.io/auto-prefix" in warning["hint"]
    nfd = report["files"][0]["nfd"]
    assert nfd == {"valid": False, "errors": [{"part": "label", "key": "accelerator", "reason": "unprefixed"}]}
    text = nodeworthy("rules", "validate", "e1.yaml", code=0).stdout
    assert "e1.yaml: valid" in text
    assert "e1.yaml:12:7: " in text
    assert "kubectl-nfd calls it not valid: label accelerator unprefixed" in text


def test_e1_without_the_prefix_has_no_notice(nodeworthy: "Nodeworthy") -> None:
    own = E1.replace("name: gpu-rule", 'name: gpu-rule\n  annotations: {nodeworthy.io/auto-prefix: "false"}')
    for arguments, text in ((("--no-auto-prefix",), E1), ((), own)):
        assert messages(validate(nodeworthy, "-", *arguments, code=0, text=text), "warnings") == []


def test_e3_is_accepted_and_told_what_to_write_instead(nodeworthy: "Nodeworthy") -> None:
    report = validate(nodeworthy, "-", code=0, text=E3)
    warnings = report["files"][0]["documents"][0]["warnings"]
    assert [one["line"] for one in warnings] == [1, 11, 12, 13]
    assert "nfd.k8s-sigs.io/v1alpha1" in warnings[0]["hint"]
    assert all("{op: Exists}" in one["hint"] for one in warnings[1:3])
    assert f"{PREFIX}cpu.feature.avx512-ready" in warnings[3]["message"]


def test_everything_wrong_is_told_at_once_with_places(nodeworthy: "Nodeworthy", tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(
        rules(
            "name: a\n    matchFeature: []\n    labels: {example.com/x: 'no spaces', kubernetes.io/y: z}",
            'name: b\n    matchFeatures: [{feature: cpu.cpuid, matchExpressions: {A: {op: Gt, value: ["1", "2"]}}}]',
        )
    )
    done = nodeworthy("rules", "validate", "bad.yaml", code=1)
    lines = done.stdout.splitlines()
    assert lines[0] == "bad.yaml: not valid"
    errors = [line.strip() for line in lines if line.strip().startswith("error: ")]
    assert [line.split(": ")[1] for line in errors] == ["bad.yaml:7:5", "bad.yaml:8:14", "bad.yaml:10:61"]
    assert "did you mean matchFeatures?" in errors[0]
    assert "label example.com/x reaches no node: the value must be" in errors[1]
    assert any("label kubernetes.io/y reaches no node" in line and "warning: " in line for line in lines)


def test_outputs_of_every_kind_are_checked_and_each_alone(nodeworthy: "Nodeworthy") -> None:
    text = rules(
        "name: a\n    annotations: {example.com/ok: '@x', k8s.kubernetes.io/no: x}\n"
        "    extendedResources: {example.com/ok: '4', bad: many, dynamic: '@cpu.model.id'}\n"
        "    taints: [{key: example.com/ok, effect: NoSchedule}, {key: short, effect: NoSchedule},"
        " {key: a.b/c, effect: Never}]\n"
        "    labels: {example.com/dynamic: '@cpu.model.id', example.com/ok: fine}"
    )
    found = messages(validate(nodeworthy, "-", code=1, text=text), "errors")
    assert [one.partition(" reaches no node")[0] for one in found] == [
        "annotation k8s.kubernetes.io/no",
        f"extended resource {PREFIX}bad",
        "taint short",
        "taint a.b/c",
    ]


def test_files_are_looked_at_together(nodeworthy: "Nodeworthy", tmp_path: Path) -> None:
    folder = tmp_path / "rules"
    folder.mkdir()
    asks = 'matchFeatures: [{feature: rule.matched, matchExpressions: {%s: {op: In, value: ["v"]}}}]'
    (folder / "a.yaml").write_text(
        rules("{name: one, labels: {x.org/k: a}, vars: {va: v}, %s}" % (asks % "vb"), name="a")
    )
    (folder / "b.yml").write_text(
        rules("{name: two, labels: {x.org/k: b}, vars: {vb: v}, %s}" % (asks % "va"), name="b")
    )
    (folder / "c.json").write_text(json.dumps({"kind": "NodeFeatureRule", "apiVersion": "nfd.k8s-sigs.io/v1alpha1"}))
    (folder / "README.md").write_text("not: [rules")
    report = validate(nodeworthy, "rules", code=0)
    assert [file["file"] for file in report["files"]] == ["rules/a.yaml", "rules/b.yml", "rules/c.json"]
    warnings = messages(report, "warnings")
    assert any("x.org/k has another value by rule a/one; where both match, this rule wins" in one for one in warnings)
    assert sum("ask for each other's names" in one for one in warnings) == 2


def test_names_that_nobody_gives_are_told(nodeworthy: "Nodeworthy") -> None:
    asks = "name: a\n    labels: {x.org/a: '1'}\n    matchFeatures: [{feature: rule.matched, matchExpressions: {%s}}]"
    gives = "name: b\n    labels: {short: v}\n    vars: {later: v}"
    wanted = "{op: Exists}"
    names = (f"nosuch: {wanted}", f"later: {wanted}", f"{PREFIX}short: {wanted}", "gone: {op: DoesNotExist}")
    report = validate(nodeworthy, "-", code=0, text=rules(asks % ", ".join(names), gives))
    told = [one for one in report["files"][0]["documents"][0]["warnings"] if "matchExpressions" in one["path"]]
    assert [(one["message"].partition(",")[0], one["hint"]) for one in told] == [
        ("no rule of these files gives nosuch", "another rule of the cluster has to"),
        ("later is given by later rules only", "put rule 'b' before this one"),
        (f"no rule of these files gives {PREFIX}short", "did you mean short, as the rule writes it?"),
    ]


def test_a_rule_with_a_template_may_give_any_name_and_an_earlier_rule_gives_its_own(nodeworthy: "Nodeworthy") -> None:
    asks = "name: a\n    matchFeatures: [{feature: rule.matched, matchExpressions: {%s: {op: Exists}}}]"
    template = "name: b\n    varsTemplate: x=y\n    matchFeatures: [{feature: system.name}]"
    assert messages(validate(nodeworthy, "-", code=0, text=rules(asks % "any", template)), "warnings") == []
    gives = "name: b\n    vars: {own: v}"
    assert messages(validate(nodeworthy, "-", code=0, text=rules(gives, asks % "own")), "warnings") == []


def test_groups_do_not_see_the_names_of_a_cluster(nodeworthy: "Nodeworthy") -> None:
    group = "kind: NodeFeatureGroup\napiVersion: nfd.k8s-sigs.io/v1alpha1\nmetadata: {name: g}\n"
    group += "spec:\n  featureGroupRules:\n"
    group += "  - name: a\n    matchFeatures: [{feature: rule.matched, matchExpressions: {own: {op: Exists}}}]\n"
    text = rules("name: b\n    vars: {own: v}") + "---\n" + group
    (told,) = messages(validate(nodeworthy, "-", code=0, text=text), "warnings")
    assert told == "no rule of these files gives own"


@pytest.mark.parametrize(
    ("value", "kind", "hint"),
    [
        ("@kernel.version", "errors", ""),
        ("@kernel.version.majr", "warnings", "did you mean @kernel.version.major?"),
        ("@kernel.verson.major", "warnings", "did you mean @kernel.version.major?"),  # codespell:ignore verson
        ("@acme.warp.factor", "warnings", "it has to come from a program or object of yours"),
        ("@pci.device.vendor", "warnings", "a labelsTemplate can name the devices that match"),
    ],
)
def test_values_that_can_never_be_looked_up_are_told(
    value: str, kind: str, hint: str, nodeworthy: "Nodeworthy"
) -> None:
    good = "x.org/b: '@kernel.config.HZ', x.org/c: '@rule.matched.d'"
    text = rules(f"name: a\n    labels: {{x.org/a: '{value}', {good}}}")
    report = validate(nodeworthy, "-", code=int(kind == "errors"), text=text)
    (told,) = report["files"][0]["documents"][0][kind]
    assert value in told["message"] or "pci.device is a list of devices" in told["message"]
    assert told.get("hint", "") == hint


def test_two_objects_of_one_name_are_told(nodeworthy: "Nodeworthy") -> None:
    warnings = messages(validate(nodeworthy, "-", code=0, text=E1 + "---\n" + E1), "warnings")
    assert sum("holds an object 'gpu-rule' too" in one for one in warnings) == 1


def test_several_documents_and_objects_of_other_kinds_may_stand_in_a_file(nodeworthy: "Nodeworthy") -> None:
    report = validate(nodeworthy, "-", code=1, text="kind: ConfigMap\n---\n" + E1 + "---\n" + E1.replace("In,", "Is,"))
    (file,) = report["files"]
    assert [bool(document["errors"]) for document in file["documents"]] == [False, True]
    assert "ConfigMap" in file["warnings"][0]["message"]


def test_what_cannot_be_read_at_all_is_a_usage_error(nodeworthy: "Nodeworthy", tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "large.yaml").write_bytes(b"#" * (10 * 1024 * 1024))
    for name, told in (("nowhere.yaml", "No such file"), ("empty", "holds no rules"), ("large.yaml", "too large")):
        assert told in nodeworthy("rules", "validate", name, code=2).stderr


@pytest.mark.parametrize(
    "text", ["", "just words", "{", "\x00", "a: &a [*a]", "[" * 5000, "kind: Pod\n", "spec: {rules: []}\n---\n{"]
)
def test_what_holds_no_good_rules_is_not_valid(text: str, nodeworthy: "Nodeworthy") -> None:
    assert "-: not valid" in nodeworthy("rules", "validate", "-", input=text, code=1).stdout


def test_a_name_cannot_move_the_cursor(nodeworthy: "Nodeworthy") -> None:
    text = rules('{name: "a\\e[2J", labels: {"x\\e[2J": y}}', name='"\\e]0;x"')
    assert "\x1b" not in nodeworthy("rules", "validate", "-", input=text).stdout


def test_schemas_are_printed(nodeworthy: "Nodeworthy") -> None:
    schema = json.loads(nodeworthy("rules", "schema", code=0).stdout)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert "compatibilities" in json.loads(nodeworthy("rules", "schema", "compatibility", code=0).stdout)["properties"]
    nodeworthy("rules", "schema", "other", code=2)


def test_help_names_every_verb(nodeworthy: "Nodeworthy") -> None:
    text = nodeworthy("rules", "--help", code=0).stdout
    for name in ("validate", "test", "dry-run", "explain", "convert", "status", "schema"):
        assert f"  {name} " in text
        assert nodeworthy("rules", name, "--help", code=0).stdout.startswith(f"Usage: nodeworthy rules {name} ")
    assert "see nodeworthy rules --help" in nodeworthy("rules", "chekc", code=2).stderr
