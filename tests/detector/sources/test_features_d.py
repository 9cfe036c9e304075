import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import LocalSource
from nodeworthy_detector.sources.features_d import nanoseconds, parse_feature_file, parse_time
from nodeworthy_detector.sources.local import FOLDER

NOW = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)

CASES = {
    case["id"]: case
    for line in (Path(__file__).parents[2] / "data" / "oracle" / "cases.jsonl").read_text(encoding="utf-8").split("\n")
    if line
    for case in [json.loads(line)]
    if case["kind"] == "featurefile"
}

DIFFERENT = {
    # Spaces around "=" are trimmed; NFD keeps them, and the name with a space can never become a label.
    "c-featurefile-005": {"features": {"rack": "v2"}, "labels": {"rack": "v2"}},
}
"""Where we differ from NFD: the case and our answer."""


def content(file: dict[str, Any]) -> bytes:
    if "hex" in file:
        return bytes.fromhex(file["hex"])
    data: bytes = file["content"].encode()
    pad = file.get("pad")
    return data + (pad["with"] * pad["size"])[: pad["size"]].encode() if pad else data


@pytest.mark.parametrize("name", CASES)
def test_files_are_read_as_nfd_reads_them(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    for file in case["input"]["files"]:
        target = tmp_path / FOLDER / file["name"]
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.get("dir"):
            target.mkdir()
        else:
            target.write_bytes(content(file))
    (tmp_path / "etc").mkdir(exist_ok=True)
    now = datetime.fromisoformat(case["input"]["now"])
    sets = LocalSource(clock=lambda: now).read(Host(tmp_path)).sets
    expected = DIFFERENT.get(name, case["expected"])
    assert sets == {
        "local.feature": FeatureSet(attributes=expected["features"]),
        "local.label": FeatureSet(attributes=expected["labels"]),
    }


def test_the_oracle_holds_its_cases() -> None:
    assert len(CASES) == 70
    assert DIFFERENT.keys() <= CASES.keys()


def test_f1_names_values_and_comments() -> None:
    file = parse_feature_file("a\nb=1\nvendor.com/c=x=y\n\n# comment\n", NOW)
    assert file.features == file.labels == {"a": "true", "b": "1", "vendor.com/c": "x=y"}
    assert file.faults == ()


def test_f2_spaces_around_equals_are_trimmed() -> None:
    assert parse_feature_file("a = b", NOW).features == {"a": "b"}


def test_f4_a_time_that_cannot_be_read_is_reported_and_the_line_published() -> None:
    file = parse_feature_file("# +expiry-time=2080-07-28T11:22:33X\nk=v\n", NOW)
    assert file.features == {"k": "v"}
    assert len(file.faults) == 1
    assert file.faults[0].startswith("line 1: expiry-time '2080-07-28T11:22:33X' is no time")


@pytest.mark.parametrize("directive", ["# + Something", "# +random=1", "# +", "# +no-label please"])
def test_f4_an_unknown_directive_is_reported_and_the_lines_below_are_read(directive: str) -> None:
    file = parse_feature_file(f"{directive}\nk=v\n", NOW)
    assert file.labels == {"k": "v"}
    assert len(file.faults) == 1
    assert "is no directive" in file.faults[0]


def test_f7_a_directive_holds_for_one_line() -> None:
    file = parse_feature_file("# +no-feature\nl=1\nm=2\n", NOW)
    assert file.labels == {"l": "1", "m": "2"}
    assert file.features == {"m": "2"}


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T01:00:00.5+01:00", 500_000_000),
        ("1969-12-31T23:59:59,999999999Z", -1),
        ("1970-01-01T00:00:00.0000000019Z", 1),
        ("2024-02-29T0:00:00Z", 1_709_164_800_000_000_000),
        ("0001-01-01T00:00:00+23:59", -62_135_683_140_000_000_000),
        ("2023-02-29T00:00:00Z", None),
        ("1970-01-01T24:00:00Z", None),
        ("1970-01-01T00:00:60Z", None),
        ("1970-01-01 00:00:00Z", None),
        ("1970-01-01T00:00:00", None),
        ("1970-01-01t00:00:00z", None),
    ],
)
def test_times_to_the_nanosecond(text: str, instant: int | None) -> None:
    assert parse_time(text) == instant


@given(
    st.datetimes(
        timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30)), timezone(-timedelta(hours=7))])
    )
)
def test_a_time_reads_back_as_it_was_written(instant: datetime) -> None:
    assert parse_time(instant.isoformat().replace("+00:00", "Z")) == nanoseconds(instant)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    parse_feature_file(text, NOW)
    parse_time(text)


@given(
    st.lists(
        st.sampled_from(["a", "b=1", "# +no-label", "# +no-feature", "# +expiry-time=2031-05-06T07:08:08Z", "# +x"])
    )
)
def test_only_wrong_directives_are_faults(lines: list[str]) -> None:
    file = parse_feature_file("\n".join(lines), NOW)
    assert len(file.faults) == lines.count("# +x")


def test_a_line_whose_name_is_refused_is_a_fault_and_uses_up_no_directive() -> None:
    text = "# +no-label\nHello\nb=1\nc=2\n"
    file = parse_feature_file(text, NOW, find_problem=lambda name: "no name" if name == "Hello" else None)
    assert (file.features, file.labels) == ({"b": "1", "c": "2"}, {"c": "2"})
    assert file.faults == ("line 2: no name",)
