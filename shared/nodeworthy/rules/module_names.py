"""Names of kernel modules, in which ``-`` and ``_`` are the same letter.

The kernel writes ``vfio_pci`` in /proc/modules, files and people write ``vfio-pci``, and ``modprobe`` takes both (kmod,
modprobe(8)). NFD compares letter by letter, so that its own example artifact, which asks for ``vfio-pci``, never matches.
"""

import msgspec

from nodeworthy.features import FeatureSet

MODULE_SETS = frozenset({"kernel.availablemodule", "kernel.enabledmodule", "kernel.loadedmodule", "kernel.module"})
"""The sets whose elements are module names."""


def unify(name: str) -> str:
    """The one spelling that is compared."""
    return name.replace("-", "_")


def spellings(name: str) -> set[str]:
    """How a pattern may spell the name: as it stands, with ``_`` only, with ``-`` only."""
    return {name, name.replace("-", "_"), name.replace("_", "-")}


def unify_set(content: FeatureSet) -> FeatureSet:
    """The set with every flag in the one spelling; module sets have flags only."""
    if not any("-" in name for names in (content.flags or (), content.unobserved) for name in names):
        return content
    flags = None if content.flags is None else frozenset(map(unify, content.flags))
    unified = FeatureSet(flags, content.attributes, content.instances)
    # What was observed in one spelling is observed.
    unobserved = frozenset(map(unify, content.unobserved)) - unified.names()
    return msgspec.structs.replace(unified, unobserved=unobserved) if unobserved else unified
