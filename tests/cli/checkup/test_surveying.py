"""How often a judge is asked, and of which nodes."""

from collections.abc import Mapping, Sequence

from nodeworthy.bus.requests import NodeGroup, Undeclared
from nodeworthy.images import ArtifactSearch, ImageKnowledge, PlatformImage, SearchState
from nodeworthy.requirements import Inspection
from nodeworthy.verdicts import Answer
from nodeworthy_cli.checkup.judging import Fare, Known
from nodeworthy_cli.checkup.pools import Pools
from nodeworthy_cli.checkup.surveying import survey

NODES = ("n1", "n2", "n3")
EVERY = frozenset(NODES)
NONE = ArtifactSearch(SearchState.NONE)


class NotingJudge:
    """Gives each node its answer, and notes what it was asked."""

    def __init__(self, answers: Mapping[str, Answer], lenient: Mapping[str, Answer] | None = None) -> None:
        self.asked: list[tuple[tuple[str, ...], tuple[str, ...], Undeclared]] = []
        self._answers = {Undeclared.UNKNOWN: answers, Undeclared.COMPATIBLE: lenient or answers}

    async def ask(self, images: Sequence[Known], nodes: Sequence[str], undeclared: Undeclared) -> list[Fare]:
        self.asked.append((tuple(one.image for one in images), tuple(nodes), undeclared))
        given = [self._answers[undeclared][node] for node in nodes]
        counts = {answer: given.count(answer) for answer in given}
        return [Fare(counts, tuple(NodeGroup(one, one.value, count) for one, count in counts.items()))] * len(images)


def known(image: str, inspection: Inspection | None = None) -> Known:
    child = PlatformImage(f"sha256:{image}", search=NONE, inspection=inspection)
    return Known(image, ImageKnowledge(image, "", "", (child,), search=NONE))


async def test_images_with_the_same_nodes_are_asked_about_together() -> None:
    judge = NotingJudge({"n1": Answer.COMPATIBLE, "n2": Answer.INCOMPATIBLE, "n3": Answer.INCOMPATIBLE})
    pools = {"a": Pools(free=frozenset({"n1"})), "b": Pools(free=frozenset({"n1"}), running=frozenset({"n2"}))}

    fares = await survey([known("a"), known("b")], pools, NODES, judge)

    assert {(images, nodes) for images, nodes, _ in judge.asked} == {
        (("a", "b"), NODES),
        (("a", "b"), ("n1",)),
        (("b",), ("n2",)),
    }
    assert len(judge.asked) == 3
    assert fares["a"].free.counts == {Answer.COMPATIBLE: 1}
    assert fares["b"].running.counts == {Answer.INCOMPATIBLE: 1}
    assert fares["b"].chosen.counts == {}


async def test_where_all_nodes_fare_alike_none_is_asked_about_again() -> None:
    judge = NotingJudge(dict.fromkeys(NODES, Answer.COMPATIBLE))

    fares = await survey([known("a")], {"a": Pools(running=frozenset({"n1", "n3"}), free=EVERY)}, NODES, judge)

    assert len(judge.asked) == 1
    assert (fares["a"].running.counts, fares["a"].free.counts) == ({Answer.COMPATIBLE: 2}, {Answer.COMPATIBLE: 3})


async def test_what_is_unknown_for_want_of_a_declaration_alone_is_found_out() -> None:
    unknown = dict.fromkeys(NODES, Answer.UNKNOWN)
    settled = NotingJudge(unknown, dict.fromkeys(NODES, Answer.COMPATIBLE))
    blind = NotingJudge(unknown, {**dict.fromkeys(NODES, Answer.COMPATIBLE), "n3": Answer.UNKNOWN})
    pools = {"a": Pools(free=EVERY)}

    assert (await survey([known("a")], pools, NODES, settled))["a"].is_only_undeclared
    assert not (await survey([known("a")], pools, NODES, blind))["a"].is_only_undeclared


async def test_what_an_inspection_leaves_unknown_is_not_for_want_of_a_declaration() -> None:
    judge = NotingJudge(dict.fromkeys(NODES, Answer.UNKNOWN), dict.fromkeys(NODES, Answer.COMPATIBLE))

    fares = await survey([known("a", Inspection(1))], {"a": Pools(free=EVERY)}, NODES, judge)

    assert not fares["a"].is_only_undeclared
    assert len(judge.asked) == 1


async def test_without_nodes_nobody_is_asked() -> None:
    judge = NotingJudge({})

    fares = await survey([known("a")], {"a": Pools()}, (), judge)

    assert judge.asked == []
    assert fares["a"].everything.size == 0
