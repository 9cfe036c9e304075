"""Carries out what a plan says of one Node, with at most one request for each kind that changes.

What the API server refuses takes nothing else down with it: a key that somebody else owns is left out and the rest is sent
at once; where a refusal names no key, it is looked for by halves with dry runs.
"""

import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.refusals import (
    KubernetesConflictError,
    KubernetesContentError,
    KubernetesError,
    KubernetesForbiddenError,
    KubernetesInvalidError,
    KubernetesNotFoundError,
    KubernetesServerError,
)
from nodeworthy.kubernetes.requests import Request
from nodeworthy.kubernetes.resources import NODES
from nodeworthy.labels import Changes
from nodeworthy.labels.origins import RejectedKind
from nodeworthy_labeler.cluster.adopting import Keys, make_adoption
from nodeworthy_labeler.cluster.applications import Application
from nodeworthy_labeler.cluster.halving import Refused, find_refused
from nodeworthy_labeler.cluster.node_objects import NodeObject, read_node
from nodeworthy_labeler.cluster.ownership import NOBODY
from nodeworthy_labeler.cluster.refusals import EVERYWHERE, Output, Refusals
from nodeworthy_labeler.cluster.taints import TaintedNode, change_taints, make_taint_patch, read_tainted

_UNEXPLAINED = (KubernetesInvalidError, KubernetesForbiddenError, KubernetesServerError, KubernetesContentError)
"""Refusals that may be about one key and do not name it: values, admission policies, webhooks, and webhooks that fail."""

_INTERNAL = 500
"""What an API server answers whose webhook failed; 502 to 504 are about the server."""


class Written(NamedTuple):
    """What came of a request."""

    node: NodeObject
    """The Node as it is afterwards."""
    is_as_planned: bool
    """Whether nothing was refused; else it is noted, and the plan is to be made anew."""


class NodeWriter:
    """Writes to Nodes.

    Args:
        client: Sends it.
        refusals: What was refused is noted there.
        may_send: Asked just before each request whether it may still be sent.
        read_node: Reads the answers.
    """

    def __init__(
        self,
        client: Client,
        refusals: Refusals,
        may_send: Callable[[float], bool],
        read_node: Callable[[bytes], NodeObject] = read_node,
    ) -> None:
        self._client = client
        self._refusals = refusals
        self._may_send = may_send
        self._read_node = read_node
        self.written = 0
        """Requests that changed a Node."""
        self._checked_taints: dict[str, NodeObject] = {}
        """By uid: the Node as it was when its taints were last looked at."""

    async def read(self, name: str) -> NodeObject | None:
        """The Node as it is now; ``None``: there is none.

        Raises:
            KubernetesError: not known.
        """
        try:
            answer = await self._client.request(requests.read(NODES, name, is_metadata=True))
        except KubernetesNotFoundError:
            return None
        return self._decode(answer.body, name)

    async def adopt(self, node: NodeObject, keys: Keys) -> NodeObject:
        """Take back keys of ours that nobody is known to own any more; raises what :meth:`apply` raises."""
        answer = await self._client.request(requests.read(NODES, node.name, is_metadata=True))
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        try:
            return await self._send(make_adoption(node.name, answer.body, keys, (NOBODY,), now), node.name)
        except KubernetesInvalidError as error:  # its test of the resourceVersion
            raise _stale(node) from error

    async def apply(self, application: Application) -> Written:
        """Send an apply.

        Raises:
            KubernetesConflictError: the Node is not as it was read.
            KubernetesError: nothing was done, or nobody knows.
        """
        try:
            return Written(await self._send_apply(application), is_as_planned=True)
        except KubernetesConflictError as error:
            owned = application.read_conflicts(error.conflicts)
            if not owned:
                raise
            return await self._apply_without(application, owned)
        except _UNEXPLAINED as error:
            refused = await self._find_refused(application, error)
            rest = application.without(one.output for one in refused)
            node = await self._send_apply(rest) if rest.is_needed else rest.node
            return Written(node, is_as_planned=False)

    async def _apply_without(self, application: Application, owned: Mapping[Output, str]) -> Written:
        """Send the rest of an apply, of which the API server said that others own something.

        It says so before it looks at the resourceVersion. So mostly the Node has changed since it was read, and then nothing
        is noted: the next plan sees whose it is.
        """
        rest = application.without(owned)
        if rest.is_needed:
            node = await self._send_apply(rest)
        else:
            node = await self._read_unchanged(rest.node)
        for output, reason in owned.items():
            self._refusals.add(node.uid, output, reason)
        return Written(node, is_as_planned=False)

    async def _read_unchanged(self, node: NodeObject) -> NodeObject:
        latest = await self.read(node.name)
        if latest is None or latest.token != node.token:
            raise _stale(node)
        return latest

    async def settle_taints(self, node: NodeObject, changes: Changes) -> Written:
        """Bring our taints to what they should be; raises what :meth:`apply` raises.

        They are looked at when something is to change, and when somebody else has written the list since we did.
        """
        is_checked = node.owns_taints or self._was_checked(node)
        if not changes.is_needed and (is_checked or not node.taints_note):
            return Written(node, is_as_planned=True)
        request = requests.read(NODES, node.name)
        tainted = read_tainted((await self._client.request(request)).body, request.what)
        if tainted.metadata.uid != node.uid:
            raise _stale(node)
        change = change_taints(tainted.taints, node.taints_note, changes.apply)
        if change.foreign:
            for name in change.foreign:
                output = Output(RejectedKind.TAINT, name, changes.apply[name])
                self._refusals.add(node.uid, output, "the node has this taint by somebody else")
            return Written(node, is_as_planned=False)
        if change.taints == tainted.taints and not changes.is_needed:
            self._checked_taints[node.uid] = node
            return Written(node, is_as_planned=True)
        return await self._write_taints(node, tainted, changes)

    def forget(self, uid: str) -> None:
        """The Node is gone."""
        self._checked_taints.pop(uid, None)

    def _was_checked(self, node: NodeObject) -> bool:
        checked = self._checked_taints.get(node.uid)
        return checked is not None and checked.taint_owners == node.taint_owners

    async def _write_taints(self, node: NodeObject, tainted: TaintedNode, changes: Changes) -> Written:
        def patch(note: dict[str, str], *, is_dry: bool = False) -> Request:
            taints = change_taints(tainted.taints, node.taints_note, note).taints
            return make_taint_patch(node.name, tainted, taints, note, is_dry=is_dry)

        async def ask(outputs: Sequence[Output]) -> KubernetesError | None:
            return await self._try(patch({output.key: output.value for output in outputs}, is_dry=True))

        try:
            return Written(await self._send(patch(dict(changes.apply)), node.name), is_as_planned=True)
        except _UNEXPLAINED as error:
            kept = [Output(RejectedKind.TAINT, *pair) for pair in changes.apply.items() if pair[0] not in changes.set]
            new = [Output(RejectedKind.TAINT, *pair) for pair in changes.set.items()]
            # A failed test of the list is a 422 too: then the Node is another one, and this says so.
            await self._note_refused(node, error, kept, new, ask)
            return Written(node, is_as_planned=False)

    async def _find_refused(self, application: Application, error: KubernetesError) -> list[Refused]:
        async def ask(outputs: Sequence[Output]) -> KubernetesError | None:
            return await self._try(application.dry_request(outputs))

        return await self._note_refused(application.node, error, application.kept, application.new, ask)

    async def _note_refused(
        self,
        node: NodeObject,
        error: KubernetesError,
        kept: Sequence[Output],
        new: Sequence[Output],
        ask: Callable[[Sequence[Output]], Awaitable[KubernetesError | None]],
    ) -> list[Refused]:
        """Find out which of the new outputs is refused, and note it; if it is none of them, the error stands."""
        if isinstance(error, KubernetesServerError) and error.status != _INTERNAL:
            raise error
        await self._read_unchanged(node)
        refused = await find_refused(kept, new, ask) if await ask(kept) is None else []
        if not refused:
            raise error
        for one in refused:
            scope = EVERYWHERE if isinstance(one.error, KubernetesInvalidError) else node.uid
            self._refusals.add(scope, one.output, f"the API server refuses it: {_explain(one.error)}")
        return refused

    async def _try(self, request: Request) -> KubernetesError | None:
        try:
            await self._client.request(self._guarded(request))
        except _UNEXPLAINED as error:
            if isinstance(error, KubernetesServerError) and error.status != _INTERNAL:
                raise
            return error
        return None

    async def _send_apply(self, application: Application) -> NodeObject:
        return await self._send(application.request(), application.node.name)

    async def _send(self, request: Request, name: str) -> NodeObject:
        answer = await self._client.request(self._guarded(request))
        self.written += 1
        return self._decode(answer.body, name)

    def _decode(self, body: bytes, name: str) -> NodeObject:
        try:
            return self._read_node(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
            what = f"Node {name} cannot be read"
            raise KubernetesContentError(what, why=f"the answer is not what an API server gives: {error}") from error

    def _guarded(self, request: Request) -> Request:
        return dataclasses.replace(request, may_send=self._may_send)


def _stale(node: NodeObject) -> KubernetesConflictError:
    return KubernetesConflictError(f"Node {node.name} is not as it was read", todo="read it again, and decide anew")


def _explain(error: KubernetesError) -> str:
    if isinstance(error, KubernetesInvalidError) and error.causes:
        return "; ".join(dict.fromkeys(cause.message for cause in error.causes))
    return error.why
