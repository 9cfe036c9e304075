"""Large blobs over HTTP: given on piece by piece, in as much time as they need while bytes come."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

import aiohttp
from yarl import URL

from nodeworthy.errors import RegistryContentError
from nodeworthy_resolver.oci.manifests import Descriptor
from nodeworthy_resolver.oci.registry import answers
from nodeworthy_resolver.oci.registry.answers import Answer
from nodeworthy_resolver.oci.store import BlobSink

if TYPE_CHECKING:
    from nodeworthy_resolver.oci.registry.endpoint import Endpoint  # which imports the transport, which imports this

_OK = 200


@dataclass(frozen=True)
class StallLimit:
    """The limit of a request, which moves on with each piece."""

    timeout: asyncio.Timeout
    seconds: float
    """From one piece to the next."""
    deadline: float

    def restart(self) -> None:
        """A piece came: wait for the next one."""
        now = asyncio.get_running_loop().time()
        self.timeout.reschedule(min(now + self.seconds, self.deadline))

    def pause(self) -> None:
        """We are slow ourselves: only the deadline counts."""
        self.timeout.reschedule(self.deadline)


async def pour(response: aiohttp.ClientResponse, sink: BlobSink, registry: URL, stall: StallLimit) -> Answer:
    """Give the body of a success to a sink; the answer has none then.

    Raises:
        RegistryContentError: it is compressed by something in between.
    """
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in {"", "identity"}:
        raise RegistryContentError(
            f"{answers.display(response.url)} cannot be read",
            why=f"it is compressed as {encoding[:40]!r}, unasked",
            todo="ask without the proxy between",
        )
    sink.begin()
    while piece := await response.content.readany():
        stall.pause()
        await sink.take(piece)
        stall.restart()
    is_redirected = response.url.origin() != registry.origin()
    return Answer(response.status, response.headers, b"", response.url, is_redirected)


async def stream_blob(endpoint: "Endpoint", descriptor: Descriptor, sink: BlobSink) -> None:
    """Give the blob that a descriptor points at to a sink; not verified.

    Raises:
        NodeworthyError: it is not there, or not to be had.
    """
    name = f"blob {descriptor.digest} of {endpoint.name}"
    url = endpoint.url("blobs", descriptor.digest)
    answer = await endpoint.send("GET", url, limit=answers.MAX_REFUSAL_BYTES, sink=sink)
    if answer.status != _OK:
        raise answers.refusal(answer, name)
