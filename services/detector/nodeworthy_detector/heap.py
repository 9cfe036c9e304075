"""Memory that the C library holds for this process though nobody uses it."""

import ctypes


def trim_heap() -> bool:
    """Give unused memory back to the kernel, malloc_trim(3); whether there was some.

    The first look at a machine reads a kernel's whole configuration: 0.9 MB that is not needed again. C libraries other than
    glibc have no such call.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim is not None and bool(trim(0))
