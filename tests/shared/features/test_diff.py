import msgspec
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot, diff_sets, diff_snapshots

names = st.sampled_from(["a", "b", "c"])
attributes = st.dictionaries(names, names, max_size=3)


def without_names(content: FeatureSet, unobserved: frozenset[str]) -> FeatureSet:
    return msgspec.structs.replace(content, unobserved=unobserved - content.names())


sets = st.builds(
    without_names,
    st.builds(
        FeatureSet,
        flags=st.none() | st.frozensets(names),
        attributes=st.none() | attributes,
        instances=st.none() | st.lists(attributes, max_size=4).map(tuple),
    ),
    st.frozensets(names),
)


def test_flags_and_attributes_are_added_removed_and_changed() -> None:
    old = FeatureSet(flags=frozenset({"AVX", "MMX"}), attributes={"level": "1", "gone": "x"})
    new = FeatureSet(flags=frozenset({"AVX", "AVX2"}), attributes={"level": "2", "here": "y"})
    change = diff_sets(old, new)
    assert change.flags_added == ("AVX2",)
    assert change.flags_removed == ("MMX",)
    assert change.attributes_changed == {"level": ("1", "2")}
    assert change.attributes_added == {"here": "y"}
    assert change.attributes_removed == {"gone": "x"}


def test_a_name_that_comes_to_be_observed_is_a_change() -> None:
    old = FeatureSet(flags=frozenset({"AVX"}), unobserved=frozenset({"HTT", "IBRS"}))
    new = FeatureSet(flags=frozenset({"AVX"}), unobserved=frozenset({"HTT", "MOVU"}))
    change = diff_sets(old, new)
    assert (change.unobserved_added, change.unobserved_removed) == (("MOVU",), ("IBRS",))
    assert not change.flags_added
    assert diff_sets(old, None).unobserved_removed == ("HTT", "IBRS")


def test_equal_devices_are_counted() -> None:
    device = {"vendor": "10de"}
    change = diff_sets(FeatureSet(instances=(device,)), FeatureSet(instances=(device, device, {"vendor": "8086"})))
    assert change.instances_added == (device, {"vendor": "8086"})
    assert change.instances_removed == ()


def test_another_order_of_the_same_devices_is_a_change_of_its_own() -> None:
    one, two = {"name": "eth0"}, {"name": "eth1"}
    change = diff_sets(FeatureSet(instances=(one, two)), FeatureSet(instances=(two, one)))
    assert change.instances_reordered
    assert not change.instances_added


def test_a_set_that_comes_is_all_added() -> None:
    change = diff_sets(None, FeatureSet(flags=frozenset({"a"})))
    assert (change.flags_added, change.kinds_added) == (("a",), ("flags",))


@given(sets, sets)
def test_there_is_a_difference_exactly_where_contents_differ(old: FeatureSet, new: FeatureSet) -> None:
    assert bool(diff_sets(old, new)) == (old != new)


@given(sets, sets)
def test_the_way_back_is_the_mirror(old: FeatureSet, new: FeatureSet) -> None:
    there, back = diff_sets(old, new), diff_sets(new, old)
    assert there.flags_added == back.flags_removed
    assert there.attributes_added == back.attributes_removed
    assert there.instances_added == back.instances_removed
    assert there.kinds_added == back.kinds_removed
    assert there.unobserved_added == back.unobserved_removed


def test_snapshots_differ_in_contents_and_states() -> None:
    flags = FeatureSet(flags=frozenset({"AVX"}))
    catalogue = frozenset({"cpu.cpuid", "pci.device"})
    old = Snapshot({"cpu.cpuid": flags}, {"pci.device": SetStatus(SetState.ABSENT)}, catalogue)
    new = Snapshot({}, {"cpu.cpuid": SetStatus(SetState.UNKNOWN, "failed")}, catalogue)
    diff = diff_snapshots(old, new)
    assert diff.contents["cpu.cpuid"].flags_removed == ("AVX",)
    assert diff.statuses["cpu.cpuid"][1] == SetStatus(SetState.UNKNOWN, "failed")
    assert diff.statuses["pci.device"][1].state is SetState.UNKNOWN


def test_a_snapshot_does_not_differ_from_itself() -> None:
    snapshot = Snapshot({"cpu.cpuid": FeatureSet(flags=frozenset({"AVX"}))}, catalogue=frozenset({"cpu.cpuid"}))
    assert not diff_snapshots(snapshot, snapshot)
