"""The OpenAPI document of the HTTP interface, made from the message types themselves.

By msgspec and not pydantic: the messages are msgspec's, so that what the document says is what is decoded, and the bus tells
the same schemas. Both write JSON Schema 2020-12, the dialect of OpenAPI 3.1, so nothing would be gained by a second model of
each message.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec

from nodeworthy.bus.names import TIMEOUT_HEADER
from nodeworthy.bus.requests import MAX_PAGE, ErrorReply, NodesReply, ValidateReply, ValidateRequest

_TEMPLATE = "#/components/schemas/{name}"


def describe(version: str) -> dict[str, Any]:
    """The document for a version of nodeworthy."""
    types = (ValidateRequest, ValidateReply, NodesReply, ErrorReply)
    schemas, components = msgspec.json.schema_components(types, ref_template=_TEMPLATE)
    request, reply, nodes, error = schemas
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "nodeworthy validator",
            "version": version,
            "summary": "Will this container image run on that node, and if not, why not?",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": {
            "/v1/validate": {"post": _validate(request, reply, error)},
            "/v1/nodes": {"get": _nodes(nodes, error)},
            "/healthz": {"get": _text("Whether the process works")},
            "/readyz": {"get": _text("Whether it answers", also=HTTPStatus.SERVICE_UNAVAILABLE)},
            "/metrics": {"get": _text("What it counted, in Prometheus' text format")},
            "/openapi.json": {"get": _text("This document", content="application/json")},
        },
        "components": {"schemas": components},
    }


def _validate(request: Mapping[str, Any], reply: Mapping[str, Any], error: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "operationId": "validate",
        "summary": "Whether images run on nodes",
        "parameters": [_timeout()],
        "requestBody": {"required": True, "content": {"application/json": {"schema": request}}},
        "responses": _responses("The verdicts", reply, error),
    }


def _nodes(reply: Mapping[str, Any], error: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "operationId": "listNodes",
        "summary": "The nodes that are known, and how well, page by page",
        "parameters": [
            _query("node", {"type": "array", "items": {"type": "string"}}, "Only these; may be given several times"),
            _query("selector", {"type": "string"}, "A label selector; metadata.name is the node's name"),
            _query("limit", {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 100}, "Nodes of a page"),
            _query("cursor", {"type": "string"}, "From the page before"),
            _timeout(),
        ],
        "responses": _responses("A page", reply, error),
    }


def _responses(what: str, reply: Mapping[str, Any], error: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "200": {"description": what, "content": {"application/json": {"schema": reply}}},
        "default": {"description": "An error", "content": {"application/json": {"schema": error}}},
    }


def _text(what: str, *, content: str = "text/plain", also: HTTPStatus | None = None) -> dict[str, Any]:
    answer = {"description": what, "content": {content: {}}}
    responses = {"200": answer} | ({str(int(also)): {"description": also.phrase}} if also else {})
    return {"summary": what, "responses": responses}


def _query(name: str, schema: Mapping[str, Any], what: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": what, "schema": schema}


def _timeout() -> dict[str, Any]:
    return {
        "name": TIMEOUT_HEADER,
        "in": "header",
        "description": "Milliseconds that the answer is waited for",
        "schema": {"type": "integer", "minimum": 1},
    }
