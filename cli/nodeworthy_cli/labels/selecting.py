"""The Nodes of a cluster that a verb is about, and work on each of them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import click

from nodeworthy.errors import UsageError, first_error
from nodeworthy.kubernetes import requests
from nodeworthy.kubernetes.client import Client
from nodeworthy.kubernetes.refusals import KubernetesNotFoundError
from nodeworthy.kubernetes.resources import NODES

_Result = TypeVar("_Result")

TRIES = 5
"""Of one Node: each begins from what somebody else wrote in between."""

selector_option = click.option(
    "-l", "--selector", default="", metavar="SELECTOR", help="Only Nodes with these labels, as kubectl takes it."
)


async def read_selected(client: Client, names: Sequence[str], selector: str) -> list[bytes]:
    """The metadata of the Nodes of these names, or of those that a selector takes, or of all; JSON.

    Raises:
        UsageError: both are given, or there is no such Node.
        KubernetesError: they cannot be read.
    """
    if names and selector:
        raise UsageError("Nodes are named and selected", why="it is one or the other", todo="leave out --selector")
    if names:
        return await for_each(tuple(dict.fromkeys(names)), lambda name: read_metadata(client, name))
    request = requests.list_all(NODES, label_selector=selector, is_metadata=True)
    return [bytes(item) async for page in client.pages(request) for item in page.items or ()]


async def read_metadata(client: Client, name: str) -> bytes:
    """The metadata of one Node; raises what :func:`read_selected` raises."""
    try:
        return (await client.request(requests.read(NODES, name, is_metadata=True))).body
    except KubernetesNotFoundError as error:
        raise UsageError(f"there is no Node {name}", todo="see the Nodes: kubectl get nodes") from error


async def for_each(items: Sequence[str], work: Callable[[str], Awaitable[_Result]]) -> list[_Result]:
    """The results for all items, in their order; the client says how many are worked on at a time.

    Raises whatever ``work`` lets through first; the rest is then not begun, or ends in between.
    """
    results: dict[str, _Result] = {}

    async def note(item: str) -> None:
        results[item] = await work(item)

    try:
        async with asyncio.TaskGroup() as group:
            for item in items:
                group.create_task(note(item), name=item)
    except BaseExceptionGroup as errors:
        error = first_error(errors)
        raise error from error.__cause__
    return [results[item] for item in items]
