"""Nodes with GPUs, and one without."""

from tests.resolver.inspection.nodes import node

from nodeworthy.features import FeatureSet, Snapshot

MODULES = FeatureSet(flags=frozenset({"nvidia", "nvidia_uvm"}))


def gpu_node(driver: str, model: str = "NVIDIA GeForce RTX 4090", device_id: str = "2684") -> Snapshot:
    """A node with one GPU and NVIDIA's driver loaded."""
    module = {"vendor": "nvidia", "where": "module", "name": "nvidia", "version": driver}
    device = {"vendor": "nvidia", "vendor_id": "10de", "kind": "gpu", "model": model, "device_id": device_id}
    return node(
        {},
        accel_driver=FeatureSet(instances=(module,)),
        accel_device=FeatureSet(instances=({name: text for name, text in device.items() if text},)),
        kernel_loadedmodule=MODULES,
    )


BARE = node(
    {},
    accel_driver=FeatureSet(instances=()),
    accel_device=FeatureSet(instances=()),
    pci_device=FeatureSet(instances=()),
    kernel_loadedmodule=FeatureSet(flags=frozenset({"ext4"})),
)


def amd_node(target: str) -> Snapshot:
    """A node with one GPU of AMD's and its driver loaded."""
    return node(
        {},
        accel_device=FeatureSet(instances=({"vendor": "amd", "kind": "gpu", "gfx_target": target},)),
        kernel_loadedmodule=FeatureSet(flags=frozenset({"amdgpu"})),
    )
