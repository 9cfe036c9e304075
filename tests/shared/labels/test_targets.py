"""A target of a few lines, to see that the interface is enough for a loop that reads, plans and carries out."""

from collections.abc import Callable

from nodeworthy.features import FeatureSet, Snapshot
from nodeworthy.labels import (
    NO_FACTS,
    FactsMark,
    LabelMemory,
    LabelPolicy,
    LabelTarget,
    Plan,
    RuleObject,
    TargetState,
    WantedLabels,
    compile_chain,
    labels_of_memory,
    reconcile,
    want_labels,
)
from nodeworthy.rules import Rule, Term


class Bucket:
    """Labels without a cluster: the memory is the node."""

    def __init__(self) -> None:
        self.memories: dict[str, LabelMemory] = {}
        self.revision = 0

    async def read(self, node: str, _wanted: WantedLabels) -> TargetState:
        memory = self.memories.get(node)
        return TargetState(labels_of_memory(memory), memory, str(self.revision))

    async def carry_out(self, node: str, state: TargetState, plan: Plan, _facts: FactsMark) -> bool:
        if state.token != str(self.revision):
            return False
        if plan.is_memory_new:
            self.memories[node] = plan.memory
            self.revision += 1
        return True


async def test_a_bucket_is_a_target_and_a_second_pass_writes_nothing(
    policy: LabelPolicy, facts_of: Callable[..., Snapshot]
) -> None:
    bucket = Bucket()
    target: LabelTarget = bucket
    chain = compile_chain([RuleObject("o", (Rule("r", (Term("lab.x"),), labels={"x.org/l": "1"}),))])
    wanted = want_labels(facts_of({"lab.x": FeatureSet(attributes={})}), policy, chain)
    for _ in range(2):
        state = await target.read("n1", wanted)
        assert await target.carry_out("n1", state, reconcile(wanted, state.labels, state.memory), NO_FACTS)
    assert bucket.revision == 1
    assert dict((await target.read("n1", wanted)).labels.live) == {"x.org/l": "1"}


async def test_a_plan_for_an_older_state_is_not_carried_out(
    policy: LabelPolicy, facts_of: Callable[..., Snapshot]
) -> None:
    bucket = Bucket()
    chain = compile_chain([RuleObject("o", (Rule("r", labels={"x.org/l": "1"}),))])
    wanted = want_labels(facts_of(), policy, chain)
    old = await bucket.read("n1", wanted)
    plan = reconcile(wanted, old.labels, old.memory)
    assert await bucket.carry_out("n1", old, plan, NO_FACTS)
    assert not await bucket.carry_out("n1", old, plan, NO_FACTS)


def test_facts_are_behind_others_of_a_later_revision_and_of_a_store_that_was_made_later() -> None:
    assert FactsMark(5, 1.0).is_behind(FactsMark(6, 1.0))
    assert FactsMark(900, 1.0).is_behind(FactsMark(6, 2.0))
    assert not FactsMark(6, 2.0).is_behind(FactsMark(6, 2.0))
    assert not FactsMark(6, 2.0).is_behind(FactsMark(5, 1.0))
    assert NO_FACTS.is_behind(FactsMark(1, 0.0))
