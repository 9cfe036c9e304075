"""Library functions that do not come back to their caller."""

from enum import Enum, auto


class Leaving(Enum):
    """Where a call of a library function leads."""

    RETURNS = auto()
    LEAVES = auto()
    """The process ends well, or execution goes on where nobody knows."""
    FAILS = auto()
    """The process ends badly: an image for which that is the usual way works nowhere."""


_LEAVING = frozenset(
    {
        "exit",
        "_exit",
        "_Exit",
        "quick_exit",
        "pthread_exit",
        "thrd_exit",
        "longjmp",
        "_longjmp",
        "siglongjmp",
        "__longjmp_chk",
        "setcontext",
        "execl",
        "execle",
        "execlp",
        "execv",
        "execve",
        "execvp",
        "execvpe",
        "fexecve",
        "__libc_start_main",
        "__libc_start_call_main",
        "__cxa_throw",
        "__cxa_rethrow",
        "_Unwind_Resume",
        "_Unwind_RaiseException",
        "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE",
    }
)
_EXITING = frozenset({"exit", "_exit", "_Exit", "quick_exit", "err", "errx", "verr", "verrx"})
"""Their first argument is the exit code (exit(3), err(3))."""
_FAILING = frozenset(
    {
        "abort",
        "__stack_chk_fail",
        "__assert_fail",
        "__assert_rtn",
        "__assert",
        "__assert_perror_fail",
        "__fortify_fail",
        "__chk_fail",
        "_ZSt9terminatev",
        "__cxa_bad_cast",
        "__cxa_bad_typeid",
        "__cxa_pure_virtual",
        "__cxa_call_unexpected",
        "__cxa_throw_bad_array_new_length",
        "__libc_fatal",
        "__libc_message",
    }
)


def leaving_of(name: str, argument: int | None) -> Leaving:
    """What a call of a function of this name does, when it is passed this number first (``None``: not known)."""
    if name in _EXITING and argument:
        return Leaving.FAILS
    if name in _LEAVING or name in _EXITING:
        return Leaving.LEAVES
    # std::__throw_bad_alloc() and its kin: what they are for does not happen in a run that works.
    if name in _FAILING or (name.startswith("_ZSt") and "__throw_" in name):
        return Leaving.FAILS
    return Leaving.RETURNS
