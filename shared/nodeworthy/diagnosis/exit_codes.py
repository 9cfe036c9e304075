"""What an exit code says: of a shell, of a signal, of Windows."""

from typing import NamedTuple

_SIGNALS = {
    4: ("SIGILL", "an instruction that the processor does not carry out"),
    5: ("SIGTRAP", "a breakpoint instruction"),
    6: ("SIGABRT", "the program gave up by itself"),
    7: ("SIGBUS", "memory that is mapped and cannot be had"),
    9: ("SIGKILL", "killed from outside"),
    11: ("SIGSEGV", "memory that is not mapped"),
    15: ("SIGTERM", "asked to end"),
    31: ("SIGSYS", "a system call that a seccomp filter forbids"),
}
"""Signals by their numbers on every architecture but MIPS, Alpha, SPARC and PA-RISC (signal(7))."""

_SHELL = {
    126: "found, and could not be executed",
    127: "not found; the dynamic loader of glibc ends so too where it refuses to start a program",
}
"""POSIX, Shell Command Language, 2.8.2 Exit Status for Commands; glibc, elf/dl-minimal and elf/rtld.c."""

_WINDOWS = {
    0xC0000005: ("SIGSEGV", "STATUS_ACCESS_VIOLATION"),
    0xC000001D: ("SIGILL", "STATUS_ILLEGAL_INSTRUCTION"),
}
"""NTSTATUS values (MS-ERREF, 2.3.1) that mean what a signal means on Linux."""

_SIGNAL_BASE = 128
"""A shell adds it to the number of the signal that ended a program, and container runtimes do as shells."""
_LAST_SIGNAL = 64


class ExitCode(NamedTuple):
    """What one exit code says."""

    number: int
    signal: str
    """``SIGILL``; empty where no signal ended the program."""
    text: str


def read_exit_code(number: int) -> ExitCode:
    """What a code says: ``132`` as of shells and containers, ``-4`` as of Python's subprocess, ``0xC000001D`` of Windows.

    Docker writes the last of them as a signed number.

    >>> read_exit_code(132).signal, read_exit_code(-4).signal, read_exit_code(1).signal
    ('SIGILL', 'SIGILL', '')
    """
    unsigned = number & 0xFFFFFFFF
    if unsigned in _WINDOWS:
        signal, text = _WINDOWS[unsigned]
        return ExitCode(number, signal, f"exit code {unsigned:#010x}: {text}")
    signal_number = -number if number < 0 else number - _SIGNAL_BASE
    if 0 < signal_number <= _LAST_SIGNAL:
        signal, text = _SIGNALS.get(signal_number, (f"signal {signal_number}", ""))
        return ExitCode(number, signal, f"exit code {number}: {signal}" + (f", {text}" if text else ""))
    told = _SHELL.get(number)
    return ExitCode(number, "", f"exit code {number}" + (f": {told}" if told else ""))
