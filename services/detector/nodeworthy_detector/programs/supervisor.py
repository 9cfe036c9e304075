"""Runs one program and leaves nothing of it behind; a process of its own, started for each run and started as a file.

A program may start others, put them into sessions of their own and end: a process group does not hold them. This process
asks the kernel for every orphan below it (PR_SET_CHILD_SUBREAPER, prctl(2)), and ends when it has ended all of them. It ends
as the program did, by the same exit code or signal; SIGTERM ends the program earlier.

It imports nothing of nodeworthy, and of the standard library neither typing nor contextlib: these two would be a third of
the processor time that a run of it takes.
"""

import ctypes
import errno
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
"""From <linux/prctl.h>."""

_FIRST_TO_GO = "1000"
"""The highest oom_score_adj (proc_pid_oom_score_adj(5)): when memory runs out the program goes, and not the detector."""

_CANNOT_START = 126
"""What shells answer for a program that is there and cannot be started."""

_HINTS = {
    errno.ENOEXEC: " (its first line must name its interpreter, as #!/bin/sh)",
    errno.ENOENT: " (no such interpreter, or the line that names it ends with a carriage return)",
}

_AWAITED = frozenset({signal.SIGTERM, signal.SIGCHLD})


def supervise(program: str, parent: int) -> int:
    """Run a program to its end, or until SIGTERM; its exit code, or the negative number of the signal that ended it.

    ``parent`` is who started this process: where it is gone already nobody waits for the program.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    _control(_PR_SET_CHILD_SUBREAPER, 1)
    _control(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        return -signal.SIGTERM
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    child = os.fork()
    if child == 0:
        _become(program)
    _let_go_of_pipes()
    status = None
    while status is None and signal.sigwait(_AWAITED) == signal.SIGCHLD:
        status = _reap(child)
    _end_all()
    return -signal.SIGTERM if status is None else os.waitstatus_to_exitcode(status)


def find_children(parent: int) -> list[int]:
    """Every process whose parent this is, by ``proc/<pid>/stat``: ``12 (any name) S 1 …``."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 # pathlib would be half of this process's start
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 # as above
                fields = file.read().rpartition(b")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[1]) == parent:
            found.append(int(name))
    return found


def _become(program: str) -> None:
    """Be the program; it does not return."""
    try:
        os.setsid()
        _control(_PR_SET_PDEATHSIG, signal.SIGKILL)
        _go_first()
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and it would stay ignored
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _AWAITED)
        os.execv(program, [program])  # noqa: S606 # running it is what this is for
    except OSError as error:
        os.write(2, f"it cannot be started: {error.strerror}{_HINTS.get(error.errno or 0, '')}\n".encode())
    finally:
        os._exit(_CANNOT_START)


def _go_first() -> None:
    try:
        with open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123 # as above
            file.write(_FIRST_TO_GO)
    except OSError:
        return  # no such file where /proc is another kernel's: then memory goes as it goes


def _let_go_of_pipes() -> None:
    """The reader of the program's output waits until the last holder of the pipe is gone."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)


def _reap(child: int) -> int | None:
    """Collect all that have ended; the status of the program itself if it is among them."""
    status = None
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                status = ended[1]
    except ChildProcessError:  # that was the last
        return status
    return status


def _end_all() -> None:
    """Kill and collect until no child is left; the children of a killed one become ours."""
    try:
        while True:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
            for process in find_children(os.getpid()):
                _kill(process)
            os.waitpid(-1, 0)
    except ChildProcessError:
        return


def _kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # it has ended, or took another user's rights: its end is waited for
        return


def _control(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl is refused")


def _end_as(code: int) -> None:
    if code < 0:
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {-code})
        os.kill(os.getpid(), -code)
    sys.exit(code & 0xFF)


if __name__ == "__main__":
    _end_as(supervise(sys.argv[1], int(sys.argv[2])))
