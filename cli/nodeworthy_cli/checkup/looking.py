"""Looking all images up, some side by side; a registry that does not answer harms its own images alone."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from nodeworthy import verdicts
from nodeworthy.bus.requests import Inspect, ResolveRequest
from nodeworthy.bus.resolving import resolve
from nodeworthy.bus.store import Store
from nodeworthy.errors import (
    BusDeniedError,
    BusError,
    BusNobodyError,
    BusUnreachableError,
    InvalidReferenceError,
    NodeworthyError,
    RegistryUnreachableError,
    first_error,
)
from nodeworthy.images import ImageKnowledge, with_inspections
from nodeworthy.platforms import Platform
from nodeworthy.requirements import Inspection
from nodeworthy.verdicts import NodeFacts, State
from nodeworthy_cli.checking import SIDE_BY_SIDE, hint_at_disk
from nodeworthy_cli.learning import inspect_image, learn
from nodeworthy_resolver import oci
from nodeworthy_resolver.inspection.targets import RootFolder, SingleFile, Target, is_on_disk, parse_target

Look: TypeAlias = Callable[[str], Awaitable[ImageKnowledge]]
"""Finds out what is known of one image; raises a NodeworthyError where it is not."""

Found: TypeAlias = Mapping[str, ImageKnowledge | NodeworthyError]
"""Image to what is known of it, or why nothing is."""

_AT_ONE_HOST = 4
"""Images asked for at one registry at once, so that one that hangs leaves places for the others."""
_PATIENCE = 2
"""How often a registry may leave a question without an answer; then its other images are not asked for."""
_INSPECTED_AT_ONCE = 2
"""Images whose files are read at once: each takes a processor, and its layers lie on this machine's disk meanwhile."""
_SILENT = (RegistryUnreachableError, BusUnreachableError)
_HOPELESS = (BusNobodyError, BusDeniedError)
"""No resolver, or none for this user: no other image would fare better."""


async def look_at_all(images: Sequence[str], look: Look, tell: Callable[[int, int], None]) -> Found:
    """What is known of each image; ``tell`` is told how many are done, of how many.

    Raises:
        BusError: there is nobody to ask.
    """
    hosts = {image: _host(image) for image in images}
    places = asyncio.Semaphore(SIDE_BY_SIDE)
    at_host: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(_AT_ONE_HOST))
    silences: Counter[str] = Counter()
    found: dict[str, ImageKnowledge | NodeworthyError] = {}

    async def find(image: str) -> None:
        host = hosts[image]
        async with at_host[host], places:
            if silences[host] >= _PATIENCE:
                found[image] = RegistryUnreachableError(f"{host} did not answer for other images", todo="try it later")
            else:
                found[image] = await _try(image, look)
                silences[host] += isinstance(found[image], _SILENT)
        tell(len(found), len(images))

    try:
        async with asyncio.TaskGroup() as group:
            for image in images:
                group.create_task(find(image), name=f"look up {image}")
    except BaseExceptionGroup as errors:
        error = first_error(errors)
        raise error from error.__cause__
    return {image: found[image] for image in images}


async def _try(image: str, look: Look) -> ImageKnowledge | NodeworthyError:
    try:
        return await look(image)
    except _HOPELESS:
        raise
    except NodeworthyError as error:
        return hint_at_disk(image, error)


def _host(image: str) -> str:
    try:
        reference = oci.parse_reference(image)
    except InvalidReferenceError:
        return ""
    return reference.host if isinstance(reference, oci.Reference) else ""


def in_registries_only(look: Look) -> Look:
    """The look, for names that strangers wrote: nothing but an image in a registry, so that no file of ours is read."""

    async def guarded(image: str) -> ImageKnowledge:
        if not isinstance(oci.parse_reference(image), oci.Reference):
            raise InvalidReferenceError(image, "a pod's image is in a registry", todo="mend the workload")
        return await look(image)

    return guarded


class _Asked(NamedTuple):
    node: NodeFacts
    wanted: Platform | None = None
    inspect: bool | None = True


class LocalLook:
    """Asks registries, folders and archives from here, for all that the nodes would take."""

    def __init__(self, nodes: Sequence[NodeFacts], access: oci.RegistryAccess, *, inspect: bool | None) -> None:
        """``inspect``: whether files are looked at; ``None``: those of images on disk."""
        self._nodes = {node.platforms: node for node in nodes}
        self._access = access
        self._inspect = inspect
        self._places = asyncio.Semaphore(_INSPECTED_AT_ONCE)

    async def __call__(self, image: str) -> ImageKnowledge:
        """What is known of an image; raises what :func:`nodeworthy_cli.learning.learn` raises."""
        target = parse_target(image)
        if isinstance(target, RootFolder | SingleFile):
            return await learn(image, _Asked(next(iter(self._nodes.values()))), self._access)
        wanted = tuple(dict.fromkeys(platform for platforms in self._nodes for platform in platforms))
        knowledge = await oci.look_up(target, wanted or None, self._access)
        if not (is_on_disk(target) if self._inspect is None else self._inspect):
            return knowledge
        return with_inspections(knowledge, await self._inspect_all(target, knowledge))

    async def _inspect_all(self, target: Target, knowledge: ImageKnowledge) -> dict[str, Inspection | None]:
        """What the files say of each image that a node takes, by its digest."""
        found: dict[str, Inspection | None] = {}
        for node in self._nodes.values():
            chosen = verdicts.choose_image(knowledge, node)
            if chosen.image is None or chosen.finding.state is State.UNMET or chosen.image.digest in found:
                continue
            async with self._places:
                found[chosen.image.digest] = await inspect_image(target, chosen.image, self._access)
        return found


class BusLook:
    """Asks the resolver."""

    def __init__(self, store: Store, platforms: Sequence[Platform], *, seconds: float, inspect: bool) -> None:
        """``inspect``: whether the resolver is waited for while it looks at files; ``seconds`` for one image."""
        self._store = store
        self._platforms = tuple(map(str, platforms))
        self._seconds = seconds
        self._wish = Inspect.WAIT if inspect else Inspect.KNOWN

    async def __call__(self, image: str) -> ImageKnowledge:
        """What the resolver knows of an image; raises what :func:`nodeworthy.bus.resolving.resolve` raises."""
        try:
            return await self._ask(image, self._wish)
        except _HOPELESS:
            raise
        except (BusError, RegistryUnreachableError) as error:
            if self._wish is not Inspect.WAIT:
                raise
            knowledge = await self._ask(image, Inspect.KNOWN)
            notice = f"its files were not looked at in time: {error}"
            return msgspec.structs.replace(knowledge, notices=(*knowledge.notices, notice))

    async def _ask(self, image: str, wish: Inspect) -> ImageKnowledge:
        request = ResolveRequest(reference=image, platforms=self._platforms, inspect=wish)
        reply = await resolve(self._store.connection, self._store.names, request, seconds=self._seconds)
        return reply.knowledge
