"""NFD's tracking annotations, read."""

from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.labels import RejectedKind
from nodeworthy_cli.labels.nfd_tracking import read_tracking

NFD = "nfd.node.kubernetes.io/"


def test_short_names_get_the_default_prefix_and_full_ones_stay() -> None:
    tracked = read_tracking({f"{NFD}feature-labels": "cpu-cpuid.AVX2,vendor.com/card", "other": "x"})
    assert tracked.keys == {RejectedKind.LABEL: {"feature.node.kubernetes.io/cpu-cpuid.AVX2", "vendor.com/card"}}
    assert tracked.annotations == (f"{NFD}feature-labels",)


def test_the_annotations_of_all_instances_count_together() -> None:
    tracked = read_tracking({f"{NFD}feature-labels": "a.org/1", f"gpu.{NFD}feature-labels": "a.org/2"})
    assert tracked.keys == {RejectedKind.LABEL: {"a.org/1", "a.org/2"}}
    assert tracked.annotations == (f"gpu.{NFD}feature-labels", f"{NFD}feature-labels")


def test_every_kind_is_read_and_an_empty_list_names_nothing() -> None:
    tracked = read_tracking(
        {
            f"{NFD}feature-labels": "",
            f"{NFD}feature-annotations": "a.org/note",
            f"{NFD}extended-resources": "a.org/slots",
            f"{NFD}taints": "a.org/gpu=true:NoSchedule,a.org/x:NoExecute",
        }
    )
    assert tracked.keys == {
        RejectedKind.ANNOTATION: {"a.org/note"},
        RejectedKind.EXTENDED_RESOURCE: {"a.org/slots"},
    }
    assert tracked.taints == {"a.org/gpu:NoSchedule": "true", "a.org/x:NoExecute": ""}
    assert len(tracked.annotations) == 4


def test_other_annotations_of_nfd_and_names_that_only_end_alike_are_left_alone() -> None:
    tracked = read_tracking({f"{NFD}worker.version": "v1", f"not{NFD}feature-labels": "a", "feature-labels": "b"})
    assert (tracked.keys, tracked.taints, tracked.annotations) == ({}, {}, ())


@given(st.dictionaries(st.sampled_from(["feature-labels", "taints", "extended-resources"]), st.text()))
def test_no_text_stops_the_reading_and_no_name_is_empty(texts: dict[str, str]) -> None:
    tracked = read_tracking({NFD + name: text for name, text in texts.items()})
    assert all(name and "/" in name for names in tracked.keys.values() for name in names)
    assert len(tracked.annotations) == len(texts)
