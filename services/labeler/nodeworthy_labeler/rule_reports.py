"""Says on the bus which rules are in force and how each fares: one labeler at a time, now and then, and only what is new."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from nodeworthy.bus import payloads
from nodeworthy.bus.names import Bucket
from nodeworthy.bus.rule_reports import RULES_KEY, ObjectReport, make_rules_record
from nodeworthy.bus.store import Store
from nodeworthy.errors import BusError, PayloadError, Problem, UsageError
from nodeworthy.labels import ObjectStatus, RuleObject, RuleStatus
from nodeworthy.labels.chain import MAX_NAME
from nodeworthy.processes import EventLog
from nodeworthy.rules import UnreadableRule
from nodeworthy_labeler.cluster.statuses import Patience, Work
from nodeworthy_labeler.members import Sharing
from nodeworthy_labeler.rule_fates import RuleFate, find_last_error
from nodeworthy_labeler.rule_set import RuleSet

_LOG = EventLog("labeler")

REPORT = "rule reports"
"""The name whose owner writes the record."""

_MOST_LISTED = 20
"""Problems, notices and sources of one object that are listed."""

_MOST_TEXT = 300
"""Letters of one text: the record is for people, and has to fit into a message."""

Generations = Callable[[], Mapping[str, int]]
"""The generation of each object of the cluster by name."""


class RuleReports:
    """Keeps the record; :meth:`run` does the work.

    Args:
        store: The bus.
        members: Who writes.
        look: What it is made of.
        generations: Of the objects in the cluster; none, where there is no cluster.
        seconds: Between two looks.
        write_seconds: How long one write may take.
    """

    def __init__(  # parts of a labeler
        self,
        store: Store,
        members: Sharing,
        look: Callable[[], Work],
        generations: Generations,
        *,
        seconds: float,
        write_seconds: float,
    ) -> None:
        self._store = store
        self._members = members
        self._look = look
        self._generations = generations
        self._seconds = seconds
        self._write_seconds = write_seconds
        self._patience = Patience()
        self._about: object = None
        self._body = b""
        """What is to be said, made of what ``_about`` names."""
        self.written = 0
        """Records that were written."""

    async def run(self) -> None:
        """Look now and then, until cancelled; what fails is tried again at the next look."""
        while True:
            await asyncio.sleep(self._seconds)
            work = self._look()
            if work.rules is None or not self._members.is_mine(REPORT) or not self._patience.is_over(work):
                continue
            try:
                await self._make(work, work.rules)
                await self._keep()
            except (BusError, PayloadError, UsageError) as error:
                _LOG.warning("labeler.rules_not_reported", about="rules", error=str(error))

    async def _make(self, work: Work, rules: RuleSet) -> None:
        generations = self._generations()
        about = (work.fleet.version, rules.digest, generations)
        if about != self._about:
            reports = make_reports(rules, await work.fates.find(work.fleet, rules), generations)
            self._body = payloads.encode(make_rules_record(rules.digest, reports))
            self._about = about

    async def _keep(self) -> None:
        """Write what is not there, be it new or lost."""
        stored = await self._store.get(Bucket.LABELS, RULES_KEY)
        is_there = stored is not None and not stored.is_removal and stored.data == self._body
        if is_there or not self._members.has_lease(self._write_seconds):
            return
        revision = stored.revision if stored is not None else 0
        await self._store.put(Bucket.LABELS, RULES_KEY, self._body, expected=revision)
        self.written += 1


def make_reports(
    rules: RuleSet, fates: Mapping[str, RuleFate], generations: Mapping[str, int]
) -> Iterator[ObjectReport]:
    """What is to be said of each object, by name; files that hold objects of one name are one."""
    by_name: dict[str, list[RuleObject]] = {}
    for item in rules.objects:
        by_name.setdefault((item.name or item.source)[:MAX_NAME], []).append(item)
    in_source = Counter(item.source for item in rules.objects)
    for name in sorted(by_name):
        items = by_name[name]
        alone = {item.source for item in items if in_source[item.source] == 1}
        problems = [problem for item in items if item.source not in alone for problem in _own_problems(item)]
        problems += [problem for problem in rules.problems if problem.source in alone]
        notices = [notice for notice in rules.notices if notice.source in alone]
        fate = fates.get(name) or RuleFate(ObjectStatus(name), 0)
        yield ObjectReport(
            name=name,
            sources=_first(dict.fromkeys(item.source for item in items)),
            problems=_first(map(str, problems)),
            notices=_first(map(str, notices)),
            generation=generations.get(name, 0),
            nodes_matched=fate.nodes_matched,
            rules=tuple(map(_shorten, fate.status.rules)),
            last_error=find_last_error(fate.status)[:_MOST_TEXT],
            conflicts=len(fate.status.conflicts),
            rejected=len(fate.status.refusals),
        )


def _own_problems(item: RuleObject) -> Iterator[Problem]:
    """Of an object that is not alone in its file: what is known to be about it and no other."""
    if item.unreadable:
        yield Problem(item.source, 0, "", item.unreadable)
    for rule in item.rules:
        if isinstance(rule, UnreadableRule):
            yield from rule.problems


def _shorten(rule: RuleStatus) -> RuleStatus:
    return RuleStatus(
        rule.name, rule.matched, rule.unmatched, rule.unknown, rule.errors, rule.reason[:_MOST_TEXT], rule.is_left_out
    )


def _first(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(text[:_MOST_TEXT] for text in list(texts)[:_MOST_LISTED])
