"""Asking a resolver for an image, for whoever needs the answer: the validator, the command line, other programs.

Asking again costs the registry nothing, since equal questions share one look-up and answers are kept.
"""

from nodeworthy import errors
from nodeworthy.bus.asking import PATIENCE_SECONDS, Asking
from nodeworthy.bus.connection import Connection
from nodeworthy.bus.names import Endpoint, Names
from nodeworthy.bus.requests import ErrorCode, ResolveReply, ResolveRequest


async def resolve(
    connection: Connection,
    names: Names,
    request: ResolveRequest,
    *,
    seconds: float,
    try_seconds: float = PATIENCE_SECONDS,
) -> ResolveReply:
    """What is known of an image; ``try_seconds`` is how long the first try is waited for alone.

    Raises:
        UsageError: the reference or a platform is none.
        ImageNotFoundError: there is no such image, or it may not be seen.
        RegistryDeniedError: the registry refused the resolver.
        RegistryError: the registry does not answer, or its answer cannot be used.
        BusError: no resolver answered within ``seconds``, or the bus refused the question.
    """
    try:
        return await Asking(connection, names, Endpoint.RESOLVE, request, ResolveReply).run(seconds, try_seconds)
    except errors.BusError as error:
        raise image_error(error) from error


_ERRORS: dict[str, type[errors.NodeworthyError]] = {
    ErrorCode.BAD_REQUEST: errors.UsageError,
    ErrorCode.NOT_FOUND: errors.ImageNotFoundError,
    ErrorCode.DENIED: errors.RegistryDeniedError,
    ErrorCode.UNAVAILABLE: errors.RegistryError,
    ErrorCode.TIMEOUT: errors.RegistryUnreachableError,
}


def image_error(error: errors.BusError) -> errors.NodeworthyError:
    """The error that the resolver met, in place of the one that told it; others as they are."""
    kind = _ERRORS.get(error.code) if isinstance(error, errors.BusRequestError) else None
    return kind(error.what, why=error.why, todo=error.todo) if kind else error
