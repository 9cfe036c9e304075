import pytest

from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot, SourceHealth, digest, encode, is_blind

FLAGS = FeatureSet(flags=frozenset({"AVX"}))


def test_a_delivered_set_is_present_and_its_status_carries_the_digest() -> None:
    snapshot = Snapshot({"cpu.cpuid": FLAGS}, catalogue=frozenset({"cpu.cpuid"}))
    assert snapshot.lookup("cpu.cpuid") == (SetState.PRESENT, FLAGS, "")
    assert snapshot.status("cpu.cpuid") == SetStatus(SetState.PRESENT, digest=digest(encode(FLAGS)))


def test_the_status_of_a_set_names_what_was_not_observed_of_it() -> None:
    content = FeatureSet(flags=frozenset({"AVX"}), unobserved=frozenset({"TSXLDTRK", "HTT"}))
    status = Snapshot({"cpu.cpuid": content}).status("cpu.cpuid")
    assert status == SetStatus(SetState.PRESENT, digest=digest(encode(content)), unobserved=("HTT", "TSXLDTRK"))


def test_a_set_outside_the_catalogue_is_absent() -> None:
    assert Snapshot({}, catalogue=frozenset({"cpu.cpuid"})).lookup("gpu.device").state is SetState.ABSENT


def test_a_set_that_is_listed_and_not_delivered_is_unknown() -> None:
    assert Snapshot({}, catalogue=frozenset({"cpu.cpuid"})).lookup("cpu.cpuid").state is SetState.UNKNOWN


def test_without_a_catalogue_everything_that_is_not_there_is_unknown() -> None:
    assert Snapshot({"cpu.cpuid": FLAGS}).lookup("pci.device").state is SetState.UNKNOWN


def test_a_status_says_why() -> None:
    status = SetStatus(SetState.UNKNOWN, "sys/bus/pci: Permission denied")
    snapshot = Snapshot({}, {"pci.device": status}, frozenset({"pci.device"}))
    assert snapshot.lookup("pci.device") == (SetState.UNKNOWN, None, "sys/bus/pci: Permission denied")


def test_a_set_without_any_kind_is_there_all_the_same() -> None:
    assert Snapshot({"a.b": FeatureSet()}).lookup("a.b").state is SetState.PRESENT


@pytest.mark.parametrize(
    ("sources", "blind"),
    [
        ({"cpu": "no", "pci": "no", "bus": ""}, True),
        ({"cpu": "no", "pci": "", "bus": "no"}, False),
        ({"bus": "no", "configuration": "no"}, False),
        ({}, False),
    ],
)
def test_a_machine_is_not_seen_where_every_source_fails_and_what_is_no_source_does_not_count(
    sources: dict[str, str], blind: bool
) -> None:
    health = {name: SourceHealth(error=error) for name, error in sources.items()}
    assert is_blind(health) is blind
    assert is_blind(health | {"usb": SourceHealth(disabled=True)}) is blind
