"""Settings of labels; the defaults are NFD's (nfd-worker's configuration file, commit 76e6cc8)."""

from dataclasses import dataclass, field

_COMMON_FLAGS = (
    "AVX10 BMI1 BMI2 CLMUL CMOV CX16 ERMS F16C HTT LZCNT MMX MMXEXT NX POPCNT RDRAND RDSEED RDTSCP SGX SGXLC"
    " SSE SSE2 SSE3 SSE4 SSE42 SSSE3 TDX_GUEST"
)
DEFAULT_CPUID_DENYLIST = frozenset(_COMMON_FLAGS.split())
"""NFD's: what nearly every machine has, and what is told better by a label of its own (SGX, TDX)."""


@dataclass(frozen=True)
class CpuLabels:
    """Which flags of ``cpu.cpuid`` become labels; the facts are not touched by it."""

    cpuid_denylist: frozenset[str] = DEFAULT_CPUID_DENYLIST
    """Exact names that get no label (NFD: ``sources.cpu.cpuid.attributeBlacklist``)."""
    cpuid_allowlist: frozenset[str] = frozenset()
    """If not empty, the only names that get one, and the denylist is not looked at (``attributeWhitelist``)."""


@dataclass(frozen=True)
class KernelLabels:
    """Which options of the kernel's configuration become labels."""

    config_options: tuple[str, ...] = ("NO_HZ", "NO_HZ_IDLE", "NO_HZ_FULL", "PREEMPT")
    """Names without ``CONFIG_`` (``sources.kernel.configOpts``)."""


@dataclass(frozen=True)
class PciLabels:
    """Which PCI functions become labels, and how these are named."""

    class_prefixes: tuple[str, ...] = ("03", "0b40", "12")
    """Beginnings of class codes: displays, co-processors, accelerators (``sources.pci.deviceClassWhitelist``)."""
    name_fields: tuple[str, ...] = ("class", "vendor")
    """What the label's name is made of, in a fixed order whatever stands here (``sources.pci.deviceLabelFields``)."""


@dataclass(frozen=True)
class UsbLabels:
    """Which USB devices become labels, and how these are named."""

    class_prefixes: tuple[str, ...] = ("0e", "ef", "fe", "ff")
    """Beginnings of class codes: video, and those that say nothing of a device's use, under which accelerators go
    (``sources.usb.deviceClassWhitelist``)."""
    name_fields: tuple[str, ...] = ("class", "vendor", "device")
    """What the label's name is made of; ``serial`` may be, too (``sources.usb.deviceLabelFields``)."""


@dataclass(frozen=True)
class DefaultLabelSettings:
    """Settings of the labels that a node gets without any rule."""

    cpu: CpuLabels = field(default_factory=CpuLabels)
    kernel: KernelLabels = field(default_factory=KernelLabels)
    pci: PciLabels = field(default_factory=PciLabels)
    usb: UsbLabels = field(default_factory=UsbLabels)
    name_pattern: str = ""
    """A regular expression (RE2) that must be found in the name after ``/``; empty: every name (``core.labelWhiteList``)."""


@dataclass(frozen=True)
class AcceptanceSettings:
    """Which labels may be given at all; the other outputs of rules are not touched by it (as in nfd-master)."""

    denied_namespaces: tuple[str, ...] = ()
    """What stands before ``/``; ``*.x.org`` is every namespace that ends so, not ``x.org`` (``denyLabelNs``)."""
    extra_namespaces: frozenset[str] = frozenset()
    """Namespaces that are taken although they are denied, or Kubernetes' own (``extraLabelNs``)."""
    name_pattern: str = ""
    """A regular expression (RE2) that must be found in the name after ``/``; empty: every name (``labelWhiteList``)."""
    node_feature_labels: bool = True
    """Off: only a node's own NodeFeature object brings labels, the one of its name in the labeler's namespace; of the others
    the features alone are taken (``restrictions.denyNodeFeatureLabels``)."""


@dataclass(frozen=True)
class OutputSettings:
    """Which kinds of what rules give reach a node; what is switched off goes, as in nfd-master."""

    labels: bool = True
    """Off: no label at all, default ones included (``restrictions.disableLabels``)."""
    annotations: bool = True
    """(``restrictions.disableAnnotations``)"""
    extended_resources: bool = True
    """(``restrictions.disableExtendedResources``)"""
    taints: bool = False
    """Off unless somebody wants it: a taint keeps pods away (``enableTaints``)."""


@dataclass(frozen=True)
class LabelSettings:
    """Settings of all labels."""

    defaults: DefaultLabelSettings = field(default_factory=DefaultLabelSettings)
    acceptance: AcceptanceSettings = field(default_factory=AcceptanceSettings)
    outputs: OutputSettings = field(default_factory=OutputSettings)
    auto_prefix: bool = True
    """Names without a namespace get ``feature.node.kubernetes.io/``, as in NFD unless ``DisableAutoPrefix`` is on.

    A rule object with the annotation ``nodeworthy.io/auto-prefix: "false"`` does without it on its own."""
    max_labels: int = 500
    """How many labels of one node may be ours; an object in etcd holds 1.5 MB, and a mistaken rule could fill it."""
