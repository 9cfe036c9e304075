import json
import os
from pathlib import Path

import pytest

from nodeworthy.errors import UsageError
from nodeworthy.rules import Rule, UnreadableRule
from nodeworthy_labeler import rule_files
from nodeworthy_labeler.rule_files import LoadedRules, RuleFolder, load_rules

RULE = """\
apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeatureRule
metadata: {name: %s}
spec:
  rules:
    - {name: r, labels: {k: "1"}, matchFeatures: [{feature: system.osrelease}]}
"""


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)


def objects(loaded: LoadedRules) -> list[tuple[str, str, str]]:
    return [(item.source, item.name, item.unreadable) for item in loaded.objects]


def test_every_file_of_the_three_kinds_is_read_and_others_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "b.yaml", RULE % "second")
    write(tmp_path, "a.yml", RULE % "first")
    document = {"kind": "NodeFeatureRule", "apiVersion": "nfd.k8s-sigs.io/v1alpha1", "metadata": {"name": "third"}}
    write(tmp_path, "c.json", json.dumps({**document, "spec": {"rules": [{"name": "j", "labels": {"k": "1"}}]}}))
    for name in ("README.md", ".hidden.yaml", "b.yaml.bak"):
        write(tmp_path, name, "not a rule: [")
    (tmp_path / "folder.yaml").mkdir()
    loaded = load_rules(tmp_path)
    assert objects(loaded) == [("a.yml", "first", ""), ("b.yaml", "second", ""), ("c.json", "third", "")]
    assert (loaded.problems, loaded.notices) == ((), ())
    assert [rule.name for item in loaded.objects for rule in item.rules] == ["r", "r", "j"]


def test_a_file_that_cannot_be_read_is_told_and_its_neighbours_run(tmp_path: Path) -> None:
    write(tmp_path, "bad.yaml", "spec: [unclosed")
    write(tmp_path, "good.yaml", RULE % "good")
    (tmp_path / "gone.yaml").symlink_to(tmp_path / "nowhere")
    (tmp_path / "pipe.yaml").symlink_to("/dev/null")
    os.mkfifo(tmp_path / "queue.yaml")
    loaded = load_rules(tmp_path)
    assert [(source, name) for source, name, _ in objects(loaded)] == [
        ("bad.yaml", ""),
        ("gone.yaml", ""),
        ("good.yaml", "good"),
        ("pipe.yaml", ""),
        ("queue.yaml", ""),
    ]
    reasons = {source: reason for source, _, reason in objects(loaded)}
    assert reasons["bad.yaml"].startswith("this is not YAML")
    assert reasons["gone.yaml"] == "it cannot be read: No such file or directory"
    assert reasons["queue.yaml"] == reasons["pipe.yaml"] == "it is no file"
    assert {problem.source for problem in loaded.problems} == set(reasons) - {"good.yaml"}


def test_a_bad_rule_is_left_out_with_its_place_and_its_neighbours_run(tmp_path: Path) -> None:
    bad = '    - {name: bad, matchFeatures: [{feature: a.b, matchExpressions: {k: {op: Equals, value: ["1"]}}}]}\n'
    write(tmp_path, "f.yaml", RULE % "f" + bad)
    (item,) = load_rules(tmp_path).objects
    assert [type(rule) for rule in item.rules] == [Rule, UnreadableRule]
    assert [(problem.source, problem.line) for problem in load_rules(tmp_path).problems] == [("f.yaml", 7)]


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "[]"])
def test_an_empty_file_counts_as_not_read(tmp_path: Path, text: str) -> None:
    write(tmp_path, "f.yaml", text)
    assert objects(load_rules(tmp_path)) == [
        ("f.yaml", "", "the file is empty; remove it if its rules are meant to go")
    ]


def test_an_object_without_rules_has_none(tmp_path: Path) -> None:
    write(tmp_path, "f.yaml", (RULE % "f").partition("  rules:")[0] + "  rules: []\n")
    (item,) = load_rules(tmp_path).objects
    assert (item.rules, item.unreadable) == ((), "")


def test_a_list_of_worker_rules_is_an_object_under_the_name_of_its_file(tmp_path: Path) -> None:
    write(tmp_path, "custom.yaml", '- {name: w, labels: {k: "1"}, matchFeatures: [{feature: a.b}]}\n')
    assert objects(load_rules(tmp_path)) == [("custom.yaml", "custom.yaml", "")]


def test_an_object_without_a_name_is_ordered_by_its_file_and_told(tmp_path: Path) -> None:
    write(tmp_path, "f.yaml", (RULE % "x").replace("metadata: {name: x}\n", ""))
    loaded = load_rules(tmp_path)
    assert objects(loaded) == [("f.yaml", "f.yaml", "")]
    assert "metadata.name" in [notice.path for notice in loaded.notices]


def test_two_files_with_one_object_name_are_both_used_and_told(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", RULE % "same")
    write(tmp_path, "b.yaml", RULE % "same")
    loaded = load_rules(tmp_path)
    assert [name for _, name, _ in objects(loaded)] == ["same", "same"]
    (notice,) = loaded.notices
    assert (notice.source, notice.message[:16]) == ("b.yaml", "a.yaml holds ano")


def test_every_document_of_a_file_is_used_and_one_that_cannot_be_read_harms_only_itself(tmp_path: Path) -> None:
    wrong = (RULE % "wrong").replace("v1alpha1", "v9")
    daemon = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d}\n"
    listed = "apiVersion: v1\nkind: List\nitems:\n- " + (RULE % "c").replace("\n", "\n  ").rstrip(" ")
    write(tmp_path, "f.yaml", "---\n".join([RULE % "a", daemon, wrong, listed, RULE % "b", "[unclosed"]))
    loaded = load_rules(tmp_path)
    assert [(name, reason[:20]) for _, name, reason in objects(loaded)] == [
        ("a", ""),
        ("wrong", "'nfd.k8s-sigs.io/v9'"),
        ("c", ""),
        ("b", ""),
        ("", "this is not YAML: di"),
    ]
    assert "a DaemonSet holds no rules, so it is passed over" in [notice.message for notice in loaded.notices]


def test_a_file_of_other_objects_gives_no_rules_and_is_no_empty_one(tmp_path: Path) -> None:
    write(tmp_path, "f.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")
    loaded = load_rules(tmp_path)
    assert (loaded.objects, loaded.problems) == ((), ())
    assert [notice.message for notice in loaded.notices] == ["a ConfigMap holds no rules, so it is passed over"]


def test_two_objects_of_one_name_in_one_file_are_told(tmp_path: Path) -> None:
    write(tmp_path, "f.yaml", f"{RULE % 'same'}---\n{RULE % 'same'}")
    (notice,) = load_rules(tmp_path).notices
    assert notice.message.startswith("this file holds another object 'same'")


def test_an_object_may_do_without_the_prefix(tmp_path: Path) -> None:
    annotated = RULE.replace("{name: %s}", '{name: %s, annotations: {nodeworthy.io/auto-prefix: "false"}}')
    write(tmp_path, "a.yaml", annotated % "a")
    write(tmp_path, "b.yaml", RULE % "b")
    assert [item.auto_prefix for item in load_rules(tmp_path).objects] == [False, True]


def test_a_group_gives_no_labels_and_is_told(tmp_path: Path) -> None:
    group = (RULE % "g").replace("NodeFeatureRule", "NodeFeatureGroup").replace("rules:", "featureGroupRules:")
    write(tmp_path, "g.yaml", group.replace('labels: {k: "1"}, ', ""))
    loaded = load_rules(tmp_path)
    assert loaded.objects == ()
    assert "a NodeFeatureGroup gives no labels, so it is not used here" in [one.message for one in loaded.notices]


def test_a_file_over_the_limit_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, "f.yaml", RULE % "f" + "#" * 1024 * 1024)
    ((_, name, reason),) = objects(load_rules(tmp_path))
    assert (name, reason) == ("", "it is larger than 1,048,576 bytes")


def test_a_name_that_is_no_unicode_can_be_told(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.yaml")).write_text("[")
    assert [source for source, _, _ in objects(load_rules(tmp_path))] == ["caf\ufffd.yaml"]


def test_more_files_than_are_read_are_told_and_may_hold_any_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_files, "MAX_FILES", 2)
    for name in ("a", "b", "c", "d"):
        write(tmp_path, f"{name}.yaml", RULE % name)
    loaded = load_rules(tmp_path)
    assert [name for _, name, _ in objects(loaded)] == ["a", "b", ""]
    assert loaded.objects[-1].unreadable == "the folder has more than 2 files of rules; the first ones are read"


def test_more_rules_than_are_evaluated_are_told_and_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_files, "MAX_RULES", 2)
    for name in ("a", "b", "c", "d"):
        write(tmp_path, f"{name}.yaml", RULE % name)
    loaded = load_rules(tmp_path)
    assert [name for _, name, _ in objects(loaded)] == ["a", "b", ""]
    assert [problem.source for problem in loaded.problems] == ["c.yaml"]


def test_a_folder_that_cannot_be_listed_is_an_error_in_three_parts(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        load_rules(tmp_path / "nowhere")
    told = raised.value.diagnostics()
    assert (told.what, told.why) == (f"the rules in {tmp_path / 'nowhere'} cannot be read", "No such file or directory")
    assert "--rules" in told.todo


def test_a_change_counts_when_it_was_there_twice(tmp_path: Path) -> None:
    folder = RuleFolder(tmp_path)
    write(tmp_path, "a.yaml", RULE % "a")
    assert folder.poll() is None
    first = folder.poll()
    assert first is not None
    assert [name for _, name, _ in objects(first)] == ["a"]
    assert folder.poll() is None
    write(tmp_path, "b.yaml", RULE % "b")
    assert folder.poll() is None
    write(tmp_path, "b.yaml", RULE % "bb")
    assert folder.poll() is None
    second = folder.poll()
    assert second is not None
    assert [name for _, name, _ in objects(second)] == ["a", "bb"]


def test_a_file_that_is_removed_or_replaced_is_a_change(tmp_path: Path) -> None:
    folder = RuleFolder(tmp_path)
    write(tmp_path, "a.yaml", RULE % "a")
    write(tmp_path, "b.yaml", RULE % "b")
    folder.poll()
    assert folder.poll() is not None
    write(tmp_path, "new", RULE % "c")
    (tmp_path / "new").replace(tmp_path / "a.yaml")
    (tmp_path / "b.yaml").unlink()
    assert folder.poll() is None
    changed = folder.poll()
    assert changed is not None
    assert [name for _, name, _ in objects(changed)] == ["c"]


def test_a_link_that_is_swapped_as_in_a_config_map_is_a_change(tmp_path: Path) -> None:
    for version in ("one", "two"):
        (tmp_path / f"..{version}").mkdir()
        write(tmp_path / f"..{version}", "f.yaml", RULE % version)
    (tmp_path / "..data").symlink_to("..one")
    (tmp_path / "f.yaml").symlink_to("..data/f.yaml")
    folder = RuleFolder(tmp_path)
    folder.poll()
    first = folder.poll()
    assert first is not None
    assert objects(first) == [("f.yaml", "one", "")]
    (tmp_path / "..new").symlink_to("..two")
    (tmp_path / "..new").replace(tmp_path / "..data")
    folder.poll()
    second = folder.poll()
    assert second is not None
    assert objects(second) == [("f.yaml", "two", "")]


def test_a_folder_that_vanishes_is_an_error_each_time_and_its_return_no_change(tmp_path: Path) -> None:
    place = tmp_path / "rules"
    place.mkdir()
    write(place, "a.yaml", RULE % "a")
    folder = RuleFolder(place)
    folder.poll()
    assert folder.poll() is not None
    place.rename(tmp_path / "away")
    for _ in range(2):
        with pytest.raises(UsageError):
            folder.poll()
    (tmp_path / "away").rename(place)
    assert folder.poll() is None
    assert folder.poll() is None
