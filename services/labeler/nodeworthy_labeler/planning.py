"""Plans of many nodes at once: what is the same for many is decided once."""

from typing import NamedTuple

import msgspec

from nodeworthy.labels import LabelState, Plan, TargetState, WantedLabels, reconcile


class _Made(NamedTuple):
    """A plan, and what it was made of, held so that the ``id`` of nothing of it is given to something else."""

    wanted: WantedLabels
    state: TargetState
    plan: Plan
    is_other: bool
    """Whether the plan remembers anything new but inputs."""
    is_shared: bool
    """Whether it holds for other inputs too: nothing is remembered of inputs that were read before."""


class Plans:
    """The plans of one batch.

    Records of :func:`nodeworthy_labeler.wanting.want` with one and the same object of labels differ in nothing but inputs,
    and so do memories of :class:`nodeworthy_labeler.memories.Memories`. Inputs decide nothing: they are only remembered.
    """

    def __init__(self, max_labels: int) -> None:
        self._max_labels = max_labels
        self._made: dict[tuple[int, int, int], _Made] = {}

    def make(self, wanted: WantedLabels, state: TargetState) -> Plan:
        """What :func:`nodeworthy.labels.reconcile` says of one node."""
        before = state.memory
        key = (id(wanted.labels), id(state.labels), id(before.labels if before is not None else None))
        made = self._made.get(key)
        if made is None or not made.is_shared:
            made = self._made[key] = self._reconcile(wanted, state)
            return made.plan
        memory = msgspec.structs.replace(made.plan.memory, inputs=wanted.inputs)
        is_memory_new = made.is_other or before is None or before.inputs != wanted.inputs
        return msgspec.structs.replace(made.plan, memory=memory, is_memory_new=is_memory_new)

    def _reconcile(self, wanted: WantedLabels, state: TargetState) -> _Made:
        plan = reconcile(wanted, state.labels, state.memory, max_labels=self._max_labels)
        before = state.memory
        is_other = before is None or msgspec.structs.replace(before, inputs=plan.memory.inputs) != plan.memory
        entries = (plan.memory.labels, *plan.memory.others.values())
        is_shared = not any(entry.state is LabelState.KEPT for one in entries for entry in one.values())
        return _Made(wanted, state, plan, is_other, is_shared)
