"""Events on Nodes about labels that somebody else owns with another value: what ``kubectl describe node`` shows."""

import asyncio
from collections.abc import Iterator, Mapping

from nodeworthy.kubernetes.events import EventType, Recorder, Regarding
from nodeworthy.kubernetes.resources import NODES
from nodeworthy.labels import LabelEntry, LabelMemory, LabelState
from nodeworthy.labels.origins import RejectedKind
from nodeworthy_labeler.cluster.node_objects import NodeObject

_MAX_WAITING = 1000
"""Events that wait to be written; more are not: the bucket and the metrics tell every conflict."""

_SHOWN = 5
"""Conflicts that one Event names."""


class Announcer:
    """Tells conflicts once, when they are new; :meth:`run` does the work."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._waiting: dict[str, tuple[Regarding, str]] = {}
        self._wake = asyncio.Event()
        self.dropped = 0
        """Events that were not written, since too many waited."""

    def note(self, node: NodeObject, before: LabelMemory | None, now: LabelMemory) -> None:
        """What was remembered of a Node, and what is from now on."""
        new = [text for key, text in _conflicts(now).items() if _conflicts(before).get(key) != text]
        if not new:
            return
        if len(self._waiting) >= _MAX_WAITING:
            self.dropped += 1
            return
        more = f"; and {len(new) - _SHOWN} more" if len(new) > _SHOWN else ""
        self._waiting[node.uid] = (Regarding(NODES, node.name, node.uid), "; ".join(new[:_SHOWN]) + more)
        self._wake.set()

    async def run(self) -> None:
        """Write what waits, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                regarding, note = self._waiting.pop(next(iter(self._waiting)))
                await self._recorder.record(
                    regarding, "LabelConflict", note, action="KeptForeignValue", type_=EventType.WARNING
                )


def _conflicts(memory: LabelMemory | None) -> dict[tuple[RejectedKind, str], str]:
    if memory is None:
        return {}
    return dict(_texts({RejectedKind.LABEL: memory.labels, **memory.others}))


def _texts(
    memory: Mapping[RejectedKind, Mapping[str, LabelEntry]],
) -> Iterator[tuple[tuple[RejectedKind, str], str]]:
    for kind, entries in memory.items():
        for key, entry in entries.items():
            if entry.state is LabelState.CONFLICT:
                by = f" by {entry.given[-1].giver}" if entry.given else ""
                yield (kind, key), f"{kind} {key} should be {entry.value!r}{by}, and {entry.reason}"
