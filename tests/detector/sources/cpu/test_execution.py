"""These tests run on the machine that runs them: an x86-64 one tells its CPUID, any other says that it has none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nodeworthy_detector.cpuinfo import read_cpuinfo
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.cpu.execution import CpuidUnavailableError, read_cpuid

IS_X86 = os.uname().machine == "x86_64"


def test_this_processor_answers_as_linux_describes_it() -> None:
    if not IS_X86:
        with pytest.raises(CpuidUnavailableError, match="no x86-64"):
            read_cpuid([])
        return
    info = read_cpuinfo(Host(Path("/")))
    assert info is not None
    table = read_cpuid([(7, 0)])
    assert table.vendor() == info.only("vendor_id")
    assert str(table.family()) == info.only("cpu family")
    assert str(table.model()) == info.only("model")
    assert table.has(1, 0, "edx", 0)


def test_leaves_beyond_the_highest_are_not_asked() -> None:
    if IS_X86:
        assert (0x3FFF_0000, 0) not in read_cpuid([(0x3FFF_0000, 0)]).answers


def test_asking_again_and_again_leaves_no_memory_behind() -> None:
    if IS_X86:
        for _ in range(50):
            read_cpuid([(7, 0)])
        maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
        assert sum(line.endswith(" r-xp 00000000 00:00 0 ") for line in maps) <= 1


@pytest.mark.parametrize(
    ("refuse", "why"),
    [
        # prctl(PR_SET_MDWE): what is writable never becomes executable; Linux 6.3.
        ("prctl(65, 1, 0, 0, 0)", "executable memory is refused: Permission denied"),
        # arch_prctl(ARCH_SET_CPUID, 0): CPUID faults; where the processor can do that.
        ("syscall(158, 0x1012, 0)", "the system lets CPUID fault"),
    ],
)
def test_a_system_that_refuses_is_an_error_of_ours_and_cpuinfo_counts(refuse: str, why: str) -> None:
    # Neither can be taken back, so it is done in a child, and after what executes CPUID while it is loaded: OpenSSL, zlib.
    program = (
        "import ctypes, hashlib, zlib\n"
        "from pathlib import Path\n"
        "from nodeworthy_detector.hostfs import Host\n"
        "from nodeworthy_detector.sources.cpu import CpuSource\n"
        f"is_refusing = ctypes.CDLL(None).{refuse} == 0\n"
        "reading = CpuSource().read(Host(Path('/')))\n"
        "print(is_refusing)\n"
        "print(reading.faults[0] if reading.faults else '')\n"
        "print('X86_64_V1' in (reading.sets['cpu.cpuid'].flags or ()))\n"
    )
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    if IS_X86:
        is_refusing, fault, level = run.stdout.splitlines()
        assert fault == (f"the processor cannot be asked: {why}" if is_refusing == "True" else "")
        assert level == "True"


def test_another_architecture_is_refused_before_anything_is_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = os.uname_result(("Linux", "node", "6.1", "#1", "aarch64"))
    monkeypatch.setattr(os, "uname", lambda: machine)
    with pytest.raises(CpuidUnavailableError, match="no x86-64 processor"):
        read_cpuid([])
