"""Work that several callers want at the same time, done once."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

from nodeworthy.errors import BusBusyError, NodeworthyError
from nodeworthy.processes import EventLog

_LOG = EventLog("resolver")

_Result = TypeVar("_Result")


class Flights(Generic[_Result]):
    """Jobs by key: who asks for a key that is in work waits for that job, and a failure is remembered for a moment.

    A job belongs to the service and not to its caller: when a caller's time is over the job goes on, and the same question
    asked again finds it further on or done. :meth:`close` ends the jobs; nobody is left waiting.
    """

    def __init__(self, *, most: int, failure_seconds: float, clock: Callable[[], float] | None = None) -> None:
        self._most = most
        self._failure_seconds = failure_seconds
        self._clock = clock or asyncio.get_running_loop().time
        self._jobs: dict[Hashable, asyncio.Task[_Result]] = {}
        self._failed: dict[Hashable, tuple[float, NodeworthyError]] = {}
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._jobs)

    async def join(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, _Result]], *, name: str) -> _Result:
        """The result of the job for ``key``, which is begun if there is none.

        Raises:
            BusBusyError: as many jobs are in work as are allowed, or :meth:`close` broke this one off.
            NodeworthyError: the job's failure, or the one of a moment ago.
        """
        job = self.begin(key, work, name=name)
        try:
            # Shielded: a caller who leaves must not end what others wait for.
            return await asyncio.shield(job)
        except asyncio.CancelledError:
            caller = asyncio.current_task()
            if job.cancelled() and not (caller and caller.cancelling()):
                raise _stopping() from None
            raise

    def begin(
        self, key: Hashable, work: Callable[[], Coroutine[Any, Any, _Result]], *, name: str
    ) -> "asyncio.Task[_Result]":
        """The job for ``key``, which is begun if there is none, and not waited for.

        Raises:
            BusBusyError: as many jobs are in work as are allowed.
            NodeworthyError: the failure of a moment ago.
        """
        job = self._jobs.get(key)
        if job is None:
            self._raise_recent(key)
            if self._is_closed:
                raise _stopping()
            if len(self._jobs) >= self._most:
                raise BusBusyError("the resolver is busy", why=f"{self._most} lookups are under way", todo="ask again")
            job = self._jobs[key] = asyncio.create_task(work(), name=name)
            job.add_done_callback(lambda done: self._land(key, done))
        return job

    def _raise_recent(self, key: Hashable) -> None:
        until, error = self._failed.pop(key, (0.0, None))
        if error is not None and until > self._clock():
            self._failed[key] = (until, error)
            # Without the trace, which every caller would lengthen.
            raise error.with_traceback(None)

    def _land(self, key: Hashable, job: "asyncio.Task[_Result]") -> None:
        del self._jobs[key]
        error = None if job.cancelled() else job.exception()  # asking marks it as seen: all callers may have left
        if isinstance(error, BusBusyError):
            return  # our own lack of places may be over in the next moment
        if isinstance(error, NodeworthyError) and self._failure_seconds > 0:
            if len(self._failed) >= self._most:
                self._failed.clear()
            self._failed[key] = (self._clock() + self._failure_seconds, error)
        elif error is not None and not isinstance(error, NodeworthyError):
            _LOG.error("resolver.job_failed", job=job.get_name(), exception=error)

    async def close(self, seconds: float) -> None:
        """Begin nothing more, wait for the jobs, and after ``seconds`` break off what is left; callers are to ask again."""
        self._is_closed = True
        jobs = set(self._jobs.values())
        if not jobs:
            return
        _, late = await asyncio.wait(jobs, timeout=seconds)
        for job in late:
            job.cancel()
        if late:
            _LOG.warning("resolver.jobs_broken_off", jobs=[job.get_name() for job in late], seconds=seconds)
            await asyncio.wait(late)


def _stopping() -> BusBusyError:
    return BusBusyError("the resolver stops", todo="ask again: another one answers")
