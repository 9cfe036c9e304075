"""Takes the taint off that keeps pods from a new node until its labels are there.

Administrators let the kubelet put it on (``--register-with-taints``); nothing here ever does.
"""

import dataclasses
from collections.abc import Callable

from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.refusals import KubernetesConflictError, KubernetesInvalidError
from nodeworthy.kubernetes.resources import NODES
from nodeworthy.labels import taint_key
from nodeworthy.processes import EventLog
from nodeworthy_labeler.cluster.node_objects import NodeObject
from nodeworthy_labeler.cluster.taints import Taint, make_taint_patch, read_tainted
from nodeworthy_labeler.settings import StartupTaint

_LOG = EventLog("labeler")


class StartupTaints:
    """Removes one taint from Nodes that are labelled.

    Args:
        client: Reads and writes Nodes.
        taint: Which one.
        is_complete: Whether all that a node's labels are made of is known, and nothing newer waits.
        may_send: Asked just before each write whether it may still be sent.
    """

    def __init__(
        self,
        client: Client,
        taint: StartupTaint,
        is_complete: Callable[[str], bool],
        may_send: Callable[[float], bool],
    ) -> None:
        self._client = client
        self._taint = taint
        self._is_complete = is_complete
        self._may_send = may_send
        self.removed = 0
        """Nodes that it was removed from."""
        self._checked: dict[str, NodeObject] = {}
        """By uid: the Node as it was when its taints were last looked at."""

    async def settle(self, node: NodeObject) -> None:
        """Remove the taint from a Node whose labels are written, if there is nothing left to come.

        The metadata tells who wrote the list, and not what is in it: it is read when others have written it since.

        Raises:
            KubernetesConflictError: the Node is not as it was read.
            KubernetesError: nothing was done, or nobody knows.
        """
        if self._is_checked(node) or not self._is_complete(node.name):
            return
        request = requests.read(NODES, node.name)
        tainted = read_tainted((await self._client.request(request)).body, request.what)
        if tainted.metadata.uid != node.uid:
            raise _changed(node)
        left = [taint for taint in tainted.taints if not self._is_meant(taint, node)]
        if len(left) < len(tainted.taints):
            patch = make_taint_patch(node.name, tainted, left, node.taints_note)
            try:
                await self._client.request(dataclasses.replace(patch, may_send=self._may_send))
            except KubernetesInvalidError as error:  # its test of the list, or of the resourceVersion
                raise _changed(node) from error
            self.removed += 1
            _LOG.info("labeler.startup_taint_removed", about=node.name, node=node.name, taint=str(self._taint))
        self._checked[node.uid] = node

    def forget(self, uid: str) -> None:
        """The Node is gone."""
        self._checked.pop(uid, None)

    def _is_checked(self, node: NodeObject) -> bool:
        """Whether the list cannot have it: nobody wrote the list, or nobody else since it was looked at."""
        if not node.taint_owners and not node.has_lost_owners:
            return True
        checked = self._checked.get(node.uid)
        return checked is not None and checked.taint_owners == node.taint_owners

    def _is_meant(self, taint: Taint, node: NodeObject) -> bool:
        """Whether a taint is the one; what a rule of ours gives is not, or it would come and go."""
        key, effect = taint.get("key", ""), taint.get("effect", "")
        return self._taint.is_like(key, effect) and taint_key(key, effect) not in node.taints_note


def _changed(node: NodeObject) -> KubernetesConflictError:
    return KubernetesConflictError(f"Node {node.name} is not as it was read", todo="read it again, and decide anew")
