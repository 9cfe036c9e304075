"""Executing CPUID on the processor that runs this program.

Python cannot: fifteen instructions of machine code are put into one page of memory, which is then made executable. Some
systems refuse that (SELinux execmem, PR_SET_MDWE) or let CPUID fault (arch_prctl ARCH_CPUID); both are found out before
anything is executed, so nothing here can end the process.
"""

import mmap
import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from nodeworthy.errors import NodeworthyError
from nodeworthy_detector.sources.cpu.cpuid import CpuidTable, Registers

if TYPE_CHECKING:
    from collections.abc import Callable

_CPUID_CODE = bytes.fromhex(
    "f30f1efa"  # endbr64: a legal target of an indirect call where CET is on
    "53"  # push rbx, which belongs to the caller
    "4989d0"  # mov r8, rdx: where the answer goes; CPUID overwrites rdx
    "89f8"  # mov eax, edi: leaf
    "89f1"  # mov ecx, esi: subleaf
    "0fa2"  # cpuid
    "418900"  # mov [r8], eax
    "41895804"  # mov [r8+4], ebx
    "41894808"  # mov [r8+8], ecx
    "4189500c"  # mov [r8+12], edx
    "5b"  # pop rbx
    "c3"  # ret
)
_XGETBV_CODE = bytes.fromhex(
    "f30f1efa"  # endbr64
    "31c9"  # xor ecx, ecx: register XCR0
    "0f01d0"  # xgetbv
    "48c1e220"  # shl rdx, 32
    "4809d0"  # or rax, rdx
    "c3"  # ret
)
_XGETBV_OFFSET = 64
_OSXSAVE = 27
"""Leaf 1 ECX: without it XGETBV is an illegal instruction."""

_SYS_ARCH_PRCTL = 158
_ARCH_GET_CPUID = 0x1011
"""Linux, arch/x86/include/uapi/asm/prctl.h: answers 0 if CPUID faults in this thread, 1 if it does not."""


class CpuidUnavailableError(NodeworthyError):
    """CPUID cannot be executed here."""

    def __init__(self, why: str) -> None:
        super().__init__("the processor cannot be asked", why=why)


def read_cpuid(leaves: Iterable[tuple[int, int]]) -> CpuidTable:
    """Ask this processor for these leaves, as far as it has them.

    Raises:
        CpuidUnavailableError: this is no 64-bit x86 program on Linux, or the system refuses executable memory.
    """
    if os.uname().machine != "x86_64" or struct.calcsize("P") != 8:  # noqa: PLR2004 # bytes of a 64-bit pointer
        raise CpuidUnavailableError("this is no x86-64 processor")
    with _machine_code() as (cpuid, xgetbv):
        answers = {key: cpuid(*key) for key in ((0, 0), (1, 0), (0x8000_0000, 0))}
        table = CpuidTable(answers)
        answers |= {key: cpuid(*key) for key in leaves if key[0] <= table.highest(key[0])}
        return CpuidTable(answers, xgetbv() if table.has(1, 0, "ecx", _OSXSAVE) else 0)


@contextmanager
def _machine_code() -> Iterator[tuple["Callable[[int, int], Registers]", "Callable[[], int]"]]:
    import ctypes

    try:
        page = mmap.mmap(-1, mmap.PAGESIZE)
    except OSError as error:
        raise CpuidUnavailableError(f"no memory: {error.strerror}") from error
    with page:
        page.write(_CPUID_CODE.ljust(_XGETBV_OFFSET, b"\xcc") + _XGETBV_CODE)
        anchor = ctypes.c_char.from_buffer(page)
        address = ctypes.addressof(anchor)
        del anchor  # else the page could not be closed
        library = ctypes.CDLL(None, use_errno=True)
        if library.syscall(_SYS_ARCH_PRCTL, _ARCH_GET_CPUID, 0) == 0:
            raise CpuidUnavailableError("the system lets CPUID fault")
        executable = mmap.PROT_READ | mmap.PROT_EXEC
        if library.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(mmap.PAGESIZE), executable) != 0:
            raise CpuidUnavailableError(f"executable memory is refused: {os.strerror(ctypes.get_errno())}")
        answer = (ctypes.c_uint32 * 4)()
        call = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(address)

        def cpuid(leaf: int, subleaf: int) -> Registers:
            call(leaf, subleaf, answer)
            return Registers(*answer)

        yield cpuid, ctypes.CFUNCTYPE(ctypes.c_uint64)(address + _XGETBV_OFFSET)
