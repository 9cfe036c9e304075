"""A child process that does not outlive this one."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1
"""include/uapi/linux/prctl.h"""


def dies_with_parent() -> Callable[[], None] | None:
    """What a child has to do between fork and exec so that the kernel ends it with its parent; ``None`` where none can.

    The signal is SIGTERM: the server then closes its store as always. The kernel sends it when the *thread* that forked
    ends, so this is for children of the main thread.
    """
    if sys.platform != "linux":
        return None
    parent = os.getpid()
    libc = ctypes.CDLL(None, use_errno=True)  # before the fork: after it only the simplest calls are safe

    def arrange() -> None:
        if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0) != 0 or os.getppid() != parent:
            os._exit(1)  # the parent was gone before the kernel knew of the wish

    return arrange
