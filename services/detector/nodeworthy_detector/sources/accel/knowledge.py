"""What is known of accelerators by their numbers: vendors, kinds, and names of those that no driver names.

Vendor numbers and PCI classes are those of the PCI ID database (https://pci-ids.ucw.cz).
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["gpu", "npu", "fpga", "other"]

PCI_VENDORS: Mapping[str, str] = {
    "1002": "amd",
    "1022": "amd",
    "10de": "nvidia",
    "10ee": "xilinx",
    "1172": "altera",
    "17cb": "qualcomm",
    "19e5": "huawei",
    "1ac1": "google",  # Global Unichip, which makes Google's Edge TPU
    "1ae0": "google",
    "1d0f": "aws",
    "1d94": "hygon",
    "1da3": "habana",
    "1e52": "tenstorrent",
    "1e60": "hailo",
    "1ed2": "furiosa",
    "1ed5": "moore-threads",
    "1eff": "rebellions",
    "8086": "intel",
    "cabc": "cambricon",
}
"""Words for vendor numbers; another vendor's word is its number."""

TREE_VENDORS: Mapping[str, str] = {
    "altr": "altera",
    "brcm": "broadcom",
    "fsl": "nxp",
    "img": "imagination",
    "qcom": "qualcomm",
    "xlnx": "xilinx",
}
"""Words for vendors in device trees, where they differ (Documentation/devicetree/bindings/vendor-prefixes.yaml)."""

_GPU_VENDORS = frozenset({"1002", "10de", "1d94", "1ed5", "8086"})
"""Of class 03, display: the other vendors' are consoles of servers and virtual machines, which compute nothing."""

_ACCELERATOR_GPU_VENDORS = frozenset({"1002", "10de", "1d94"})
"""Of class 12: AMD's Instinct cards are no displays."""

_FPGA_VENDORS = frozenset({"10ee", "1172"})
_NPU_VENDORS = frozenset({"17cb", "1ae0", "1d0f", "1da3", "1e52", "1e60", "1ed2", "1eff", "cabc"})

_DISPLAY, _ACCELERATOR, _CO_PROCESSOR = "03", "12", "0b40"
TABLE_CLASSES = ("08", "11", "ff")
"""System peripherals, signal processors and unclassified: only functions of :data:`_KNOWN` are accelerators among them."""

_KNOWN: Mapping[tuple[str, str], tuple[Kind, str]] = {
    # pci.ids; a virtual function's driver finds no name on the board.
    ("1002", "738c"): ("gpu", "AMD Instinct MI100"),
    ("1002", "7408"): ("gpu", "AMD Instinct MI250X"),
    ("1002", "740c"): ("gpu", "AMD Instinct MI250X/MI250"),
    ("1002", "740f"): ("gpu", "AMD Instinct MI210"),
    ("1002", "74a0"): ("gpu", "AMD Instinct MI300A"),
    ("1002", "74a1"): ("gpu", "AMD Instinct MI300X"),
    ("1002", "74a2"): ("gpu", "AMD Instinct MI308X"),
    ("1002", "74a5"): ("gpu", "AMD Instinct MI325X"),
    ("1002", "74b5"): ("gpu", "AMD Instinct MI300X VF"),
    ("1002", "74b9"): ("gpu", "AMD Instinct MI325X VF"),
    # Linux, drivers/accel/amdxdna/amdxdna_pci_drv.c
    ("1022", "1502"): ("npu", "AMD Ryzen AI NPU"),
    ("1022", "17f0"): ("npu", "AMD Ryzen AI NPU"),
    # Linux, drivers/accel/qaic/qaic_drv.c
    ("17cb", "a100"): ("npu", "Qualcomm Cloud AI 100"),
    # Device table of Huawei's installation guides ("lspci | grep d802")
    ("19e5", "d100"): ("npu", "Ascend 310"),
    ("19e5", "d500"): ("npu", "Ascend 310P"),
    ("19e5", "d801"): ("npu", "Ascend 910"),
    ("19e5", "d802"): ("npu", "Ascend 910B"),
    ("19e5", "d803"): ("npu", "Ascend 910C"),
    # Linux, drivers/staging/gasket/apex_driver.c (until 5.18)
    ("1ac1", "089a"): ("npu", "Coral Edge TPU"),
    # JAX, jax/_src/hardware_utils.py
    ("1ae0", "0027"): ("npu", "TPU v2/v3"),
    ("1ae0", "005e"): ("npu", "TPU v4"),
    ("1ae0", "0062"): ("npu", "TPU v5p"),
    ("1ae0", "0063"): ("npu", "TPU v5e"),
    ("1ae0", "006f"): ("npu", "TPU v6e"),
    # aws-neuron-driver, neuron_device.h
    ("1d0f", "7064"): ("npu", "Inferentia"),
    ("1d0f", "7065"): ("npu", "Inferentia"),
    ("1d0f", "7066"): ("npu", "Inferentia"),
    ("1d0f", "7067"): ("npu", "Inferentia"),
    ("1d0f", "7164"): ("npu", "Trainium"),
    ("1d0f", "7264"): ("npu", "Inferentia2"),
    ("1d0f", "7364"): ("npu", "Trainium2"),
    # Linux, drivers/accel/habanalabs/common/habanalabs_drv.c
    ("1da3", "0001"): ("npu", "Goya"),
    ("1da3", "1000"): ("npu", "Gaudi"),
    ("1da3", "1010"): ("npu", "Gaudi"),
    ("1da3", "1020"): ("npu", "Gaudi2"),
    ("1da3", "1060"): ("npu", "Gaudi3"),
    # Linux, drivers/fpga/dfl-pci.c
    ("8086", "09c4"): ("fpga", "Intel PAC with Arria 10 GX FPGA"),
    ("8086", "0b30"): ("fpga", "Intel FPGA PAC N3000"),
    ("8086", "0b2b"): ("fpga", "Intel FPGA PAC D5005"),
    ("8086", "bcce"): ("fpga", "Intel OFS FPGA"),
    # Linux, drivers/accel/ivpu/ivpu_drv.h
    ("8086", "643e"): ("npu", "Intel NPU (Lunar Lake)"),
    ("8086", "7d1d"): ("npu", "Intel NPU (Meteor Lake)"),
    ("8086", "ad1d"): ("npu", "Intel NPU (Arrow Lake)"),
    ("8086", "b03e"): ("npu", "Intel NPU (Panther Lake)"),
}
"""Kind and model by vendor and device number, for those that neither their class nor their driver names."""


def classify(pci_class: str, vendor: str, device: str) -> Kind | None:
    """What kind of accelerator a PCI function is, by class (at least its first four digits) and numbers; else ``None``.

    >>> classify("030200", "10de", "2330"), classify("030000", "1a03", "2000"), classify("088000", "1d0f", "7164")
    ('gpu', None, 'npu')
    """
    if (vendor, device) in _KNOWN:
        return _KNOWN[vendor, device][0]
    if pci_class.startswith(_DISPLAY):
        return "gpu" if vendor in _GPU_VENDORS else None
    if not pci_class.startswith((_ACCELERATOR, _CO_PROCESSOR)):
        return None
    if vendor in _ACCELERATOR_GPU_VENDORS:
        return "gpu"
    if vendor in _FPGA_VENDORS:
        return "fpga"
    return "npu" if vendor in _NPU_VENDORS else "other"


def may_be_accelerator(pci_class: str) -> bool:
    """Whether a function of this class needs a second look; most functions of a server do not."""
    return pci_class.startswith((_DISPLAY, _ACCELERATOR, _CO_PROCESSOR, *TABLE_CLASSES))


def known_model(vendor: str, device: str) -> str | None:
    """The model by its numbers, where the table has it."""
    known = _KNOWN.get((vendor, device))
    return known[1] if known else None


def vendor_word(vendor: str) -> str:
    """The word for a PCI vendor number."""
    return PCI_VENDORS.get(vendor, vendor)


def tree_vendor(compatible: str) -> str | None:
    """The word for the vendor in a ``compatible`` of a device tree.

    >>> tree_vendor("xlnx,zynqmp-pcap-fpga"), tree_vendor("arm,mali-bifrost"), tree_vendor("")
    ('xilinx', 'arm', None)
    """
    prefix, comma, _ = compatible.partition(",")
    return TREE_VENDORS.get(prefix, prefix) if comma and prefix else None
