"""Asking a resolver for an image, for whoever needs the answer: the validator, the command line, other programs.

A replica may be killed with the question in its hands, none may be ready for a moment, or all may be busy: the question is
then asked again until the asker's own time is over. That costs the registry nothing, since equal questions share one lookup
and answers are kept.
"""

import asyncio
import random

from nodeworthy import errors
from nodeworthy.bus.asking import ask
from nodeworthy.bus.connection import Connection
from nodeworthy.bus.names import Endpoint, Names
from nodeworthy.bus.requests import ErrorCode, ResolveReply, ResolveRequest

TRY_SECONDS = 2.0
"""For one try: a cached answer takes milliseconds, a registry about a second; a replica that was killed never answers."""
PAUSE_SECONDS = 0.05
"""Before the second try; it doubles up to :data:`LONGEST_PAUSE_SECONDS`, and is jittered by half of it."""
LONGEST_PAUSE_SECONDS = 0.5


async def resolve(
    connection: Connection, names: Names, request: ResolveRequest, *, seconds: float, try_seconds: float = TRY_SECONDS
) -> ResolveReply:
    """What is known of an image.

    Raises:
        UsageError: the reference or a platform is none.
        ImageNotFoundError: there is no such image, or it may not be seen.
        RegistryDeniedError: the registry refused the resolver.
        RegistryError: the registry does not answer, or its answer cannot be used.
        BusError: no resolver answered within ``seconds``, or the bus refused the question.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    pause = PAUSE_SECONDS
    while True:
        left = end - loop.time()
        try:
            return await ask(
                connection, names, Endpoint.RESOLVE, request, ResolveReply, seconds=max(min(left, try_seconds), 0.001)
            )
        except errors.BusError as error:
            wait = pause * (0.5 + random.random() / 2)  # noqa: S311 # no secret
            if not is_passing(error) or loop.time() + wait >= end:
                raise image_error(error) from error
        await asyncio.sleep(wait)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


def is_passing(error: errors.BusError) -> bool:
    """Whether the same question may be answered in a moment."""
    is_slow = isinstance(error, errors.BusRequestError) and error.code == ErrorCode.TIMEOUT
    return is_slow or isinstance(error, errors.BusUnreachableError | errors.BusBusyError)


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
