"""Finding by halves what is refused."""

import asyncio
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.kubernetes.refusals import KubernetesError
from nodeworthy.labels.origins import RejectedKind
from nodeworthy_labeler.cluster.halving import find_refused
from nodeworthy_labeler.cluster.refusals import Output

NUMBERS = [Output(RejectedKind.LABEL, f"x.org/{number}", "1") for number in range(40)]


class Server:
    """Refuses some outputs, and more than so many at once."""

    def __init__(self, bad: set[Output], most: int = 1000) -> None:
        self.bad = bad
        self.most = most
        self.questions = 0

    async def ask(self, outputs: Sequence[Output]) -> KubernetesError | None:
        self.questions += 1
        return KubernetesError("no") if self.bad & set(outputs) or len(outputs) > self.most else None


@given(st.sets(st.sampled_from(NUMBERS)), st.integers(0, 40))
def test_exactly_the_bad_ones_are_found(bad: set[Output], first_new: int) -> None:
    kept = [output for output in NUMBERS[:first_new] if output not in bad]
    new = NUMBERS[first_new:]
    found = asyncio.run(find_refused(kept, new, Server(bad).ask))
    assert [one.output for one in found] == [output for output in new if output in bad]


async def test_one_of_many_costs_few_questions() -> None:
    server = Server({NUMBERS[17]})
    await find_refused([], NUMBERS, server.ask)
    assert server.questions <= 13


async def test_what_is_only_too_much_together_is_refused_from_there_on() -> None:
    found = await find_refused(NUMBERS[:5], NUMBERS[5:], Server(set(), most=30).ask)
    assert [one.output for one in found] == NUMBERS[30:]
