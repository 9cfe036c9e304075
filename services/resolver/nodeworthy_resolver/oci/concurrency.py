"""Several requests at once, where one failure ends them all."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

_Result = TypeVar("_Result")
_Other = TypeVar("_Other")
_Third = TypeVar("_Third")

MAX_AT_ONCE = 8
"""Jobs of one list that are under way: each may hold some megabytes of a stranger's documents while it waits for more. As
many as a registry gets connections."""


async def run_all(jobs: Iterable[Coroutine[Any, Any, _Result]]) -> list[_Result]:
    """The results in the order of the jobs; the first failure cancels the others and is raised as itself.

    A task group raises an exception group, which callers that tell errors apart could not catch by its type.
    """
    places = asyncio.Semaphore(MAX_AT_ONCE)
    waiting = list(jobs)

    async def run(job: Coroutine[Any, Any, _Result]) -> _Result:
        async with places:
            return await job

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(run(job), name="oci.job") for job in waiting]
    except BaseExceptionGroup as failures:
        raise _first(failures) from failures
    finally:
        for job in waiting:
            job.close()  # those that never began, which Python would complain of
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


async def run_three(
    one: Coroutine[Any, Any, _Result], other: Coroutine[Any, Any, _Other], third: Coroutine[Any, Any, _Third]
) -> tuple[_Result, _Other, _Third]:
    """All three results; as :func:`run_pair`. Not a pair in a pair, whose inner jobs would start a moment later."""
    try:
        async with asyncio.TaskGroup() as group:
            first = group.create_task(one, name="oci.first")
            second = group.create_task(other, name="oci.second")
            last = group.create_task(third, name="oci.third")
    except BaseExceptionGroup as failures:
        raise _first(failures) from failures
    return first.result(), second.result(), last.result()


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    failure: BaseException = failures
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure
