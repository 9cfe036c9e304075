"""AWS Neuron: the devices' nodes; their folders in sysfs do not say which PCI function they belong to."""

import re
from collections.abc import Sequence

from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.accel.record import Device, Told, only_node
from nodeworthy_detector.sources.reading import Faults

_NODE = re.compile(r"neuron[0-9]+")


def read_told(host: Host, devices: Sequence[Device], faults: Faults) -> dict[str, Told]:
    """The node of the only device (``neuron_cdev.c`` of the driver makes devices without a parent)."""
    nodes = only_node(host, devices, _NODE, faults)
    return {device.folder: Told(nodes=nodes) for device in devices}
