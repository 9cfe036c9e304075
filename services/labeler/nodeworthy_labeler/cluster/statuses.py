"""Writes the statuses of rules and groups: one labeler at a time, now and then, and only what is new."""

import asyncio
import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from nodeworthy.errors import UsageError
from nodeworthy.fleet import Fleet
from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.refusals import (
    KubernetesConflictError,
    KubernetesError,
    KubernetesForbiddenError,
    KubernetesInvalidError,
    KubernetesNotFoundError,
)
from nodeworthy.kubernetes.resources import Resource
from nodeworthy.processes import EventLog
from nodeworthy_labeler.cluster.groups import GROUPS, Groups, choose_members, make_group_status
from nodeworthy_labeler.cluster.ownership import MANAGER
from nodeworthy_labeler.cluster.rule_objects import RULES, RuleObjects
from nodeworthy_labeler.cluster.rule_statuses import make_rule_status
from nodeworthy_labeler.members import Sharing
from nodeworthy_labeler.rule_fates import RuleFates
from nodeworthy_labeler.rule_set import RuleSet

_LOG = EventLog("labeler")

STATUSES = "statuses"
"""The name whose owner writes them."""

_OF_ONE_OBJECT = (KubernetesConflictError, KubernetesForbiddenError, KubernetesInvalidError)
"""Refusals that say nothing of the other objects, as an admission policy's."""

_MOST_WAITS = 5
"""Looks in a row at which nodes wait for their labels; a rule reaches 5,000 nodes in the time of two or three."""


class Work(NamedTuple):
    """What statuses are made of."""

    fleet: Fleet
    rules: RuleSet | None
    is_idle: bool
    """Whether no node waits for its labels: these come first."""
    fates: RuleFates
    """How rules fare, kept for whoever asks next."""


class Patience:
    """Lets labels come first, but not for ever: a node that can never be written must not hold back what is said of all."""

    def __init__(self) -> None:
        self._waited = 0

    def is_over(self, work: Work) -> bool:
        """Whether it is time now; asked at each look."""
        self._waited += 1
        if not work.is_idle and self._waited <= _MOST_WAITS:
            return False
        self._waited = 0
        return True


class Statuses:
    """Keeps the statuses; :meth:`run` does the work.

    Args:
        client: Writes them.
        members: Who does.
        rules: The rule objects.
        groups: The group objects.
        look: What they are made of.
        seconds: Between two looks.
    """

    def __init__(
        self,
        client: Client,
        members: Sharing,
        rules: RuleObjects,
        groups: Groups,
        look: Callable[[], Work],
        *,
        seconds: float,
    ) -> None:
        self._client = client
        self._members = members
        self._rules = rules
        self._groups = groups
        self._look = look
        self._seconds = seconds
        self._done: object = None
        """Of what the last statuses were made."""
        self._has_failed = False
        """Whether a status could not be written at this look."""
        self._patience = Patience()
        self._without_status: set[Resource] = set()
        """Kinds whose definition has no status, as NFD's of its rules: ``nodeworthy rules status`` tells it from the bus."""
        self.written = 0
        """Statuses that were written."""

    async def run(self) -> None:
        """Look now and then, until cancelled."""
        while True:
            await asyncio.sleep(self._seconds)
            work = self._look()
            if not self._members.is_mine(STATUSES):
                self._done = None
                continue
            if work.rules is None or not self._patience.is_over(work):
                continue
            seen = (work.fleet.version, work.rules.digest, self._groups.version, self._rules.version)
            if seen == self._done:
                continue
            self._has_failed = False
            try:
                await self._write_rules(work.fates, work.fleet, work.rules)
                await self._write_groups(work.fleet)
            except (KubernetesError, UsageError) as error:
                _LOG.warning("labeler.statuses_not_written", about="statuses", error=str(error))
            else:
                self._done = None if self._has_failed else seen

    async def _write_rules(self, fates: RuleFates, fleet: Fleet, rules: RuleSet) -> None:
        if not self._rules.states or RULES in self._without_status:
            return
        found = await fates.find(fleet, rules)
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        for state in list(self._rules.states.values()):
            status = make_rule_status(state, found.get(state.name), now)
            if _decode(msgspec.json.encode(status)) != _decode(state.status):
                await self._write(RULES, state.name, "", state.uid, status)

    async def _write_groups(self, fleet: Fleet) -> None:
        nodes = fleet.nodes()
        for group in list(self._groups.states.values()):
            members = choose_members(fleet, group, nodes)
            if members != group.members:
                await self._write(GROUPS, group.name, group.namespace, group.uid, make_group_status(members))

    async def _write(self, resource: Resource, name: str, namespace: str, uid: str, status: dict[str, Any]) -> None:
        if resource in self._without_status:
            return
        metadata = {"name": name, "uid": uid} | ({"namespace": namespace} if namespace else {})
        body = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": metadata,
            "status": status,
        }
        request = requests.apply(
            resource,
            name,
            msgspec.json.encode(body),
            manager=MANAGER,
            namespace=namespace,
            subresource="status",
            is_forced=True,  # nobody but labelers writes statuses
        )
        try:
            await self._client.request(dataclasses.replace(request, may_send=self._members.has_lease))
        except KubernetesNotFoundError:
            await self._note_missing(resource, name, namespace)
        except _OF_ONE_OBJECT as error:
            self._has_failed = True
            _LOG.warning("labeler.status_not_written", about=f"{resource.kind} {name}", object=name, error=str(error))
        else:
            self.written += 1

    async def _note_missing(self, resource: Resource, name: str, namespace: str) -> None:
        """Either the object is gone, or its kind has no status."""
        try:
            await self._client.request(requests.read(resource, name, namespace=namespace, is_metadata=True))
        except KubernetesNotFoundError:
            return
        _LOG.info("labeler.no_status", about=resource.kind, kind=resource.kind, todo="install our CRDs to see statuses")
        self._without_status.add(resource)


def _decode(status: bytes) -> object:
    try:
        return msgspec.json.decode(status)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
