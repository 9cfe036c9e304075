"""Library functions that do not come back to their caller."""

import re
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
_RUST = r"_(?:ZN|RI?Nv(?:Nt)+Cs[0-9A-Za-z]+_)"
"""How names of Rust's functions begin, in the old form and in that of RFC 2603, before the crate's name."""
_PANICS = re.compile(
    _RUST + r"(?:4core(?:9panicking|6option13(?:unwrap|expect)_failed|6result13unwrap_failed|3str16slice_error_fail|"
    r"5slice5index\w*_fail)|5alloc(?:7raw_vec12handle_error|5alloc18handle_alloc_error)|3std7process5abort)"
)
"""Rust's functions for what does not happen in a run that works; where they come back to, a thread is already lost."""
_RUST_EXIT = re.compile(_RUST + r"3std7process4exit")


def leaving_of(name: str, argument: int | None) -> Leaving:
    """What a call of a function of this name does, when it is passed this number first (``None``: not known)."""
    is_exit = name in _EXITING or _RUST_EXIT.match(name) is not None
    if is_exit and argument:
        return Leaving.FAILS
    if is_exit or name in _LEAVING:
        return Leaving.LEAVES
    # std::__throw_bad_alloc() and its kin: what they are for does not happen in a run that works.
    if name in _FAILING or _PANICS.match(name) or (name.startswith("_ZSt") and "__throw_" in name):
        return Leaving.FAILS
    return Leaving.RETURNS
