"""What labelers say of the rules in force."""

import pytest

from nodeworthy.bus import payloads
from nodeworthy.bus.keys import parse_labels_key
from nodeworthy.bus.rule_reports import RULES_KEY, ObjectReport, decode_rules, make_rules_record
from nodeworthy.bus.streams import MAX_LABELS_BYTES
from nodeworthy.errors import PayloadError, PayloadVersionError, UsageError
from nodeworthy.labels import RuleStatus


def test_a_record_is_read_as_it_was_written() -> None:
    report = ObjectReport("o", ("o.yaml",), ("bad",), ("old",), 3, 7, (RuleStatus("r", matched=7),), "r: why", 1, 2)
    record = make_rules_record("sha256:0", [report])
    assert decode_rules(payloads.encode(record)) == record
    assert not report.is_accepted


def test_more_objects_than_fit_are_counted_and_the_record_can_be_stored() -> None:
    reports = [ObjectReport(f"object-{number:05}", problems=("x" * 300,)) for number in range(5000)]
    record = make_rules_record("sha256:0", reports)
    assert 0 < len(record.objects) < 5000
    assert record.left_out == 5000 - len(record.objects)
    body = payloads.encode(record)
    assert len(body) <= MAX_LABELS_BYTES
    assert decode_rules(body) == record


def test_no_node_has_its_key() -> None:
    with pytest.raises(UsageError):
        parse_labels_key(RULES_KEY)


def test_what_is_no_record_is_told() -> None:
    with pytest.raises(PayloadError):
        decode_rules(b"junk")
    with pytest.raises(PayloadVersionError):
        decode_rules(b'{"version": 99}')
