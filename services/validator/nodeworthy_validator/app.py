"""The validator's wiring: bus, facts, resolvers, endpoints and HTTP."""

import asyncio
import contextlib
import importlib.metadata
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from nodeworthy.bus.connecting import connected, wait_for_end
from nodeworthy.bus.connection import Connection
from nodeworthy.bus.names import VALIDATOR_SERVICE, Endpoint, Names
from nodeworthy.bus.requests import (
    ExplainReply,
    ExplainRequest,
    NodesReply,
    NodesRequest,
    ResolveReply,
    ResolveRequest,
    ValidateReply,
    ValidateRequest,
)
from nodeworthy.bus.resolving import resolve
from nodeworthy.bus.serving import Served, Serving, ServingSettings
from nodeworthy.bus.store import Store
from nodeworthy.errors import BusUnreachableError, first_error
from nodeworthy.fleet import Declarations, Limits
from nodeworthy.processes import EventLog
from nodeworthy_validator.explanation import Explanation
from nodeworthy_validator.following import Following
from nodeworthy_validator.handlers import handle_explain, handle_nodes, handle_validate
from nodeworthy_validator.image_lookups import ImageLookups
from nodeworthy_validator.inventory import Inventory
from nodeworthy_validator.metrics import Metrics
from nodeworthy_validator.node_labels import NodeLabels
from nodeworthy_validator.node_pages import NodePages
from nodeworthy_validator.openapi import describe
from nodeworthy_validator.settings import Settings
from nodeworthy_validator.specifications import Specifications
from nodeworthy_validator.validation import Resources, Validation
from nodeworthy_validator.web_server import serve_web

_LOG = EventLog("validator")


class Validator:
    """One validator: what it knows, and the questions that it answers from that."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.names = Names(settings.cluster)
        self.metrics = Metrics()
        self.inventory = Inventory(lifetimes=settings.lifetimes, limits=Limits(asks=settings.bounds.asks))
        self.labels = NodeLabels()
        self.connection: Connection | None = None
        self.following: Following | None = None
        bounds = settings.bounds
        images = ImageLookups(
            self._ask_resolver, bounds, self.metrics, seconds=settings.lifetimes.image, clock=time.monotonic
        )
        specifications = Specifications(most=bounds.specifications, most_bytes=bounds.specification_bytes)
        self.validation = Validation(
            Resources(self.inventory, self.labels, images, specifications, Declarations(), self.metrics, bounds)
        )
        self.explanation = Explanation(self.validation, self.inventory, reply_bytes=bounds.reply_bytes)
        self.pages = NodePages(self.inventory, self.labels, reply_bytes=bounds.reply_bytes)

    async def _ask_resolver(self, request: ResolveRequest, seconds: float) -> ResolveReply:
        if self.connection is None:
            raise BusUnreachableError("there is no connection to the bus")
        return await resolve(self.connection, self.names, request, seconds=seconds)

    def why_not_answering(self) -> str:
        """Why nothing can be answered: not everything was read once."""
        return self.following.why_not_complete() if self.following else "there is no connection to the bus yet"

    def why_not_ready(self) -> str:
        """Why others should be asked: there is no connection, or what is known may be old."""
        if self.connection is None or not self.connection.is_connected:
            return "there is no connection to the bus"
        return self.why_not_answering() or (self.following.why_behind() if self.following else "")

    async def validate(self, request: ValidateRequest, seconds: float) -> ValidateReply:
        """Whether images run on nodes."""
        return await self.validation.answer(request, seconds)

    async def list_nodes(self, request: NodesRequest, seconds: float) -> NodesReply:
        """A page of nodes."""
        return await self.pages.answer(request, seconds)

    def endpoints(self) -> Sequence[Served[Any]]:
        """What is answered on the bus."""
        metrics = self.metrics
        validate = partial(handle_validate, validation=self.validation, metrics=metrics)
        explain = partial(handle_explain, explanation=self.explanation, metrics=metrics)
        nodes = partial(handle_nodes, pages=self.pages, metrics=metrics)
        return (
            Served(Endpoint.VALIDATE, ValidateRequest, ValidateReply, validate),
            Served(Endpoint.EXPLAIN, ExplainRequest, ExplainReply, explain),
            Served(Endpoint.NODES, NodesRequest, NodesReply, nodes),
        )


async def run(settings: Settings, stop: asyncio.Event, ready: asyncio.Event) -> None:
    """Run the validator until ``stop``; ``ready`` is set when it answers.

    Raises:
        UsageError: the HTTP port or the settings of the bus cannot be used.
        BusDeniedError: the bus refused the user, or what it has to read.
        BusUnreachableError: the connection was closed for good.
    """
    validator = Validator(settings)
    version = importlib.metadata.version("nodeworthy")
    document = msgspec.json.encode(describe(version))
    _LOG.info("validator.starting", cluster=settings.cluster)
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(serve_web(validator, validator.metrics, settings, document))
        connection = await stack.enter_async_context(connected(settings.bus, stop, "validator"))
        if connection is not None:
            validator.connection = connection
            await _serve(validator, connection, version, stop, ready)


async def _serve(
    validator: Validator, connection: Connection, version: str, stop: asyncio.Event, ready: asyncio.Event
) -> None:
    following = Following(
        Store(connection, validator.names),
        validator.inventory,
        validator.labels,
        validator.metrics,
        pending_seconds=validator.settings.lifetimes.pending,
    )
    validator.following = following
    tasks = ServingSettings(tasks=validator.settings.bounds.requests)
    serving = Serving(connection, validator.names, VALIDATOR_SERVICE, version, settings=tasks)
    validator.metrics.watch_replies(lambda: serving.counts)
    complete = asyncio.Event()
    try:
        async with asyncio.TaskGroup() as group:
            beside = (
                group.create_task(following.follow_nodes(), name="follow nodes"),
                group.create_task(following.follow_labels(), name="follow labels"),
                group.create_task(_announce(following, serving, complete, ready), name="announce"),
                group.create_task(wait_for_end(connection, stop, "validator"), name="watch the connection"),
            )
            await serving.run(validator.endpoints(), complete, stop)
            for task in beside:
                task.cancel()
    except BaseExceptionGroup as errors:
        raise first_error(errors) from errors


async def _announce(following: Following, serving: Serving, complete: asyncio.Event, ready: asyncio.Event) -> None:
    await following.wait()
    complete.set()
    await serving.answering.wait()
    ready.set()
    _LOG.info("validator.ready")
