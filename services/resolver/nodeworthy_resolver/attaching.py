"""Attaching a specification on somebody's behalf, with the resolver's own credentials."""

import asyncio
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from nodeworthy import platforms as platform_names
from nodeworthy import rules
from nodeworthy.bus.requests import AttachedArtifact, AttachReply, AttachRequest
from nodeworthy.errors import BusDeniedError, DocumentError, NodeworthyError, UsageError
from nodeworthy.platforms import Platform
from nodeworthy.processes import EventLog
from nodeworthy_resolver import oci
from nodeworthy_resolver.asking import Admission
from nodeworthy_resolver.cache import ImageCache
from nodeworthy_resolver.flights import Flights
from nodeworthy_resolver.lookups import parse_registry_reference
from nodeworthy_resolver.oci import Attached, Reference
from nodeworthy_resolver.oci.registry import RegistryClient

_LOG = EventLog("resolver")

_TITLE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
"""``oras pull`` writes the document to a file of this name, on the machine of who pulls."""


@dataclass(frozen=True)
class _Order:
    """What is to be attached, checked."""

    reference: Reference
    spec: bytes
    targets: Literal["all"] | tuple[Platform, ...] | None
    title: str

    @property
    def key(self) -> tuple[str, str, object, str]:
        """Equal orders at the same time are one: a caller whose time was over asks again."""
        return str(self.reference), hashlib.sha256(self.spec).hexdigest(), self.targets, self.title


class Attachments:
    """Carries orders out, if that is allowed at all."""

    def __init__(
        self,
        client: RegistryClient,
        cache: ImageCache,
        admission: Admission,
        flights: Flights[AttachReply],
        *,
        is_allowed: bool,
    ) -> None:
        self._client = client
        self._cache = cache
        self._admission = admission
        self._flights = flights
        self._is_allowed = is_allowed

    async def attach(self, request: AttachRequest) -> AttachReply:
        """Attach a specification, and forget what was known to be attached before.

        Raises:
            BusDeniedError: attaching over the bus is not allowed here.
            DocumentError: the specification is not one that every reader can use.
            UsageError: no such target.
            NodeworthyError: the registry cannot be read or written.
        """
        if not self._is_allowed:
            raise BusDeniedError(
                "attaching over the bus is not allowed",
                why="whoever asks would use the resolver's credentials",
                todo="attach with your own: nodeworthy spec attach; or start the resolver with --allow-attach",
            )
        order = await asyncio.to_thread(parse_order, request)  # a hostile document takes a second of CPU
        return await self._flights.join(order.key, lambda: self._carry_out(order), name=f"attach {order.reference}")

    async def _carry_out(self, order: _Order) -> AttachReply:
        reference = order.reference
        with self._admission.enter(reference.host):
            attached = await oci.attach(
                self._client.store(reference),
                reference,
                order.spec,
                platforms=order.targets,
                created=datetime.now(UTC),
                title=order.title,
            )
        repository = f"{reference.host}/{reference.repository}"
        for one in attached:
            _LOG.info("resolver.attached", repository=repository, subject=one.subject, artifact=one.digest)
            await self._forget(repository, one.subject)
        return AttachReply(attached=tuple(map(_describe, attached)))

    async def _forget(self, repository: str, subject: str) -> None:
        try:
            await self._cache.forget_search(repository, subject)
        except NodeworthyError as error:
            # The artifact is attached; whoever asks gets the old answer until it expires, or asks for a fresh one.
            _LOG.warning("resolver.cache_not_forgotten", repository=repository, subject=subject, error=error)


def parse_order(request: AttachRequest) -> _Order:
    """What a request asks to be attached.

    Raises:
        NodeworthyError: the reference, a platform, the title or the specification is wrong; nothing was written.
    """
    reference = parse_registry_reference(request.reference)
    if not _TITLE.fullmatch(request.title):
        raise UsageError(f"{request.title[:60]!r} is no title", why="it is a plain file name of at most 128 characters")
    if request.all_platforms and request.platforms:
        raise UsageError("both all platforms and some are named", why="one of the two is meant", todo="leave one out")
    spec = rules.read_compatibility_spec(request.spec, request.title)
    if spec.problems:
        raise DocumentError(request.title, spec.problems, todo="nothing was attached; mend the specification first")
    if not spec.compatibilities:
        # Allowed where documents are read; attached, it would make the image unusable for everybody who asks.
        raise UsageError(
            f"{request.title} declares nothing", why="it has no compatibility set", todo="write one at least"
        )
    return _Order(reference, request.spec, _parse_targets(request), request.title)


def _parse_targets(request: AttachRequest) -> Literal["all"] | tuple[Platform, ...] | None:
    if request.all_platforms:
        return "all"
    wanted: Sequence[Platform] = [platform_names.parse(name) for name in request.platforms]
    return tuple(wanted) or None


def _describe(one: Attached) -> AttachedArtifact:
    platform = str(one.platform) if one.platform else ""
    return AttachedArtifact(digest=one.digest, subject=one.subject, platform=platform, via=one.via.value)
