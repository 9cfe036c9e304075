"""Answers by HTTP: the same messages as on the bus as JSON, and errors with a status."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus

from aiohttp import web
from aiohttp.typedefs import Middleware

from nodeworthy.bus import payloads
from nodeworthy.bus.failures import error_reply
from nodeworthy.bus.payloads import Format
from nodeworthy.bus.records import Message
from nodeworthy.bus.requests import ErrorCode, ErrorReply
from nodeworthy.errors import NodeworthyError
from nodeworthy.processes import EventLog
from nodeworthy_validator.metrics import Metrics

_LOG = EventLog("validator")

STATUSES = {
    ErrorCode.BAD_REQUEST: HTTPStatus.BAD_REQUEST,
    ErrorCode.NEWER_VERSION: HTTPStatus.BAD_REQUEST,
    ErrorCode.TOO_LARGE: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    ErrorCode.NOT_FOUND: HTTPStatus.NOT_FOUND,
    ErrorCode.BUSY: HTTPStatus.SERVICE_UNAVAILABLE,
    ErrorCode.TIMEOUT: HTTPStatus.GATEWAY_TIMEOUT,
    ErrorCode.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
    ErrorCode.DENIED: HTTPStatus.BAD_GATEWAY,
    ErrorCode.INTERNAL: HTTPStatus.INTERNAL_SERVER_ERROR,
}
"""DENIED is 502 and not 403: it is the registry that refused the resolver, and no other caller would fare better."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def json_response(message: Message, status: int = HTTPStatus.OK) -> web.Response:
    """A message as JSON."""
    return web.Response(body=payloads.encode(message, Format.JSON), status=status, content_type="application/json")


def error_response(error: ErrorReply, status: int | None = None) -> web.Response:
    """An error as JSON; its code decides on the status, unless HTTP has one of its own for it."""
    return json_response(error, STATUSES[error.code] if status is None else status)


def answer_errors(metrics: Metrics) -> Middleware:
    """What makes every failure an answer, and counts the answers; no failure of a request ends the service."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        response = await _respond(request, handler)
        resource = request.match_info.route.resource
        metrics.http.labels(resource.canonical if resource else "other", str(response.status)).inc()
        return response

    return guard


async def _respond(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except NodeworthyError as error:
        return error_response(error_reply(error))
    except TimeoutError:
        return error_response(ErrorReply(code=ErrorCode.TIMEOUT, what="there was no answer in the time that was given"))
    except web.HTTPException as error:
        return _http_error(error)
    except Exception as error:  # noqa: BLE001 # one request must not end the service, and must be answered
        _LOG.error("validator.http_failed", path=request.path, exception=error)
        return error_response(ErrorReply(code=ErrorCode.INTERNAL, what="the service failed on this request"))


def _http_error(error: web.HTTPException) -> web.Response:
    """What aiohttp itself refuses: paths, methods, sizes."""
    codes = {
        HTTPStatus.NOT_FOUND: ErrorCode.NOT_FOUND,
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE: ErrorCode.TOO_LARGE,
    }
    code = codes.get(HTTPStatus(error.status), ErrorCode.BAD_REQUEST)
    reply = ErrorReply(code=code, what=error.reason, todo="see /openapi.json")
    response = error_response(reply, error.status)
    if "Allow" in error.headers:
        response.headers["Allow"] = error.headers["Allow"]
    return response
