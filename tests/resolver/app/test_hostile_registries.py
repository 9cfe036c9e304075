"""A registry that means harm, and whole resolvers: whoever asks for its images harms nobody else's questions."""

from typing import TYPE_CHECKING

import pytest
from tests.resolver.raw_servers import answering, listen

from nodeworthy.bus.requests import ErrorCode
from nodeworthy.errors import BusRequestError, RegistryError

if TYPE_CHECKING:
    from tests.resolver.app.conftest import Person, Start
    from tests.resolver.conftest import Builder, FaultyRegistry

OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        OK + b'Content-Type: \xff\r\nContent-Length: 17\r\n\r\n{"mediaType":"x"}',
        OK + b"Docker-Content-Digest: \xed\xa0\x80\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 503 Busy\r\nRetry-After: 1 Jan 99999999999999999999 00:00:00\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 307 Moved\r\nLocation: http://a..b/\r\nContent-Length: 0\r\n\r\n",
    ],
    ids=["a type that is no text", "a digest that is no text", "a date of no calendar", "a name of no host"],
)
async def test_an_odd_answer_is_an_error_of_its_registry_and_the_resolver_goes_on(
    answer: bytes, start: "Start", reader: "Person", faulty: "FaultyRegistry", build: "Builder"
) -> None:
    resolver = await start()
    async with listen(answering(answer)) as port:
        for _ in range(2):
            with pytest.raises(RegistryError):
                await reader.look(f"127.0.0.1:{port}/team/app:v1")
    faulty.tags["v1"] = image = build.image()
    assert (await reader.look(faulty.name)).knowledge.digest == image.digest
    assert not resolver.task.done()


async def test_a_specification_that_unfolds_without_end_is_refused_and_not_attached(
    start: "Start", author: "Person", faulty: "FaultyRegistry", build: "Builder"
) -> None:
    await start(allow_attach=True)
    faulty.tags["v1"] = build.image()
    levels = (f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 10)}]" for n in range(9))
    bomb = "\n".join(["version: v1alpha1", "a0: &a0 [x]", *levels]).encode()
    with pytest.raises(BusRequestError, match="spec") as caught:
        await author.attach(faulty.name, bomb)
    assert caught.value.code == ErrorCode.BAD_REQUEST
    assert faulty.seen == []
