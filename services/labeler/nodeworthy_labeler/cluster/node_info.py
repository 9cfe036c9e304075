"""What a Node's kubelet says of its machine, as facts of producer ``kubernetes``: for nodes that have no detector.

It stands in ``Node.status.nodeInfo``, so it is read by a GET for each such Node, when it is first seen and now and then.
Nodes with a detector cost none: a detector knows all of it better.
"""

import re

import msgspec

from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.client import Client, decode
from nodeworthy.kubernetes.refusals import KubernetesNotFoundError
from nodeworthy.kubernetes.resources import NODES

NODE_SET = "kubernetes.node"
"""All that the kubelet says, under names of our own; every Node has it, whatever its operating system."""
_KERNEL_SET = "kernel.version"
_ARCHITECTURE_SET = "system.architecture"

_NUMBERS = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")
_ILLEGAL = re.compile(r"[^-A-Za-z0-9_.]+")


class NodeInfo(msgspec.Struct, frozen=True, rename="camel"):
    """``NodeSystemInfo`` of the core API, as far as it tells something of the machine."""

    operating_system: str = ""
    architecture: str = ""
    kernel_version: str = ""
    os_image: str = ""
    container_runtime_version: str = ""
    kubelet_version: str = ""


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    node_info: NodeInfo = NodeInfo()


class _Node(msgspec.Struct, frozen=True):
    status: _Status = _Status()


def make_node_facts(info: NodeInfo) -> Snapshot:
    """The facts of a Node.

    Kernel and architecture stand under the names that detectors use where the system is Linux: verdicts and rules mean Linux
    by them.
    """
    said = {
        "os": info.operating_system,
        "architecture": info.architecture,
        "kernel_version": info.kernel_version,
        "os_image": info.os_image,
        "container_runtime": info.container_runtime_version,
        "kubelet_version": info.kubelet_version,
    }
    contents = {NODE_SET: FeatureSet(attributes={name: value for name, value in said.items() if value})}
    if info.operating_system == "linux":
        if info.architecture:
            contents[_ARCHITECTURE_SET] = FeatureSet(
                attributes={"architecture": info.architecture},
                unobserved=frozenset({"machine", "bits", "endianness"}),
            )
        if info.kernel_version:
            contents[_KERNEL_SET] = FeatureSet(attributes=_read_kernel(info.kernel_version))
    return Snapshot(contents, catalogue=frozenset({NODE_SET, _KERNEL_SET, _ARCHITECTURE_SET}))


def _read_kernel(release: str) -> dict[str, str]:
    """``6.12.43+deb13-amd64``: the whole as NFD writes it, and its numbers."""
    full = _ILLEGAL.sub("_", release).strip("-_.")
    found = _NUMBERS.match(full)
    numbers = {} if found is None else dict(zip(("major", "minor", "revision"), found.groups(""), strict=True))
    return {"full": full, "raw": release, **numbers}


async def fetch_node_info(client: Client, node: str) -> Snapshot | None:
    """The facts of a Node; ``None``: there is no such Node.

    Raises:
        KubernetesError: not known.
    """
    request = requests.read(NODES, node)
    try:
        answer = await client.request(request)
    except KubernetesNotFoundError:
        return None
    return make_node_facts(decode(answer.body, _Node, request.what).status.node_info)
