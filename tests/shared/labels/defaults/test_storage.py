from collections.abc import Callable, Mapping

import pytest

from nodeworthy.features import FeatureSet

Make = Callable[..., dict[str, str]]


@pytest.mark.parametrize(
    ("disks", "labels"),
    [
        (
            ({"name": "sda", "rotational": "1"}, {"name": "nvme0n1", "rotational": "0"}),
            {"storage-nonrotationaldisk": "true"},
        ),
        (({"name": "sda", "rotational": "1"},), {}),
        (({"name": "sda"},), {}),
        ((), {}),
    ],
)
def test_a_disk_that_does_not_rotate_is_a_label(
    make_labels: Make, disks: tuple[Mapping[str, str], ...], labels: Mapping[str, str]
) -> None:
    assert make_labels("storage.block", FeatureSet(instances=disks)) == labels
