"""Which nodes a request asks about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nodeworthy_validator.inventory import Inventory
from nodeworthy_validator.node_labels import Labels, NodeLabels
from nodeworthy_validator.selectors import Selector


@dataclass(frozen=True)
class Selection:
    """The nodes of a request, as they were known when it was made."""

    names: Sequence[str]
    """In order."""
    unusable: Mapping[str, str]
    """Those of them of which no facts are known, and why."""
    is_everything: bool
    """Whether these are all nodes of which there are facts in the table."""
    undecided: int = 0
    """Nodes of which it is not known whether they are asked about."""

    def usable(self) -> Sequence[str]:
        """Those of which facts are known."""
        return [name for name in self.names if name not in self.unusable] if self.unusable else self.names


def select_nodes(inventory: Inventory, labels: NodeLabels, names: Sequence[str], selector: Selector) -> Selection:
    """The nodes with these names, or all, that the selector selects.

    A node that is named and not known is among them, since nobody knows how an image fares there.
    """
    asked: Sequence[str] = sorted(set(names)) if names else inventory.names()
    undecided = 0
    if selector.requirements:
        asked, undecided = _filter(asked, labels, selector)
    if inventory.are_all_usable and not names:
        unusable = {}  # of every node that is known there are facts
    else:
        unusable = {name: inventory.why_unusable(name) for name in asked if not inventory.is_usable(name)}
    is_everything = not names and not selector.requirements and not inventory.has_gone
    return Selection(asked, unusable, is_everything=is_everything, undecided=undecided)


def _filter(names: Sequence[str], labels: NodeLabels, selector: Selector) -> tuple[list[str], int]:
    chosen: list[str] = []
    undecided = 0
    known: dict[int, bool | None] = {}  # many nodes share one mapping, and it is asked once
    for name in names:
        if not selector.selects_name(name):
            continue
        answer = _ask(labels.get(name), selector, known)
        if answer:
            chosen.append(name)
        undecided += answer is None
    return chosen, undecided


def _ask(found: Labels | None, selector: Selector, known: dict[int, bool | None]) -> bool | None:
    if id(found) not in known:
        known[id(found)] = selector.selects_labels(found)
    return known[id(found)]
