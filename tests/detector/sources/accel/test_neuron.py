from collections.abc import Callable

from tests.detector.sources.accel.conftest import Layout, function

from nodeworthy.features import Instance

Accelerators = Callable[[Layout], tuple[Instance, ...]]


def inferentia(address: str) -> Layout:
    return function(address, "088000 1d0f 7264", "neuron-driver", driver__module__version="2.19.64.0\n")


def test_the_version_is_that_of_the_module_whose_name_differs_from_the_drivers(accelerators: Accelerators) -> None:
    (device,) = accelerators(inferentia("0000:00:1f.0") | {"dev/neuron0": ""})
    assert (device["model"], device["driver_version"], device["device_nodes"]) == (
        "Inferentia2",
        "2.19.64.0",
        "/dev/neuron0",
    )


def test_of_several_devices_nobody_says_which_node_is_whose(accelerators: Accelerators) -> None:
    found = accelerators(
        inferentia("0000:00:1e.0") | inferentia("0000:00:1f.0") | {"dev/neuron0": "", "dev/neuron1": ""}
    )
    assert [device.get("device_nodes") for device in found] == [None, None]
