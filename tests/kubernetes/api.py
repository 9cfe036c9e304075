"""Requests to an API server as a test makes them: one at a time, blocking, with whatever body and token it likes."""

import contextlib
import functools
import http.client
import json
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

REQUEST_SECONDS = 30
POLL_SECONDS = 0.02
"""How often to ask again where nothing can be waited for."""
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
"""The patches of Kubernetes: https://kubernetes.io/docs/reference/using-api/api-concepts/#patch-and-apply."""

Object = dict[str, Any]


class Answer(NamedTuple):
    """What the API server answered; the body is decoded where it is JSON, else text."""

    status: int
    body: Any
    headers: Mapping[str, str]


class RequestRefusedError(Exception):
    """The API server did not do what a test takes for granted."""

    def __init__(self, method: str, path: str, answer: Answer) -> None:
        super().__init__(f"{method} {path}: {answer.status} {answer.body}")
        self.answer = answer


@dataclass(frozen=True)
class Api:
    """An API server seen by one user."""

    port: int
    ca_file: Path
    token: str | None = None
    user_agent: str = "nodeworthy-tests"

    def request(
        self, method: str, path: str, body: object = None, *, content: str = "application/json", **headers: str
    ) -> Answer:
        """Send one request, whatever is answered. A header's ``-`` is written ``_`` (``Impersonate_User``)."""
        with self._send(method, path, body, content, headers) as response:
            data = response.read()
            with contextlib.suppress(json.JSONDecodeError, UnicodeDecodeError):
                return Answer(response.status, json.loads(data), dict(response.headers))
            return Answer(response.status, data.decode(errors="replace"), dict(response.headers))

    def must(
        self, method: str, path: str, body: object = None, *, content: str = "application/json", **headers: str
    ) -> Any:
        """The body of an answer that has to be a success."""
        answer = self.request(method, path, body, content=content, **headers)
        if answer.status >= http.client.BAD_REQUEST:
            raise RequestRefusedError(method, path, answer)
        return answer.body

    def wait_for(self, collection: str, name: str, condition: Callable[[Object], bool], *, seconds: int = 20) -> Object:
        """The object when the condition holds for it; it is watched, not asked for again and again.

        Raises:
            TimeoutError: The condition did not hold in time; the object as it was last is in the text.
        """
        query = {"watch": "1", "fieldSelector": f"metadata.name={name}", "timeoutSeconds": str(seconds)}
        path = f"{collection}?{urlencode(query)}"
        last: Object = {}
        with self._send("GET", path, None, "application/json", {}, seconds + REQUEST_SECONDS) as response:
            for line in response:
                last = json.loads(line)
                if last["type"] != "DELETED" and condition(last["object"]):
                    found: Object = last["object"]
                    return found
        raise TimeoutError(f"{collection}/{name} was not as expected within {seconds} s: {last}")

    def wait_until_allowed(self, verb: str, resource: str, *, group: str = "", seconds: int = 20) -> None:
        """Wait until this user may do something, since the authorizer learns of new roles through watches of its own.

        Raises:
            TimeoutError: It is not allowed to in time.
        """
        attributes = {"verb": verb, "group": group, "resource": resource}
        review = {"spec": {"resourceAttributes": attributes}}
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            answer = self.must("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
            if answer["status"]["allowed"]:
                return
            time.sleep(POLL_SECONDS)
        raise TimeoutError(f"this user may not {verb} {resource} after {seconds} s")

    @contextlib.contextmanager
    def _send(
        self,
        method: str,
        path: str,
        body: object,
        content: str,
        headers: Mapping[str, str],
        seconds: float = REQUEST_SECONDS,
    ) -> Iterator[http.client.HTTPResponse]:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=seconds, context=read_certificates(self.ca_file)
        )
        sent = {"Accept": "application/json", "User-Agent": self.user_agent}
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        data = None
        if body is not None:
            sent["Content-Type"] = content
            data = body if isinstance(body, str | bytes) else json.dumps(body)
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        with contextlib.closing(connection):
            connection.request(method, path, data, sent)
            with connection.getresponse() as response:
                yield response


@functools.cache
def read_certificates(ca_file: Path) -> ssl.SSLContext:
    """Trust in these certificates only; reading them takes longer than a request."""
    return ssl.create_default_context(cafile=str(ca_file))
