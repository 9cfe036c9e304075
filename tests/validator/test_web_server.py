"""HTTP: the same questions as JSON, and errors that say what to do."""

import asyncio
import contextlib
import io
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

import aiohttp
import msgspec
import pytest

from nodeworthy.bus.requests import NodesReply, NodesRequest, NodeSummary, ValidateReply, ValidateRequest
from nodeworthy.errors import ImageNotFoundError, NodeworthyError, RegistryDeniedError, UsageError
from nodeworthy.verdicts import Answer, Verdict
from nodeworthy_validator.metrics import Metrics
from nodeworthy_validator.openapi import describe
from nodeworthy_validator.settings import Settings
from nodeworthy_validator.web_server import serve_web

VERDICT = Verdict("app:1", "n1", Answer.UNKNOWN, "nobody knows")


@dataclass
class Questions:
    """Answers that a test chooses."""

    not_ready: str = ""
    not_answering: str = ""
    error: Exception | None = None
    is_held: bool = False
    asked: list[tuple[Any, float]] = field(default_factory=list)

    def why_not_ready(self) -> str:
        return self.not_ready

    def why_not_answering(self) -> str:
        return self.not_answering

    async def _work(self, request: Any, seconds: float) -> None:
        self.asked.append((request, seconds))
        if self.is_held:
            await asyncio.Event().wait()
        if self.error:
            raise self.error

    async def validate(self, request: ValidateRequest, seconds: float) -> ValidateReply:
        await self._work(request, seconds)
        return ValidateReply(verdicts=(VERDICT,))

    async def list_nodes(self, request: NodesRequest, seconds: float) -> NodesReply:
        await self._work(request, seconds)
        return NodesReply(nodes=(NodeSummary("n1"),), total=1)


@dataclass
class Web:
    """A server, and who asks it."""

    questions: Questions
    metrics: Metrics
    session: aiohttp.ClientSession

    async def ask(self, method: str, path: str, **more: Any) -> tuple[int, Any]:
        """Status, and the document or text of an answer."""
        async with self.session.request(method, path, **more) as answer:
            if answer.content_type == "application/json":
                return answer.status, await answer.json()
            return answer.status, await answer.text()

    async def post(self, body: bytes | io.BytesIO, **headers: str) -> tuple[int, Any]:
        said = {"Content-Type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.ask("POST", "/v1/validate", data=body, headers=said)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.asynccontextmanager
async def serving(settings: Settings) -> AsyncIterator[Web]:
    questions, metrics = Questions(), Metrics()
    settings = replace(settings, http_port=free_port())
    document = msgspec.json.encode(describe("1.2.3"))
    url = f"http://127.0.0.1:{settings.http_port}"
    async with serve_web(questions, metrics, settings, document), aiohttp.ClientSession(url) as session:
        yield Web(questions, metrics, session)


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    async with serving(Settings(http_seconds=5)) as made:
        yield made


async def test_a_question_is_answered_as_on_the_bus(web: Web) -> None:
    status, document = await web.post(b'{"image": "app:1", "nodes": ["n1"]}')
    assert (status, msgspec.convert(document, ValidateReply).verdicts) == (200, (VERDICT,))
    request, seconds = web.questions.asked[0]
    assert request == ValidateRequest(image="app:1", nodes=("n1",))
    assert 4 < seconds <= 5


async def test_whoever_asks_says_how_long_he_waits(web: Web) -> None:
    await web.post(b'{"image": "a"}', Nodeworthy_Timeout_Ms="700")
    assert 0 < web.questions.asked[0][1] <= 0.7
    web.questions.is_held = True
    status, document = await web.post(b'{"image": "a"}', Nodeworthy_Timeout_Ms="20")
    assert (status, document["code"]) == (504, "timeout")


async def test_nodes_are_listed_page_by_page(web: Web) -> None:
    query = [("node", "n1"), ("node", "n2"), ("selector", "zone=a"), ("limit", "7"), ("cursor", "1.0.n")]
    status, document = await web.ask("GET", "/v1/nodes", params=query)
    assert (status, document["nodes"], document["total"]) == (200, [{"node": "n1"}], 1)
    asked = NodesRequest(nodes=("n1", "n2"), selector="zone=a", limit=7, cursor="1.0.n")
    assert web.questions.asked[0][0] == asked
    await web.ask("GET", "/v1/nodes")
    assert web.questions.asked[1][0] == NodesRequest()


@pytest.mark.parametrize("query", ["limit=0", "limit=x", "limit=5000", "limit=1&limit=2", "zone=a"])
async def test_a_query_that_cannot_be_is_refused(query: str, web: Web) -> None:
    status, document = await web.ask("GET", f"/v1/nodes?{query}")
    assert (status, document["code"]) == (400, "bad-request")
    assert not web.questions.asked


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"\xc1", b'{"image": 5}', b'{"version": 9}', b"[" * 100_000, b'{"limit": -1}']
)
async def test_a_body_that_cannot_be_read_is_refused(body: bytes, web: Web) -> None:
    status, document = await web.post(body)
    assert status == 400
    assert document["code"] in {"bad-request", "newer-version"}
    assert document["what"]
    assert not web.questions.asked


async def test_a_body_that_is_too_large_is_refused(web: Web) -> None:
    status, document = await web.post(io.BytesIO(b'{"spec": "' + b"x" * 1024 * 1024 + b'"}'))
    assert (status, document["code"]) == (413, "too-large")


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
async def test_what_a_foreign_page_could_make_a_browser_send_is_refused(content_type: str, web: Web) -> None:
    status, document = await web.post(b'{"image": "a"}', Content_Type=content_type)
    assert (status, document["code"]) == (415, "bad-request")
    assert "application/json" in document["todo"]


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (UsageError("w", why="y", todo="t"), 400, "bad-request"),
        (ImageNotFoundError("w", why="y", todo="t"), 404, "not-found"),
        (RegistryDeniedError("w", why="y", todo="t"), 502, "denied"),
        (NodeworthyError("w", why="y", todo="t"), 500, "internal"),
    ],
)
async def test_an_error_has_a_status_and_says_what_why_and_what_to_do(
    error: NodeworthyError, status: int, code: str, web: Web
) -> None:
    web.questions.error = error
    got, document = await web.post(b'{"image": "a"}')
    assert (got, document) == (status, {"version": 1, "code": code, "what": "w", "why": "y", "todo": "t"})


async def test_a_fault_is_an_answer_too_and_does_not_tell_its_insides(web: Web) -> None:
    web.questions.error = ZeroDivisionError("secret")
    status, document = await web.post(b'{"image": "a"}')
    assert (status, document["code"]) == (500, "internal")
    assert "secret" not in str(document)
    web.questions.error = None
    assert (await web.post(b'{"image": "a"}'))[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/v2", 404), ("GET", "/v1/validate", 405), ("POST", "/v1/nodes", 405), ("DELETE", "/healthz", 405)],
)
async def test_what_is_not_there_is_told_as_json(method: str, path: str, status: int, web: Web) -> None:
    got, document = await web.ask(method, path)
    assert got == status
    assert document["todo"] == "see /openapi.json"


async def test_nothing_is_answered_before_everything_was_read_once(web: Web) -> None:
    web.questions.not_answering = web.questions.not_ready = "the facts of the nodes are being read"
    for status, document in (await web.post(b'{"image": "a"}'), await web.ask("GET", "/v1/nodes")):
        assert (status, document["code"]) == (503, "unavailable")
        assert "being read" in document["why"]
    assert await web.ask("GET", "/readyz") == (503, "the facts of the nodes are being read\n")
    assert await web.ask("GET", "/healthz") == (200, "ok\n")
    web.questions.not_answering = web.questions.not_ready = ""
    assert await web.ask("GET", "/readyz") == (200, "ready\n")


async def test_only_so_many_requests_are_in_work() -> None:
    settings = Settings(http_seconds=5)
    async with serving(replace(settings, bounds=replace(settings.bounds, requests=2))) as web:
        web.questions.is_held = True
        waiting = [asyncio.create_task(web.post(b'{"image": "a"}')) for _ in range(2)]
        async with asyncio.timeout(5):
            while len(web.questions.asked) < 2:  # noqa: ASYNC110 # the server is on the other end of a socket
                await asyncio.sleep(0.01)
        status, document = await web.post(b'{"image": "a"}')
        assert (status, document["code"]) == (503, "busy")
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        web.questions.is_held = False
        async with asyncio.timeout(5):  # a caller who left gives its place back
            while (await web.post(b'{"image": "a"}'))[0] != 200:  # noqa: ASYNC110 # as above
                await asyncio.sleep(0.01)


async def test_metrics_name_paths_and_no_images(web: Web) -> None:
    await web.post(b'{"image": "secret/app"}')
    await web.ask("GET", "/secret/path")
    status, text = await web.ask("GET", "/metrics")
    assert status == 200
    assert 'nodeworthy_validator_http_replies_total{path="/v1/validate",status="200"} 1.0' in text
    assert 'nodeworthy_validator_http_replies_total{path="other",status="404"} 1.0' in text
    assert "secret" not in text


async def test_the_document_describes_every_path_and_all_that_is_sent(web: Web) -> None:
    status, document = await web.ask("GET", "/openapi.json")
    assert (status, document["openapi"], document["info"]["version"]) == (200, "3.1.0", "1.2.3")
    for path, item in document["paths"].items():
        for method in item:
            assert (await web.ask(method, path))[0] not in {404, 405}
    text = msgspec.json.encode(document).decode()
    schemas = document["components"]["schemas"]
    named = {part.partition('"')[0] for part in text.split('"#/components/schemas/')[1:]}
    assert named == set(schemas)
    assert set(schemas["ValidateRequest"]["properties"]) == {
        field.encode_name for field in msgspec.structs.fields(ValidateRequest)
    }


async def test_a_port_that_is_taken_is_told() -> None:
    async with serving(Settings()) as web:
        port = web.session._base_url.port if web.session._base_url else 0
        with pytest.raises(UsageError, match="another program listens there"):
            async with serve_web(Questions(), Metrics(), Settings(http_port=port), b""):
                pass


async def test_without_a_port_nothing_is_served() -> None:
    async with serve_web(Questions(), Metrics(), Settings(), b""):
        pass
