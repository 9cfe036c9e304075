"""What the labeler does when it hears something; bytes are decoded before it, by the bus."""

from nodeworthy.bus.nodes import NodeChange, PublishedSnapshot
from nodeworthy.bus.watching import Change, Complete
from nodeworthy_labeler.facts import NodeTable
from nodeworthy_labeler.inputs import Input, Inputs
from nodeworthy_labeler.labelling import Labelling
from nodeworthy_labeler.members import Sharing
from nodeworthy_labeler.records import Records
from nodeworthy_labeler.repairs import Repairs
from nodeworthy_labeler.rule_set import RuleSet


def handle_facts(
    change: NodeChange, *, table: NodeTable, labelling: Labelling, inputs: Inputs, members: Sharing, repairs: Repairs
) -> None:
    """Facts of a node came or went. What cannot be used is counted, logged, and harms its node only."""
    if isinstance(change, Complete):
        inputs.note(Input.FACTS)
        return
    node = table.take(change)
    if node is not None:
        labelling.mark([node], is_urgent=True)
    if isinstance(change, PublishedSnapshot) and change.missing and members.is_mine(change.node):
        repairs.look_at(change)


def handle_record(change: Change, *, records: Records, labelling: Labelling, inputs: Inputs) -> None:
    """Somebody wrote or removed a record of labels, or the bucket was lost; a record that cannot be read is written over."""
    changed = records.take(change)
    if changed:
        labelling.mark(changed)
    if isinstance(change, Complete):
        inputs.note(Input.LABELS)


async def handle_rules(rules: RuleSet, *, labelling: Labelling, inputs: Inputs) -> None:
    """Other rules are in force."""
    await labelling.use(rules)
    inputs.note(Input.RULES)


def handle_members(
    before: tuple[str, ...], *, members: Sharing, table: NodeTable, records: Records, labelling: Labelling
) -> None:
    """Nodes have other owners: those that are this labeler's only now may have changed while nobody served them."""
    names = dict.fromkeys((*table.fleet.nodes(), *records))
    labelling.mark(members.gained(names, before))
