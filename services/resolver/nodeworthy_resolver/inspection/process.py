"""A process that inspects one image and ends: what crashes, hangs or swells in it harms nobody else.

It is told by its parent, on standard input, what to look at; it answers on standard output with the inspection or with the
error that stopped it. Its credentials are the parent's, for this one image.
"""

import asyncio
import contextlib
import ctypes
import os
import pickle
import resource
import signal
import sys

import msgspec

from nodeworthy.errors import NodeworthyError
from nodeworthy.requirements import Inspection
from nodeworthy_resolver.inspection.apart import Answer, Job
from nodeworthy_resolver.inspection.fitting import fit_inspection
from nodeworthy_resolver.inspection.layers import Bounds
from nodeworthy_resolver.inspection.opening import inspect_opened
from nodeworthy_resolver.inspection.sources import ReadingOptions, open_stored
from nodeworthy_resolver.oci.registry import RegistryClient
from nodeworthy_resolver.oci.registry.credential import Credential

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38
"""<linux/prctl.h>."""


class _Given:
    """The credential that the parent found, for the registry that it found it for: mirrors have others."""

    def __init__(self, job: Job) -> None:
        self._job = job

    async def find(self, key: str, repository: str) -> Credential | None:
        """The credential for a repository."""
        wanted = (self._job.reference.credentials_key, self._job.reference.repository)
        return self._job.credential if (key, repository) == wanted else None


def main() -> None:
    """Carry out the job on standard input."""
    job = pickle.load(sys.stdin.buffer)  # noqa: S301 # the parent's own words
    _confine(job)
    answer = _perform(job)
    sys.stdout.buffer.write(msgspec.msgpack.encode(answer))
    sys.stdout.buffer.flush()


def _perform(job: Job) -> Answer:
    try:
        return Answer(asyncio.run(_inspect(job)))
    except NodeworthyError as error:
        what, why, todo = error.diagnostics()
        return Answer(what=what, why=why, todo=todo)
    except MemoryError:
        return Answer(what=f"{job.reference} is not inspected", why=f"it takes more than {job.memory_bytes:,} bytes")


async def _inspect(job: Job) -> Inspection:
    reading = ReadingOptions(folder=job.folder, claimed=job.claimed)
    async with (
        RegistryClient(job.access, credentials=_Given(job)) as client,
        open_stored(client.store(job.reference), job.reference, None, reading) as opened,
    ):
        found = inspect_opened(opened)
    return fit_inspection(found)


def _confine(job: Job) -> None:
    """Limits of the kernel for this process; it ends with its parent, and gives way to others."""
    for kind, most in (
        (resource.RLIMIT_DATA, job.memory_bytes),
        (resource.RLIMIT_CPU, job.cpu_seconds),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, Bounds().kept_bytes),
    ):
        with contextlib.suppress(ValueError, OSError):  # a smaller limit is there already
            resource.setrlimit(kind, (most, most))
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    os.nice(10)


if __name__ == "__main__":
    main()
