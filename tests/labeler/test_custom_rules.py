"""Labels by the nodes' own rules: made once for nodes with the same rules and facts, and for nobody else."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.fleet import DETECTOR, Fleet
from nodeworthy.labels import compile_policy
from nodeworthy.labels.custom_rules import make_custom_labels, read_custom_rules
from nodeworthy.rules import evaluate_chain
from nodeworthy_labeler.custom_rules import CustomChains

if TYPE_CHECKING:
    from tests.labeler.conftest import MakeFacts

PREFIX = "feature.node.kubernetes.io/"
GPU = "- {name: g, labels: {gpu: '1'}, matchFeatures: [{feature: pci.device, matchExpressions: {vendor: ['10de']}}]}"
RACK = "- {name: r, labels: {rack: b7}}"


def fill(nodes: Mapping[str, Snapshot]) -> Fleet:
    table = Fleet()
    for node, snapshot in nodes.items():
        table.update(node, DETECTOR, snapshot)
    return table


def labels(chains: CustomChains, table: Fleet, *nodes: str) -> list[dict[str, str]]:
    found = chains.classify(table, nodes, table.rows(nodes))
    return [{one.key.removeprefix(PREFIX): one.value for one in found.made[number].labels} for number in found.numbers]


def node(facts: "MakeFacts", vendor: str, **texts: str) -> Snapshot:
    own = {f"custom.d/{name}": text for name, text in texts.items()}
    sets = {"pci.device": FeatureSet(instances=({"vendor": vendor},)), "custom.rules": FeatureSet(attributes=own)}
    return facts({}, sets)


def test_a_nodes_rules_give_labels_to_that_node_only(facts: "MakeFacts") -> None:
    table = fill(
        {
            "n1": node(facts, "10de", a=GPU),
            "n2": node(facts, "10de", a=RACK),
            "n3": node(facts, "8086", a=GPU, b=RACK),
            "n4": node(facts, "15b3"),
        }
    )
    found = labels(CustomChains(compile_policy()), table, "n1", "n2", "n3", "n4")
    assert found == [{"gpu": "1"}, {"rack": "b7"}, {"rack": "b7"}, {"rdma.capable": "true"}]


def test_nodes_with_the_same_rules_share_one_chain_and_with_the_same_facts_one_result(facts: "MakeFacts") -> None:
    table = fill({f"n{number}": node(facts, "10de" if number % 2 else "8086", a=GPU) for number in range(10)})
    chains = CustomChains(compile_policy())
    nodes = table.nodes()
    found = chains.classify(table, nodes, table.rows(nodes))
    assert (chains.compiled, len(found.made)) == (1, 2)
    chains.classify(table, nodes, table.rows(nodes))
    assert chains.compiled == 1


def test_no_more_chains_are_kept_than_may_be(facts: "MakeFacts") -> None:
    table = fill({f"n{number}": node(facts, "1", a=f"- {{name: r{number}}}") for number in range(4)})
    chains = CustomChains(compile_policy(), max_kept=2)
    nodes = table.nodes()
    chains.classify(table, nodes, table.rows(nodes))
    chains.classify(table, nodes[2:], table.rows(nodes[2:]))
    assert chains.compiled == 4
    chains.classify(table, nodes[:1], table.rows(nodes[:1]))
    assert chains.compiled == 5


def test_each_node_has_what_it_has_alone(machines: Mapping[str, Snapshot]) -> None:
    policy = compile_policy()
    own = FeatureSet(attributes={"sources.custom": GPU, "custom.d/bad": "{"}, unobserved=frozenset({"custom.d/x"}))
    nodes = {
        name: Snapshot({**one.contents, "custom.rules": own}, one.statuses, one.catalogue)
        for name, one in machines.items()
    }
    table = fill(nodes)
    found = CustomChains(policy).classify(table, list(nodes), table.rows(list(nodes)))
    for number, snapshot in zip(found.numbers, nodes.values(), strict=True):
        rules = read_custom_rules(snapshot.lookup("custom.rules"))
        alone = make_custom_labels(rules, evaluate_chain(rules.chain.compiled, snapshot), policy.defaults)
        assert found.made[number] == alone


def test_no_nodes_have_nothing() -> None:
    found = CustomChains(compile_policy()).classify(Fleet(), [], np.zeros(0, np.intp))
    assert (len(found.numbers), found.made) == (0, [])
