"""The labels that a node gets without any rule: NFD's, one file per source.

Each *maker* reads one set and depends on nothing else but settings, so that its labels need be made only once for all nodes
with the same content. A new default label is a maker in its source's file, its row in docs, and a test with facts that give
it, facts that do not, and the set unknown. Does not belong here: reading machines, and labels that rules give.

The facts are those of the node's own detector: what other producers add to a set makes no default labels, as in NFD, where
only the worker makes them.
"""

from nodeworthy.labels.defaults.making import (
    CompiledDefaults,
    DefaultLabel,
    DefaultLabels,
    compile_defaults,
    join_default_labels,
    make_default_labels,
)

__all__ = [
    "CompiledDefaults",
    "DefaultLabel",
    "DefaultLabels",
    "compile_defaults",
    "join_default_labels",
    "make_default_labels",
]
