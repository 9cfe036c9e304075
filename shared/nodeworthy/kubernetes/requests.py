"""What is sent to the API server, and within which limits; no input or output.

A request that writes is answered with the object's metadata alone: spec and status of a Node have 10 kB that nobody reads.
Whoever needs other times or a guard takes :func:`dataclasses.replace`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

import msgspec

from nodeworthy.kubernetes.resources import Resource


class Patch(StrEnum):
    """How the body of a PATCH is meant, as its content type (Kubernetes API concepts, "Patch and apply").

    The strategic merge is not here: it exists for built-in kinds only and does less than apply.
    """

    APPLY = "application/apply-patch+yaml"
    """Server-side apply; JSON is YAML."""
    JSON = "application/json-patch+json"
    """RFC 6902."""
    MERGE = "application/merge-patch+json"
    """RFC 7386."""


JSON = "application/json"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


@dataclass(frozen=True)
class RequestLimits:
    """How much one client asks of the API server; times in seconds."""

    rate: float = 400.0
    """Requests in a second over a longer time: somewhat more than an API server on two cores carries out (530 patches)."""
    burst: int = 400
    """Requests that are let through at once after a rest: one change reaches some hundreds of nodes without waiting."""
    parallel: int = 16
    """Requests under way; 64 gave a tenth more patches on a small server, and thrice the longest wait."""
    timeout: float = 5.0
    """For one request and its answer. Less than a membership Lease lasts, so that one which is renewed has time for it."""
    list_timeout: float = 60.0
    """For one page of a list; a busy API server makes 500 objects in some seconds."""
    busy_tries: int = 5
    """How often a request is sent while the server answers 429: nothing was done then."""
    longest_wait: float = 30.0
    """The longest Retry-After that is waited for; a longer one is an error that says how long."""
    max_bytes: int = 256 * 1024 * 1024
    """Of an answer. A page of 500 objects of 100 kB has 50 MB."""


DEFAULT_LIMITS = RequestLimits()


@dataclass(frozen=True)
class Request:
    """One request."""

    method: str
    path: str
    """Under the server's address, quoted."""
    what: str
    """The sentence for the case that it fails: ``Node n1 cannot be read``."""
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = JSON
    accept: str = JSON
    timeout: float | None = None
    """Seconds for each try; ``None``: as the limits say."""
    is_urgent: bool = False
    """Not to wait behind others, by number or rate: the renewal of a Lease."""
    may_send: Callable[[float], bool] | None = None
    """Asked just before each try, with the seconds that it may take: a Lease may have ended while the request waited."""

    def without_field_validation(self) -> "Request":
        """A write whose fields are all known, each once: the server does not read the body once more to warn of others.

        An apply is read as YAML, so that takes a while
        (https://kubernetes.io/docs/reference/using-api/api-concepts/#setting-the-field-validation-level).
        """
        return replace(self, query={**self.query, "fieldValidation": "Ignore"})


class Answer(NamedTuple):
    """What the server said of a request that it carried out."""

    status: int
    body: bytes


def read(resource: Resource, name: str, *, namespace: str = "", is_metadata: bool = False) -> Request:
    """One object; with ``is_metadata`` without spec and status."""
    what = f"{resource.describe(name, namespace)} cannot be read"
    accept = METADATA if is_metadata else JSON
    return Request("GET", resource.path(name, namespace=namespace), what, accept=accept)


def list_all(
    resource: Resource,
    *,
    namespace: str = "",
    label_selector: str = "",
    field_selector: str = "",
    is_metadata: bool = False,
) -> Request:
    """All objects of a kind, or those that a selector takes; for :meth:`nodeworthy.kubernetes.client.Client.pages`."""
    query = {"labelSelector": label_selector, "fieldSelector": field_selector}
    return Request(
        "GET",
        resource.path(namespace=namespace),
        f"the list of {resource.plural} cannot be read",
        query={name: value for name, value in query.items() if value},
        accept=METADATA_LIST if is_metadata else JSON,
    )


def apply(
    resource: Resource,
    name: str,
    body: bytes,
    *,
    manager: str,
    namespace: str = "",
    subresource: str = "",
    is_forced: bool = False,
    is_dry: bool = False,
) -> Request:
    """Server-side apply: ``body`` is all that ``manager`` wants to own of the object, with apiVersion, kind and name.

    What it owned and no longer names is removed. Where the object is not there it is made, unless ``metadata.uid`` is given.
    Fields that others own are a conflict, unless ``is_forced``.
    """
    query = {"fieldManager": manager, "force": "true" if is_forced else "false"} | _dry(is_dry=is_dry)
    what = f"{resource.describe(name, namespace)} cannot be written"
    path = resource.path(name, namespace=namespace, subresource=subresource)
    return Request("PATCH", path, what, query=query, body=body, content_type=Patch.APPLY, accept=METADATA)


def patch(
    resource: Resource,
    name: str,
    body: bytes,
    kind: Patch,
    *,
    manager: str,
    namespace: str = "",
    subresource: str = "",
    is_dry: bool = False,
) -> Request:
    """A JSON patch or a merge patch."""
    what = f"{resource.describe(name, namespace)} cannot be written"
    path = resource.path(name, namespace=namespace, subresource=subresource)
    query = {"fieldManager": manager} | _dry(is_dry=is_dry)
    return Request("PATCH", path, what, query=query, body=body, content_type=kind, accept=METADATA)


def create(resource: Resource, name: str, body: bytes, *, manager: str, namespace: str = "") -> Request:
    """A new object; ``name`` is for messages, the object's own is in ``body``."""
    what = f"{resource.describe(name, namespace)} cannot be made"
    path = resource.path(namespace=namespace)
    return Request("POST", path, what, query={"fieldManager": manager}, body=body, accept=METADATA)


def replace_object(
    resource: Resource, name: str, body: bytes, *, manager: str, namespace: str = "", subresource: str = ""
) -> Request:
    """An object as it is to be from now on, with the resourceVersion that it replaces."""
    what = f"{resource.describe(name, namespace)} cannot be written"
    path = resource.path(name, namespace=namespace, subresource=subresource)
    return Request("PUT", path, what, query={"fieldManager": manager}, body=body, accept=METADATA)


def delete(resource: Resource, name: str, *, namespace: str = "", uid: str = "", resource_version: str = "") -> Request:
    """Remove an object, where they are given only in this state; in another one it is a conflict."""
    given = {"uid": uid, "resourceVersion": resource_version}
    conditions = {key: value for key, value in given.items() if value}
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": conditions}
    what = f"{resource.describe(name, namespace)} cannot be removed"
    return Request("DELETE", resource.path(name, namespace=namespace), what, body=msgspec.json.encode(options))


def _dry(*, is_dry: bool) -> dict[str, str]:
    return {"dryRun": "All"} if is_dry else {}
