"""Names of kernel modules, in which ``-`` and ``_`` are the same letter.

The kernel writes ``vfio_pci`` in /proc/modules, files and people write ``vfio-pci``, and ``modprobe`` takes both (kmod,
modprobe(8)). NFD compares letter by letter, so that its own example artifact, which asks for ``vfio-pci``, never matches.
"""

from nodeworthy.features import FeatureSet

MODULE_SETS = frozenset({"kernel.loadedmodule", "kernel.enabledmodule", "kernel.module"})
"""The sets whose elements are module names."""


def unify(name: str) -> str:
    """The one spelling that is compared."""
    return name.replace("-", "_")


def spellings(name: str) -> set[str]:
    """How a pattern may spell the name: as it stands, with ``_`` only, with ``-`` only."""
    return {name, name.replace("-", "_"), name.replace("_", "-")}


def unify_set(content: FeatureSet) -> FeatureSet:
    """The set with every flag in the one spelling; module sets have flags only."""
    if content.flags is None or not any("-" in flag for flag in content.flags):
        return content
    return FeatureSet(frozenset(map(unify, content.flags)), content.attributes, content.instances)
