import re
from dataclasses import fields

from nodeworthy_detector.metrics import PREFIX, Metrics, write_metrics

LINE = re.compile(r'[a-z_]+(\{source="[a-z]+"\})? [0-9.e+]+')
"""A sample of Prometheus's text format 0.0.4 as far as ours go."""


def test_every_number_is_written_with_its_meaning_and_type() -> None:
    text = write_metrics(Metrics(connected=1, snapshots_stored_total=7, pass_cpu_seconds=0.004))
    assert f"# TYPE {PREFIX}snapshots_stored_total counter\n{PREFIX}snapshots_stored_total 7\n" in text
    assert f"# TYPE {PREFIX}connected gauge\n{PREFIX}connected 1\n" in text
    assert f"{PREFIX}pass_cpu_seconds 0.004\n" in text
    for counted in fields(Metrics):
        assert re.search(rf"^# HELP {PREFIX}{counted.name} [A-Z1].*\.$", text, re.MULTILINE)


def test_sources_are_labels() -> None:
    text = write_metrics(Metrics(source_failed={"pci": 1, "cpu": 0}, source_faults={"pci": 12}))
    assert f'{PREFIX}source_failed{{source="cpu"}} 0\n{PREFIX}source_failed{{source="pci"}} 1\n' in text
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(LINE.fullmatch(line) for line in samples)


def test_two_sets_of_metrics_do_not_share_their_numbers() -> None:
    one = Metrics()
    one.source_failed = {**one.source_failed, "pci": 1}
    assert Metrics().source_failed == {}
