"""A server with every user that the library knows, and its streams."""

from typing import TYPE_CHECKING, Protocol

import pytest

from nodeworthy.bus import permissions
from nodeworthy.bus.client import Msg
from nodeworthy.bus.names import Names
from nodeworthy.bus.streams import define_streams, ensure_streams

if TYPE_CHECKING:
    from tests.shared.bus.conftest import SecuredBus, StartSecured

NODE = "ip-10-0-1-2.eu-west-1.compute.internal"


@pytest.fixture
async def bus(secured: "StartSecured", names: Names) -> "SecuredBus":
    """A server with every user, whose streams the labeler made with its own rights."""
    labeler = permissions.labeler(names)
    started = await secured(
        permissions.detector(names, NODE),
        permissions.operator_program(names, NODE, "gpu-agent"),
        labeler,
        permissions.validator(names),
        permissions.resolver(names),
        permissions.reader(names),
        permissions.reader(names, "guest", stock_inbox=True),
        permissions.author(names),
        permissions.operator(names),
        permissions.admin(),
    )
    await ensure_streams(await started.connect_as(labeler), define_streams(names))
    return started


class Ignore(Protocol):
    """Hears messages and does nothing."""

    async def __call__(self, message: Msg, /) -> None: ...


@pytest.fixture
def ignore() -> Ignore:
    async def hear(_: Msg) -> None:
        pass

    return hear
