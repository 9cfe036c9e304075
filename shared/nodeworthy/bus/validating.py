"""Asking a validator, for whoever needs the answer: the command line, pipelines, other programs."""

from nodeworthy.bus.asking import PATIENCE_SECONDS, Asking
from nodeworthy.bus.connection import Connection
from nodeworthy.bus.names import Endpoint, Names
from nodeworthy.bus.requests import (
    ExplainReply,
    ExplainRequest,
    NodesReply,
    NodesRequest,
    ValidateReply,
    ValidateRequest,
)


async def validate(
    connection: Connection,
    names: Names,
    request: ValidateRequest,
    *,
    seconds: float,
    patience: float = PATIENCE_SECONDS,
) -> ValidateReply:
    """Whether images run on nodes; raises what :class:`Asking` raises."""
    return await Asking(connection, names, Endpoint.VALIDATE, request, ValidateReply).run(seconds, patience)


async def explain(
    connection: Connection, names: Names, request: ExplainRequest, *, seconds: float, patience: float = PATIENCE_SECONDS
) -> ExplainReply:
    """One verdict in full; raises what :class:`Asking` raises."""
    return await Asking(connection, names, Endpoint.EXPLAIN, request, ExplainReply).run(seconds, patience)


async def list_nodes(
    connection: Connection, names: Names, request: NodesRequest, *, seconds: float, patience: float = PATIENCE_SECONDS
) -> NodesReply:
    """A page of the nodes that validators know; raises what :class:`Asking` raises."""
    return await Asking(connection, names, Endpoint.NODES, request, NodesReply).run(seconds, patience)
