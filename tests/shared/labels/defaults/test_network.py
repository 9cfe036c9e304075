from collections.abc import Callable

import pytest

from nodeworthy.features import FeatureSet

Make = Callable[..., dict[str, str]]
CAPABLE, CONFIGURED = "network-sriov.capable", "network-sriov.configured"


@pytest.mark.parametrize(
    ("device", "labels"),
    [
        ({"sriov_totalvfs": "64", "sriov_numvfs": "0"}, {CAPABLE: "true"}),
        ({"sriov_totalvfs": "64", "sriov_numvfs": "4"}, {CAPABLE: "true", CONFIGURED: "true"}),
        ({"sriov_totalvfs": "0", "sriov_numvfs": "0"}, {}),
        ({"name": "eth0v3"}, {}),
        ({"sriov_totalvfs": "many", "sriov_numvfs": "-1"}, {}),
        ({"sriov_totalvfs": "9" * 5000}, {}),
    ],
)
def test_p5_functions_that_can_have_virtual_ones_and_those_that_have(
    make_labels: Make, device: dict[str, str], labels: dict[str, str]
) -> None:
    others = ({"name": "eth1"}, device)
    assert make_labels("network.device", FeatureSet(instances=others)) == labels
    assert make_labels("network.virtual", FeatureSet(instances=others)) == {}
