"""Several requests at once, where one failure ends them all."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

_Result = TypeVar("_Result")
_Other = TypeVar("_Other")


async def run_all(jobs: Iterable[Coroutine[Any, Any, _Result]]) -> list[_Result]:
    """The results in the order of the jobs; the first failure cancels the others and is raised as itself.

    A task group raises an exception group, which callers that tell errors apart could not catch by its type. How many
    run at once is the connection pool's matter.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(job, name="oci.job") for job in jobs]
    except BaseExceptionGroup as failures:
        raise _first(failures) from failures
    return [task.result() for task in tasks]


async def run_pair(one: Coroutine[Any, Any, _Result], other: Coroutine[Any, Any, _Other]) -> tuple[_Result, _Other]:
    """Both results; as :func:`run_all`, for two of different types."""
    try:
        async with asyncio.TaskGroup() as group:
            first = group.create_task(one, name="oci.first")
            second = group.create_task(other, name="oci.second")
    except BaseExceptionGroup as failures:
        raise _first(failures) from failures
    return first.result(), second.result()


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    failure: BaseException = failures
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure
