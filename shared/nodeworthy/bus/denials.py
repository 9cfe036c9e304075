"""What the server refused: NATS tells it beside the stream of answers, and the one who asked must hear of it.

A publish or subscription that a user may not do gets no answer; the server sends an error that names the subject::

    nats: permissions violation for publish to "$kv.nodeworthy-local-nodes.n2.detector"

nats-py 2.16 hands it to the error callback only, in lower case.
"""

import asyncio
import re
from collections import Counter, deque

_VIOLATION = re.compile(r"permissions violation for (publish|subscription) to \"([^\"]+)\"", re.IGNORECASE)
_KEPT = 100
"""Refused subjects that are remembered for whoever looks later."""


class Denials:
    """Requests that wait, by subject, and what was refused lately."""

    def __init__(self) -> None:
        self.recent: deque[str] = deque(maxlen=_KEPT)
        self.counts: Counter[str] = Counter()
        self._waiting: dict[str, set[asyncio.Future[str]]] = {}

    def expect(self, subject: str) -> asyncio.Future[str]:
        """A future that ends if ``subject`` is refused; give it back to :meth:`forget`."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(subject.lower(), set()).add(waiter)
        return waiter

    def forget(self, subject: str, waiter: asyncio.Future[str]) -> None:
        """Wait no longer."""
        waiters = self._waiting.get(subject.lower(), set())
        waiters.discard(waiter)
        waiter.cancel()
        if not waiters:
            self._waiting.pop(subject.lower(), None)

    def note(self, error: str) -> bool:
        """Take an error of the server; whether it is a refusal."""
        found = _VIOLATION.search(error)
        if found is None:
            return False
        what, subject = found[1].lower(), found[2].lower()
        self.recent.append(f"{what} to {subject}")
        self.counts[what] += 1
        for waiter in self._waiting.get(subject, ()):
            if not waiter.done():
                waiter.set_result(what)
        return True
