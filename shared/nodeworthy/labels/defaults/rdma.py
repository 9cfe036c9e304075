"""Default labels for remote direct memory access (NFD, source/custom/static_features.go).

In NFD these are rules of its own, so the names have no source in them, and those of features.d win over them.
"""

from collections.abc import Callable

from nodeworthy.features import FeatureSet
from nodeworthy.labels.defaults.makers import LabelMaker, Made
from nodeworthy.labels.origins import Claims
from nodeworthy.rules.prefixes import DEFAULT_PREFIX

_CAPABLE = "rdma.capable"
_AVAILABLE = "rdma.available"

_MELLANOX = "15b3"
"""All adapters of this PCI vendor are capable."""

_MODULES = frozenset({"ib_uverbs", "rdma_ucm"})
"""What programs talk to: verbs, and the connection manager."""


def makers() -> tuple[LabelMaker, ...]:
    """Capable by the vendor, as in NFD, or since an adapter of any vendor has a driver (case P10); available by modules."""
    return (
        _named("pci.device", _CAPABLE, _by_vendor),
        _named("network.rdma", _CAPABLE, lambda content: (bool(content.instances), False)),
        _named("kernel.loadedmodule", _AVAILABLE, _by_modules),
    )


def _by_vendor(content: FeatureSet) -> tuple[bool, bool]:
    return any(device.get("vendor") == _MELLANOX for device in content.instances or ()), False


def _by_modules(content: FeatureSet) -> tuple[bool, bool]:
    missing = _MODULES - (content.flags or frozenset())
    return not missing, bool(missing) and missing <= content.unobserved


def _named(set_name: str, name: str, find: Callable[[FeatureSet], tuple[bool, bool]]) -> LabelMaker:
    """A maker of one label; ``find`` says whether it is there, and whether that is in doubt."""

    def make(content: FeatureSet) -> Made:
        is_there, is_doubtful = find(content)
        return Made({name: "true"} if is_there else {}, frozenset({name} if is_doubtful else ()))

    # The name is claimed with and without the prefix: whether it gets one is a setting.
    claims = Claims({DEFAULT_PREFIX + name: "true", name: "true"})
    return LabelMaker(set_name, make, claims, takes_names_as_they_are=True)
