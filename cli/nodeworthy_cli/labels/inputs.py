"""Everything that a labeler goes by, read once: facts, rules, Nodes, and what was remembered before."""

import contextlib
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from nodeworthy.errors import UsageError
from nodeworthy.fleet import Fleet
from nodeworthy.labels import (
    LabelMemory,
    LabelSettings,
    RuleObject,
    TargetState,
    compile_policy,
    labels_of_memory,
    settings_file,
)
from nodeworthy_cli.labels import cluster_inputs
from nodeworthy_cli.labels.facts_reading import Facts, FactsReading
from nodeworthy_cli.labels.reaching import Reach
from nodeworthy_cli.labels.records import read_labels
from nodeworthy_labeler.cluster.node_objects import NodeObject
from nodeworthy_labeler.rule_files import LoadedRules, load_rules
from nodeworthy_labeler.rule_set import RuleSet, compile_rules
from nodeworthy_labeler.rule_watch import join_rules

_NO_RULES = LoadedRules(())
_UNKNOWN_RULES = LoadedRules((RuleObject("", (), "the labeler's rules", "they are not on the bus"),))
"""They may give anything, so that nothing follows of what they give."""


@dataclass(frozen=True)
class Known:
    """What a labeler would go by."""

    facts: Facts
    rules: RuleSet
    nodes: Mapping[str, NodeObject] | None
    """The cluster's; ``None``: the bucket is all there is."""
    memories: Mapping[str, LabelMemory]
    unreadable: Mapping[str, str]
    """Nodes whose record cannot be read, and why."""
    unused: tuple[str, ...] = ()
    """What of the cluster is not used, and why."""
    reading: FactsReading | None = None
    """``None``: no bus is named."""
    has_rules: bool = True
    """Whether the rules are known; if not, they may give anything."""

    @property
    def fleet(self) -> Fleet:
        """The facts of all nodes."""
        return self.facts.table.fleet

    def choose(self, names: Collection[str]) -> list[str]:
        """The nodes of these names, or all of which something is known.

        Raises:
            UsageError: there is no such node, or nobody knows anything of it.
        """
        if not names:
            return sorted(node for node in self.fleet.nodes() if self.nodes is None or node in self.nodes)
        chosen = list(dict.fromkeys(names))
        for name in chosen:
            if self.nodes is not None and name not in self.nodes:
                raise UsageError(f"there is no Node {name}", todo="see the Nodes: kubectl get nodes")
        self.fleet.rows(chosen)
        return chosen

    def state(self, node: str) -> TargetState:
        """What a node has, and what is remembered of it."""
        memory = self.memories.get(node)
        if self.nodes is None:
            return TargetState(labels_of_memory(memory), memory)
        return TargetState(self.nodes[node].labels, memory)


def read_label_settings(path: Path | None) -> LabelSettings:
    """The labeler's settings of labels, of ``--labels-config``; what is good to know of the file is told.

    Raises:
        UsageError: the file cannot be read.
        DocumentError: it has mistakes.
    """
    if path is None:
        return LabelSettings()
    settings, notices = settings_file.read_label_settings(path)
    for notice in notices:
        click.echo(f"note: {notice}", err=True)
    return settings


@contextlib.asynccontextmanager
async def reading_inputs(
    reach: Reach, folder: Path | None, names: Collection[str] = (), settings: LabelSettings | None = None
) -> AsyncIterator[Known]:
    """What a labeler would go by; its facts go on as long as the context lasts, everything else is of its beginning.

    Args:
        reach: The bus, the cluster, or both.
        folder: Rules that are in force beside those of the cluster; an object in it stands for the one of its name there.
            Without a cluster: all rules, and ``None``: nobody knows them.
        names: The nodes that are meant; none: all.
        settings: The labeler's, of labels; ``None``: as they are without any.

    Raises:
        UsageError: the folder cannot be listed.
        BusError, KubernetesError: something cannot be read.
    """
    loaded = load_rules(folder) if folder is not None else _NO_RULES if reach.client else _UNKNOWN_RULES
    nodes = None
    if reach.client is not None:
        nodes = await cluster_inputs.read_nodes(reach.client)
        objects = await cluster_inputs.read_rule_objects(reach.client, {one.name for one in loaded.objects})
        loaded = join_rules(loaded, objects)
    facts = Facts(nodes, reach.client.access.namespace if reach.client else "")
    async with contextlib.AsyncExitStack() as stack:
        records, reading = [], None
        if reach.store is not None:
            reading = await stack.enter_async_context(FactsReading(reach.store, facts.take))
            records = await read_labels(reach.store, names)
        unused: list[str] = []
        if reach.client is not None and nodes is not None:
            may_label = (settings or LabelSettings()).acceptance.node_feature_labels
            unused = await cluster_inputs.read_node_features(reach.client, facts, nodes, labels=may_label)
            await cluster_inputs.read_infos(reach.client, facts, [name for name in names or nodes if name in nodes])
        yield Known(
            facts,
            compile_rules(loaded, compile_policy(settings or LabelSettings())),
            nodes,
            {one.node: one.memory for one in records if one.memory is not None},
            {one.node: one.problem for one in records if one.problem},
            tuple(unused),
            reading,
            has_rules=folder is not None or reach.client is not None,
        )
