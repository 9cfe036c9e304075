"""Asking a service: a typed request with a deadline, and a typed reply or a clear error."""

from typing import TypeVar

from nodeworthy.bus import payloads
from nodeworthy.bus.client import Msg
from nodeworthy.bus.connection import Connection
from nodeworthy.bus.failures import raise_reply
from nodeworthy.bus.names import TIMEOUT_HEADER, Endpoint, Names
from nodeworthy.bus.records import Message
from nodeworthy.bus.requests import ErrorReply
from nodeworthy.errors import BusNobodyError, BusUnreachableError

_Reply = TypeVar("_Reply", bound=Message)

_ERROR_CODE_HEADER = "Nats-Service-Error-Code"
"""NATS ADR-32: a reply with it tells an error."""

_MARGIN_SECONDS = 0.25
"""The service is told to stop by itself a little before the asker does, so that its answer still arrives."""

_ENDPOINT_SERVICES = {Endpoint.RESOLVE: "resolver", Endpoint.ATTACH: "resolver"}


async def ask(
    connection: Connection,
    names: Names,
    endpoint: Endpoint,
    request: Message,
    reply: type[_Reply],
    *,
    seconds: float = 2.0,
) -> _Reply:
    """Ask, and wait at most ``seconds`` for the answer.

    Raises:
        BusNobodyError: no service answers there.
        BusUnreachableError: no answer in time.
        BusBusyError: the service has as many requests in work as it takes.
        BusRequestError: the service answered with an error.
        PayloadError: the request is too large, or the answer cannot be read.
        BusDeniedError: this user may not ask.
    """
    deadline = max(int((seconds - min(_MARGIN_SECONDS, seconds / 10)) * 1000), 1)
    subject = names.endpoint(endpoint)
    try:
        message = await connection.request(
            subject, payloads.encode(request), seconds=seconds, headers={TIMEOUT_HEADER: str(deadline)}
        )
    except BusNobodyError as error:
        service = _ENDPOINT_SERVICES.get(endpoint, "validator")
        raise BusNobodyError(
            f"no {service} answers on {subject}",
            why="none runs in this cluster, or none is ready yet",
            todo=f"start one with: nodeworthy {service}; or see what runs with: nats micro ls",
        ) from error
    except BusUnreachableError as error:
        raise BusUnreachableError(error.what, why=error.why, todo="ask again, or give it more time") from error
    return read_reply(message, reply)


def read_reply(message: Msg, reply: type[_Reply]) -> _Reply:
    """The reply of a message; raises what :func:`ask` raises for an answer."""
    if (message.headers or {}).get(_ERROR_CODE_HEADER):
        raise_reply(payloads.decode(message.data, ErrorReply))
    return payloads.decode(message.data, reply)
