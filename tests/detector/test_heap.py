import ctypes
import subprocess
import sys

import pytest

from nodeworthy_detector.heap import trim_heap

PROGRAM = """
from pathlib import Path
from nodeworthy_detector.heap import trim_heap
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1])
kept = [[str(number) * 8 for number in range(100_000)], b"x"]  # many small pieces, with something behind them
last = "y" * 100
kept[0] = None
before = resident()
print(trim_heap(), before >= resident())
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="this C library has no malloc_trim")
def test_memory_that_nobody_uses_is_given_back() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True)
    assert done.stdout == "True True\n"


def test_a_c_library_without_the_call_keeps_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: object())
    assert not trim_heap()
