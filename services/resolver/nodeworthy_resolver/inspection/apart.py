"""Having an image inspected in a process of its own (:mod:`nodeworthy_resolver.inspection.process`)."""

import asyncio
import pickle
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec

from nodeworthy.errors import InspectionError
from nodeworthy.platforms import Platform
from nodeworthy.requirements import Inspection
from nodeworthy_resolver.oci import Reference, RegistryAccess
from nodeworthy_resolver.oci.registry.credential import Credential

_PROGRAM = "nodeworthy_resolver.inspection.process"


@dataclass(frozen=True)
class Job:
    """What is looked at, and what it may take."""

    reference: Reference
    """With the digest of one manifest."""
    access: RegistryAccess
    credential: Credential | None = None
    """Beside those of the files of ``access``; for the reference's own registry alone."""
    folder: Path | None = None
    """Where files are kept meanwhile; ``None``: where temporary files lie."""
    claimed: Platform | None = None
    """What an index says of the image's platform."""
    memory_bytes: int = 1536 * 1024 * 1024
    """Of memory that the process may have for itself (RLIMIT_DATA); mapped files do not count."""
    cpu_seconds: int = 900
    """Of processor time, unpacking included."""


class Answer(msgspec.Struct, omit_defaults=True):
    """What the process says in the end."""

    inspection: Inspection | None = None
    what: str = ""
    why: str = ""
    todo: str = ""


async def inspect_apart(job: Job, seconds: float) -> Inspection:
    """Carry a job out in a process of its own.

    Raises:
        InspectionError: the image's files could not be looked at, or not in time.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", _PROGRAM, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(seconds):
            told, _ = await process.communicate(pickle.dumps(job))
    except TimeoutError:
        raise InspectionError(f"{job.reference} is not inspected", why=f"{seconds:.0f} s were over") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return _read(told, job, process.returncode)


def _read(told: bytes, job: Job, code: int | None) -> Inspection:
    try:
        answer = msgspec.msgpack.decode(told, type=Answer)
    except msgspec.DecodeError:
        how = f"signal {signal.Signals(-code).name}" if code and code < 0 else f"exit code {code}"
        raise InspectionError(
            f"{job.reference} is not inspected", why=f"the process that looked at it ended with {how}"
        ) from None
    if answer.inspection is None:
        raise InspectionError(answer.what, why=answer.why, todo=answer.todo)
    return answer.inspection
