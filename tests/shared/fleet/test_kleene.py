import itertools

import numpy as np
import pytest

from nodeworthy.fleet import kleene
from nodeworthy.rules import Answer, Outcome, outcomes

SEQUENCES = [sequence for length in range(5) for sequence in itertools.product(Outcome, repeat=length)]
"""Every sequence of up to four answers."""


def columns(length: int) -> list[kleene.Outcomes]:
    """The answers of all sequences of one length, place by place."""
    chosen = [sequence for sequence in SEQUENCES if len(sequence) == length]
    return [np.array([kleene.NUMBERS[sequence[place]] for sequence in chosen], np.uint8) for place in range(length)]


@pytest.mark.parametrize("length", range(5))
@pytest.mark.parametrize("name", ["all_hold", "any_holds"])
def test_many_nodes_are_decided_as_each_alone(name: str, length: int) -> None:
    chosen = [sequence for sequence in SEQUENCES if len(sequence) == length]
    found = getattr(kleene, name)(columns(length), len(chosen))
    alone = [getattr(outcomes, name)(map(Answer, sequence)).outcome for sequence in chosen]
    assert [kleene.OUTCOMES[number] for number in found] == alone


def test_numbers_and_outcomes_are_each_others_inverse() -> None:
    assert [kleene.NUMBERS[outcome] for outcome in kleene.OUTCOMES] == [0, 1, 2, 3]
    assert set(kleene.OUTCOMES) == set(Outcome)
