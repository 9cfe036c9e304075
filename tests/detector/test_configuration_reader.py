import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.rules.documents import read_rule_document
from nodeworthy.rules.records import Rule
from nodeworthy_detector.configuration import Configuration, Outcome, disabled_by
from nodeworthy_detector.configuration_reader import SOURCE_NAMES, parse_duration, read_configuration
from nodeworthy_detector.programs.settings import OneProgram, ProgramSettings

FULL = """
core:
  featureSources: [all, -usb]
sources:
  pci: {interval: 1m30s}
  storage: {interval: 5}
  kernel: {kconfigFile: /boot/config-special}
  local: {folder: /srv/features.d, interval: 30s}
  custom:
    folder: /srv/custom.d
    rules:
      - name: &name rule-a
        labels: {a: "5.10", b: *name}
        matchFeatures: [{feature: kernel.version, matchExpressions: {major: {op: In, value: [5.10, 010]}}}]
  programs:
    interval: 2m
    programs: {probe: {timeout: 5s, environment: {LEVEL: "1"}}}
  system:
    libraries: {libfoo: ["libfoo.so"]}
    libraryFolders: [opt/foo/lib]
"""


def read(text: str) -> Outcome:
    return read_configuration(text.encode(), "detector.yaml")


def problems(text: str) -> list[tuple[int, str, str, str]]:
    """What is wrong with a text, each with line, path, message and hint."""
    outcome = read(text)
    assert outcome.configuration is None
    assert {problem.source for problem in outcome.problems} == {"detector.yaml"}
    return [problem[1:] for problem in outcome.problems]


def test_every_key_has_its_field() -> None:
    outcome = read(FULL)
    assert outcome.notices == ()
    made = outcome.configuration
    assert made
    assert made.disabled == {"usb"}
    assert made.intervals == {"pci": 90.0, "storage": 5.0, "local": 30.0}
    assert (made.kernel_config, made.features_d, made.custom_d) == (
        "boot/config-special",
        "srv/features.d",
        "srv/custom.d",
    )
    probe = OneProgram(timeout=5.0, environment={"LEVEL": "1"})
    assert made.programs == ProgramSettings(interval=120.0, programs={"probe": probe})
    assert (made.libraries, made.library_folders) == ({"libfoo": ("libfoo.so",)}, ("opt/foo/lib",))


def test_rules_in_the_file_are_kept_as_text_that_reads_as_it_did() -> None:
    made = read(FULL).configuration
    assert made
    assert "5.10" in made.custom_rules
    assert "010" in made.custom_rules
    (rule,) = read_rule_document(made.custom_rules, "custom").rules
    assert isinstance(rule, Rule)
    assert rule.labels == {"a": "5.10", "b": "rule-a"}


def test_the_list_of_rules_may_stand_as_in_nfds_own_file() -> None:
    made = read("sources:\n  Custom:\n  - name: a\n    labels: {x: y}\n").configuration
    assert made
    assert made.custom_rules == "- name: a\n  labels: {x: y}\n"


@pytest.mark.parametrize("text", ["", "# nothing\n", "core:\nsources:\n", "{}", "sources: {cpu: , custom: [] }"])
def test_a_file_that_says_nothing_is_the_default(text: str) -> None:
    made = read(text).configuration
    assert made
    assert msgspec.structs.replace(made, custom_rules="") == Configuration()


def test_keys_of_nfds_file_that_mean_nothing_here_are_noticed_and_refuse_nothing() -> None:
    """The keys of nfd-worker.conf: spec 6.1 and 1.x of NFD, commit 76e6cc8."""
    outcome = read(
        "core: {labelWhiteList: x, labelSources: [all], noPublish: false, sleepInterval: 60s, klog: {v: 1}}\n"
        "sources:\n"
        "  cpu: {cpuid: {attributeBlacklist: [AVX]}}\n"
        "  kernel: {configOpts: [NO_HZ]}\n"
        "  pci: {deviceClassWhitelist: ['03'], deviceLabelFields: [class]}\n"
        "  usb: {deviceClassWhitelist: ['0e']}\n"
        "  local: {hooksEnabled: true}\n"
        "  fake: {labels: {a: b}}\n"
    )
    assert outcome.configuration == Configuration()
    told = {notice.path: notice.hint for notice in outcome.notices}
    assert told["core.sleepInterval"].startswith("each source has its own sources.<name>.interval")
    assert told["sources.cpu.cpuid"] == "labels are the labeler's; set it there"
    assert len(told) == 12


def test_nfds_source_for_tests_may_be_named_in_the_list() -> None:
    outcome = read("core: {featureSources: [all, -fake, -usb]}")
    assert outcome.configuration == Configuration(disabled=frozenset({"usb"}))
    assert [notice.path for notice in outcome.notices] == ["core.featureSources[1]"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "core: {featureSource: []}",
            (1, "core.featureSource", "nobody reads this field", "did you mean featureSources?"),
        ),
        ("sources:\n  pcii: {}", (2, "sources.pcii", "nobody reads this field", "did you mean pci?")),
        (
            "sources:\n  pci:\n    intervals: 1s",
            (3, "sources.pci.intervals", "nobody reads this field", "did you mean interval?"),
        ),
        (
            "sources: {programs: {tmeout: 1s}}",
            (1, "sources.programs.tmeout", "nobody reads this field", "did you mean timeout?"),
        ),
        (
            "sources:\n programs:\n  programs:\n   a: {intervals: 1}",
            (4, "sources.programs.programs.a.intervals", "nobody reads this field", "did you mean interval?"),
        ),
        (
            "core: {featureSources: [all, -usbb]}",
            (1, "core.featureSources[1]", "there is no source '-usbb'", "did you mean usb?"),
        ),
        (
            "core: {featureSources: [all, -all]}",
            (1, "core.featureSources", "no source is left", "write [all, -usb] to leave one out"),
        ),
        (
            "sources: {cpu: {interval: 0}}",
            (1, "sources.cpu.interval", "'0' is no time from 1 s to 24 h", "write it as 30s, 10m or 1h30m"),
        ),
        (
            "sources: {cpu: {interval: 25h}}",
            (1, "sources.cpu.interval", "'25h' is no time from 1 s to 24 h", "write it as 30s, 10m or 1h30m"),
        ),
        (
            "sources: {cpu: {interval: [1]}}",
            (1, "sources.cpu.interval", "'this' is no time from 1 s to 24 h", "write it as 30s, 10m or 1h30m"),
        ),
        ("sources: {cpu: 3}", (1, "sources.cpu", "this must be a map, and it is a number", "")),
        ("sources: {custom: {rules: x}}", (1, "sources.custom.rules", "this must be a list, and it is text", "")),
        (
            "sources: {system: {libraries: [a]}}",
            (1, "sources.system.libraries", "this must be a map, and it is a list", ""),
        ),
        (
            "sources:\n programs:\n  concurrency: many",
            (3, "sources.programs.concurrency", "Expected `int`, got `str`", ""),
        ),
        ("sources: {}\nsources: {}", (2, "", "'sources' stands here twice; the last one counts", "remove one")),
    ],
)
def test_what_is_wrong_is_told_with_its_place_and_what_may_have_been_meant(
    text: str, found: tuple[int, str, str, str]
) -> None:
    assert problems(text) == [found]


def test_text_that_is_no_yaml_is_one_problem() -> None:
    ((line, _, message, _),) = problems("core:\n  a: [\n")
    assert line == 3
    assert message.startswith("this is not YAML")
    assert problems("- a\n")[0][2] == "this must be a map, and it is a list"


@pytest.mark.parametrize(
    ("chosen", "left_out"),
    [
        (["all"], ""),
        (["all", "-usb"], "usb"),
        (["cpu", "pci"], "usb"),
        (["-usb", "all"], ""),
        (["all", "-all", "cpu"], "pci usb"),
        ([], "cpu pci usb"),
    ],
)
def test_the_entries_of_a_list_of_sources_add_and_take_away_in_turn(chosen: list[str], left_out: str) -> None:
    assert disabled_by(chosen, ["cpu", "pci", "usb"]) == set(left_out.split())


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("1h30m", 5400),
        ("1.5s", 1.5),
        (".5m", 30),
        ("300ms", 0.3),
        ("", None),
        ("s", None),
        ("3", None),
        ("3 s", None),
        ("-1s", None),
        ("1d", None),
    ],
)
def test_a_time_is_written_as_in_go(text: str, seconds: float | None) -> None:
    assert parse_duration(text) == (None if seconds is None else pytest.approx(seconds))


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: f"sources: {{cpu: {text}}}".encode()))
def test_any_bytes_are_a_configuration_or_problems(data: bytes) -> None:
    outcome = read_configuration(data, "x")
    assert (outcome.configuration is None) == bool(outcome.problems)


def test_every_source_can_be_named() -> None:
    text = "sources:\n" + "".join(f"  {name}: {{interval: 1m}}\n" for name in SOURCE_NAMES)
    made = read(text).configuration
    assert made
    assert made.intervals == dict.fromkeys(set(SOURCE_NAMES) - {"programs"}, 60.0)


def test_the_process_of_its_own_writes_the_outcome_as_json() -> None:
    command = [sys.executable, "-m", "nodeworthy_detector.configuration_reader", "detector.yaml"]
    done = subprocess.run(command, input=FULL.encode(), check=True, capture_output=True)
    assert msgspec.json.decode(done.stdout, type=Outcome) == read(FULL)
