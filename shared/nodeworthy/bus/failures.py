"""Errors on their way through the bus: to the reply of a service, and back to the error that the asker raises."""

from nodeworthy import errors
from nodeworthy.bus.requests import ErrorCode, ErrorReply

_CODES: tuple[tuple[type[errors.NodeworthyError], ErrorCode], ...] = (
    (errors.PayloadVersionError, ErrorCode.NEWER_VERSION),
    (errors.PayloadError, ErrorCode.BAD_REQUEST),
    (errors.UsageError, ErrorCode.BAD_REQUEST),
    (errors.DocumentError, ErrorCode.BAD_REQUEST),
    (errors.InvalidReferenceError, ErrorCode.BAD_REQUEST),
    (errors.ImageNotFoundError, ErrorCode.NOT_FOUND),
    (errors.RegistryDeniedError, ErrorCode.DENIED),
    (errors.BusDeniedError, ErrorCode.DENIED),
    (errors.RegistryError, ErrorCode.UNAVAILABLE),
    (errors.BusBusyError, ErrorCode.BUSY),
    (errors.BusError, ErrorCode.UNAVAILABLE),
)
"""The first that fits; what is not listed is a fault of the service."""


def error_reply(error: errors.NodeworthyError) -> ErrorReply:
    """The reply that tells an error."""
    code = next((code for kind, code in _CODES if isinstance(error, kind)), ErrorCode.INTERNAL)
    if isinstance(error, errors.BusRequestError):
        code = ErrorCode(error.code) if error.code in _KNOWN else ErrorCode.INTERNAL
    elif isinstance(error, errors.PayloadError) and error.too_large:
        code = ErrorCode.TOO_LARGE
    what, why, todo = error.diagnostics()
    return ErrorReply(code=code, what=what, why=why, todo=todo)


_KNOWN = frozenset(ErrorCode)


def raise_reply(reply: ErrorReply) -> None:
    """Raise what a reply tells.

    Raises:
        BusBusyError: the service is busy.
        BusRequestError: anything else, with its code.
    """
    if reply.code is ErrorCode.BUSY:
        raise errors.BusBusyError(reply.what, why=reply.why, todo=reply.todo)
    raise errors.BusRequestError(reply.what, code=reply.code, why=reply.why, todo=reply.todo)
