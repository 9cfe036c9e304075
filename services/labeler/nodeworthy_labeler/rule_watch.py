"""The rules while the labeler runs: those of a folder, read anew whenever it changed, and the rule objects of a cluster."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

from nodeworthy.errors import Problem, UsageError
from nodeworthy.labels import LabelPolicy
from nodeworthy.processes import EventLog
from nodeworthy_labeler.rule_files import LoadedRules, RuleFolder
from nodeworthy_labeler.rule_set import RuleSet, compile_rules

_LOG = EventLog("labeler")

_SETTLE_SECONDS = 0.1
"""Between the two looks at the start, so that a file that is just being written is not taken for a finished one."""

_NO_RULES = LoadedRules(())

_SHOWN = 20
"""Problems that are logged one by one; the rest are counted."""


class RuleSource(Protocol):
    """Where rules come from beside the folder."""

    changed: asyncio.Event
    """Set when there may be others than those that were loaded last."""

    def load(self) -> LoadedRules | None:
        """What there is now; ``None``: not everything was read yet."""


class RuleWatch:
    """Gives every new set of rules to ``on_rules``."""

    def __init__(
        self,
        folder: Path | None,
        policy: LabelPolicy,
        seconds: float,
        on_rules: Callable[[RuleSet], Awaitable[None]],
        objects: RuleSource | None = None,
    ) -> None:
        self._policy = policy
        self._seconds = seconds
        self._on_rules = on_rules
        self._folder = RuleFolder(folder) if folder is not None else None
        self._objects = objects
        self._in_folder: LoadedRules | None = None if folder is not None else _NO_RULES
        self._in_objects: LoadedRules | None = None if objects is not None else _NO_RULES
        self.problem = ""
        """Why the folder cannot be listed now: the rules that were read before stay in force."""

    async def run(self) -> None:
        """Read the rules, then read them again when they changed; until cancelled.

        Raises:
            UsageError: the folder cannot be listed at the start.
        """
        if self._folder is None and self._objects is None:
            await self._compile()
            return
        while True:
            is_other = await self._poll(self._folder) if self._folder is not None else False
            if self._objects is not None and self._load(self._objects):
                is_other = True
            if is_other:
                await self._compile()
            await self._wait()

    async def _poll(self, folder: RuleFolder) -> bool:
        """Look at the folder; whether it holds other rules."""
        try:
            # Looking waits for disks: in a thread the signs of life go on.
            loaded = await asyncio.to_thread(folder.poll)
        except UsageError as error:
            if self._in_folder is None:
                raise
            self._note(str(error))
            return False
        self._note("")
        self._in_folder = loaded or self._in_folder
        return loaded is not None

    def _load(self, objects: RuleSource) -> bool:
        """Look at the objects; whether there are other ones."""
        if not objects.changed.is_set() and self._in_objects is not None:
            return False
        objects.changed.clear()
        loaded = objects.load()
        is_other = loaded is not None and loaded != self._in_objects
        self._in_objects = loaded or self._in_objects
        return is_other

    async def _compile(self) -> None:
        if self._in_folder is None or self._in_objects is None:
            return
        # Compiling takes seconds with many rules: as above.
        loaded = join_rules(self._in_folder, self._in_objects)
        rules = await asyncio.to_thread(compile_rules, loaded, self._policy)
        self._log(rules)
        await self._on_rules(rules)

    async def _wait(self) -> None:
        """Wait until the folder is to be looked at again, or there may be other objects."""
        seconds = None if self._folder is None else self._seconds if self._in_folder is not None else _SETTLE_SECONDS
        if self._objects is None:
            await asyncio.sleep(seconds or 0)
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._objects.changed.wait()

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


def join_rules(one: LoadedRules, other: LoadedRules) -> LoadedRules:
    """The rules of two places; the names of the objects order them, whichever place they are from."""
    return LoadedRules(
        (*one.objects, *other.objects), (*one.problems, *other.problems), (*one.notices, *other.notices), one.stamps
    )


def _fields(problem: Problem) -> dict[str, object]:
    return {"file": problem.source, "line": problem.line, "path": problem.path, "problem": problem.message}
