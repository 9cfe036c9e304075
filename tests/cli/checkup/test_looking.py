import asyncio

import pytest

from nodeworthy.errors import BusNobodyError, NodeworthyError, RegistryUnreachableError
from nodeworthy.images import ImageKnowledge
from nodeworthy_cli.checkup.looking import look_at_all


def ignore(_done: int, _total: int) -> None:
    pass


def known(image: str) -> ImageKnowledge:
    return ImageKnowledge(image, "", "", ())


async def test_a_registry_that_hangs_leaves_places_for_the_others() -> None:
    answered = asyncio.Event()

    async def look(image: str) -> ImageKnowledge:
        if image.startswith("fast.test/"):
            answered.set()
        else:
            await answered.wait()
        return known(image)

    images = [*(f"slow.test/app:{number}" for number in range(20)), "fast.test/app:1"]

    async with asyncio.timeout(10):
        found = await look_at_all(images, look, ignore)

    assert list(found) == images


async def test_a_registry_that_does_not_answer_is_not_asked_for_all_its_images() -> None:
    asked: list[str] = []

    async def look(image: str) -> ImageKnowledge:
        asked.append(image)
        if image.startswith("dead.test/"):
            raise RegistryUnreachableError("dead.test does not answer")
        return known(image)

    images = [*(f"dead.test/app:{number}" for number in range(50)), "live.test/app:1"]

    found = await look_at_all(images, look, ignore)

    assert sum(image.startswith("dead.test/") for image in asked) < 10
    assert all(isinstance(found[image], RegistryUnreachableError) for image in images[:-1])
    assert found["live.test/app:1"] == known("live.test/app:1")


async def test_where_nobody_answers_for_any_image_the_first_error_ends_it() -> None:
    async def look(_: str) -> ImageKnowledge:
        raise BusNobodyError("no resolver")

    with pytest.raises(BusNobodyError):
        await look_at_all(["a.test/a:1", "b.test/b:1"], look, ignore)


async def test_every_image_is_told_as_it_is_done() -> None:
    told: list[tuple[int, int]] = []

    async def look(image: str) -> ImageKnowledge:
        if image == "a.test/bad:1":
            raise NodeworthyError("not there")
        return known(image)

    await look_at_all(["a.test/a:1", "a.test/bad:1"], look, lambda done, total: told.append((done, total)))

    assert told == [(1, 2), (2, 2)]
