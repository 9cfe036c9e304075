"""The folder of rules while the labeler runs: read anew whenever it changed."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from nodeworthy.errors import Problem, UsageError
from nodeworthy.labels import LabelPolicy
from nodeworthy.processes import EventLog
from nodeworthy_labeler.rule_files import LoadedRules, RuleFolder
from nodeworthy_labeler.rule_set import RuleSet, compile_rules

_LOG = EventLog("labeler")

_SETTLE_SECONDS = 0.1
"""Between the two looks at the start, so that a file that is just being written is not taken for a finished one."""

_SHOWN = 20
"""Problems that are logged one by one; the rest are counted."""


class RuleWatch:
    """Gives every new set of rules to ``on_rules``."""

    def __init__(
        self, folder: Path | None, policy: LabelPolicy, seconds: float, on_rules: Callable[[RuleSet], None]
    ) -> None:
        self._policy = policy
        self._seconds = seconds
        self._on_rules = on_rules
        self._folder = RuleFolder(folder) if folder is not None else None
        self.problem = ""
        """Why the folder cannot be listed now: the rules that were read before stay in force."""

    async def run(self) -> None:
        """Read the rules, then read them again when they changed; until cancelled.

        Raises:
            UsageError: the folder cannot be listed at the start.
        """
        if self._folder is None:
            self._take(LoadedRules(()))
            return
        # Looking and compiling wait for disks and take seconds with many rules: in a thread the beats go on.
        is_first = True
        while True:
            try:
                is_first = not await self._poll(self._folder) and is_first
            except UsageError as error:
                if is_first:
                    raise
                self._note(str(error))
            else:
                self._note("")
            await asyncio.sleep(_SETTLE_SECONDS if is_first else self._seconds)

    async def _poll(self, folder: RuleFolder) -> bool:
        loaded = await asyncio.to_thread(folder.poll)
        if loaded is not None:
            rules = await asyncio.to_thread(compile_rules, loaded, self._policy)
            self._log(rules)
            self._on_rules(rules)
        return loaded is not None

    def _take(self, loaded: LoadedRules) -> None:
        self._on_rules(compile_rules(loaded, self._policy))

    def _log(self, rules: RuleSet) -> None:
        counts = {"rules": len(rules.chain.rules), "problems": len(rules.problems), "notices": len(rules.notices)}
        _LOG.info("labeler.rules_read", digest=rules.digest, **counts)
        for problem in rules.problems[:_SHOWN]:
            _LOG.warning("labeler.rule_problem", **_fields(problem))
        for notice in rules.notices[:_SHOWN]:
            _LOG.info("labeler.rule_notice", **_fields(notice))

    def _note(self, problem: str) -> None:
        if problem and problem != self.problem:  # said once, not at every look
            _LOG.warning("labeler.rules_not_read", error=problem)
        self.problem = problem


def _fields(problem: Problem) -> dict[str, object]:
    return {"file": problem.source, "line": problem.line, "path": problem.path, "problem": problem.message}
