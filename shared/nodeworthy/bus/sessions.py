"""Which run of which boot a process is."""

import time
from pathlib import Path

from nodeworthy.bus.records import Session
from nodeworthy.errors import UsageError


def read_session(root: Path = Path("/")) -> Session:
    """The session of this process: the boot's id, and now on the clock that counts from the boot, also while asleep.

    Raises:
        UsageError: the kernel does not tell the boot's id, so one process could not be told from another.
    """
    file = root / "proc/sys/kernel/random/boot_id"
    try:
        boot_id = file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read", why=str(error)) from error
    return Session(boot_id, time.clock_gettime_ns(time.CLOCK_BOOTTIME))
