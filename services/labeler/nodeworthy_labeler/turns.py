"""In which order nodes are looked at: what changed comes before what is only gone over once more."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

_Wish = TypeVar("_Wish")


class Turns(Generic[_Wish]):
    """Marked nodes, those whose wishes are made, and those in work; a node is in work once at a time."""

    def __init__(self) -> None:
        self._urgent: dict[str, None] = {}
        self._later: dict[str, None] = {}
        self._ready: OrderedDict[str, _Wish] = OrderedDict()
        self._busy: set[str] = set()

    def __len__(self) -> int:
        return len(self._urgent) + len(self._later) + len(self._ready)

    @property
    def ready(self) -> int:
        """How many nodes wait with a wish."""
        return len(self._ready)

    def is_marked(self, node: str) -> bool:
        """Whether a node is to be looked at anew."""
        return node in self._urgent or node in self._later

    def mark(self, nodes: Iterable[str], *, is_urgent: bool) -> None:
        """These nodes may need other labels; a wish that was made before does not count any more."""
        for node in nodes:
            self._ready.pop(node, None)
            if is_urgent:
                self._later.pop(node, None)
                self._urgent[node] = None
            elif node not in self._urgent:
                self._later[node] = None

    def choose_urgent(self, is_wanted: Callable[[str], bool], most: int) -> list[str]:
        """The next nodes that changed; those that are not wanted are passed over for good."""
        return self._choose(self._urgent, is_wanted, most)

    def choose_later(self, is_wanted: Callable[[str], bool], most: int) -> list[str]:
        """The next of the others, once all that were chosen before are in work."""
        return [] if self._ready else self._choose(self._later, is_wanted, most)

    def _choose(self, marked: dict[str, None], is_wanted: Callable[[str], bool], most: int) -> list[str]:
        chosen: list[str] = []
        for node in tuple(marked):
            if len(chosen) == most:
                break
            if node not in self._busy:
                del marked[node]
                if is_wanted(node):
                    chosen.append(node)
        return chosen

    def put(self, wishes: Iterable[tuple[str, _Wish]], *, is_first: bool) -> None:
        """What these nodes are to be given, before or after all that wait."""
        for node, wish in wishes:
            self._ready[node] = wish
            self._ready.move_to_end(node, last=not is_first)

    def begin(self) -> tuple[str, _Wish]:
        """The next node, which is in work from now on."""
        node, wish = self._ready.popitem(last=False)
        self._busy.add(node)
        return node, wish

    def end(self, node: str) -> None:
        """The node is not in work any more."""
        self._busy.discard(node)
