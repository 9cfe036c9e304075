"""How a verb of labels works with the bus and a cluster: with both, or with the one that there is."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeVar

from nodeworthy import processes
from nodeworthy.bus.connection import connect
from nodeworthy.bus.store import Store
from nodeworthy.kubernetes.access import Access
from nodeworthy.kubernetes.client import Client
from nodeworthy_cli.bus_options import BusOptions, connection_settings
from nodeworthy_cli.kubernetes_options import KubernetesOptions

_Result = TypeVar("_Result")


class Reach(NamedTuple):
    """What can be asked."""

    store: Store | None
    """``None``: no bus is named."""
    client: Client | None
    """``None``: there is no cluster."""


def run_on_either(
    bus: BusOptions,
    kubernetes: KubernetesOptions,
    verb: str,
    work: Callable[[Reach], Awaitable[_Result]],
    *,
    needs_cluster: bool = False,
) -> _Result:
    """Work with the cluster that is asked for and the bus that is named; without a cluster with the bus that is known here.

    A bus that ``nodeworthy up`` runs on this machine has nothing to do with a cluster. With ``needs_cluster`` a cluster is
    asked for, also where no option names it.

    Raises:
        UsageError: there is neither, or an option cannot be used.
        BusError, KubernetesError: what ``work`` lets through.
    """
    access = kubernetes.find() if needs_cluster else kubernetes.find_wanted()
    return _run(bus if bus.server or access is None else None, access, verb, work)


def run_on_cluster(kubernetes: KubernetesOptions, work: Callable[[Client], Awaitable[_Result]]) -> _Result:
    """Work with the cluster alone, looked for as kubectl does; raises what :func:`run_on_either` raises."""

    async def with_client(reach: Reach) -> _Result:
        assert reach.client is not None
        return await work(reach.client)

    return _run(None, kubernetes.find(), "", with_client)


def _run(
    bus: BusOptions | None, access: Access | None, verb: str, work: Callable[[Reach], Awaitable[_Result]]
) -> _Result:
    # Lines for people: what a program reads is on standard output.
    processes.configure_logs(form=processes.LogFormat.TEXT, level=logging.ERROR)
    settings = connection_settings(bus, f"nodeworthy {verb}") if bus is not None else None

    async def connected() -> _Result:
        async with contextlib.AsyncExitStack() as stack:
            store = client = None
            if settings is not None and bus is not None:
                store = Store(await stack.enter_async_context(connect(settings)), bus.names)
            if access is not None:
                client = await stack.enter_async_context(Client(access))
            return await work(Reach(store, client))

    return asyncio.run(connected())
