"""Known lines of the kernel log as facts."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies

from nodeworthy.errors import NodeworthyError, UsageError
from nodeworthy.features import FeatureSet, SetStatus
from nodeworthy_detector.composition import Notices
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.settings import Pace, read_settings
from nodeworthy_detector.sources import SOURCES
from nodeworthy_detector.sources.kernel_log import KernelLogSource, parse_log, read_log
from nodeworthy_detector.sources.reading import Faults

if TYPE_CHECKING:
    from tests.detector.conftest import Bus, MakeSettings, RunDetector

OPCODE = "traps: app[77] trap invalid opcode ip:55d0 sp:7ffd error:0 in app[55d000+1000]"
LOG = f"""\
6,1,100,-;Linux version 6.12.0
4,2,5140900,-;{OPCODE}
 SUBSYSTEM=none
4,3,5140901,-;Code: 90 <0f> 0b
6,4,6000000,-;usb 1-1: new high-speed USB device
4,5,7000000,-;NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.
"""


def put(folder: Path, text: str) -> Host:
    (folder / "dev").mkdir()
    (folder / "dev" / "kmsg").write_text(text)
    return Host(folder)


def test_known_lines_are_told_with_their_time_and_code(tmp_path: Path) -> None:
    found = KernelLogSource().read(put(tmp_path, LOG)).sets["kernellog.event"]
    assert isinstance(found, FeatureSet)
    assert found.instances == (
        {"kind": "invalid-opcode", "line": OPCODE, "time": "5.140900", "code": "Code: 90 <0f> 0b"},
        {"kind": "xid", "line": "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", "time": "7.000000"},
    )


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("app[7]: segfault at 0 ip 0000000000401136 sp 00007ffc error 4 in app[401000+1000]", "segfault"),
        (
            "traps: app[7] general protection fault ip:7f00 sp:7ffd error:0 in libc.so.6[7f0000+1000]",
            "general-protection",
        ),
        ("app[9]: undefined instruction: pc=00000000004006f4", "undefined-instruction"),
        ('audit: type=1326 audit(1:2): comm="x" arch=c000003e syscall=435', "seccomp"),
        ("nvidia: disagrees about version of symbol module_layout", "module-refused"),
        ("Memory cgroup out of memory: Killed process 123 (java)", "out-of-memory"),
    ],
)
def test_each_kind_has_its_words(line: str, kind: str) -> None:
    assert [one["kind"] for one in parse_log(f"4,1,1,-;{line}\n".encode())] == [kind]


def test_only_the_newest_lines_are_kept(tmp_path: Path) -> None:
    faults = Faults()
    found = read_log(put(tmp_path, "".join(f"4,{n},{n},-;{OPCODE}\n" for n in range(60))), faults)
    assert isinstance(found, FeatureSet)
    assert len(found.instances or ()) == 50
    assert faults.listed() == ("10 older lines are left out",)


def test_a_machine_without_the_log_has_none(tmp_path: Path) -> None:
    found = KernelLogSource().read(Host(tmp_path)).sets["kernellog.event"]
    assert isinstance(found, SetStatus)
    assert found.state == "absent"


def test_a_log_that_may_not_be_read_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "dev" / "kmsg").mkdir(parents=True)
    found = KernelLogSource().read(Host(tmp_path)).sets["kernellog.event"]
    assert isinstance(found, SetStatus)
    assert found.state == "unknown"


@pytest.mark.skipif(not os.access("/dev/kmsg", os.R_OK), reason="this machine's log may not be read")
def test_this_machines_log_is_read_without_waiting() -> None:
    try:
        found = read_log(Host(Path("/")), Faults())
    except NodeworthyError:
        pytest.skip("this machine's log may not be read")
    assert isinstance(found, FeatureSet)


def test_it_is_no_source_unless_it_is_asked_for() -> None:
    assert "kernellog" not in {source.name for source in SOURCES}
    assert Notices.problem(Notices(None, None), KernelLogSource())  # type: ignore[arg-type] # neither is asked


@given(strategies.binary(max_size=300))
def test_any_bytes_are_read(data: bytes) -> None:
    for one in parse_log(b"4,1,1,-;a[7]: segfault at 0 ip 0 sp 0\n" + data):
        assert one["kind"]


async def test_a_new_line_is_an_event_on_the_bus_where_it_is_asked_for(
    bus: "Bus", make_settings: "MakeSettings", run_detector: "RunDetector", tmp_path: Path
) -> None:
    root = tmp_path / "root"
    for folder in ("proc", "sys", "etc", "usr", "dev"):
        (root / folder).mkdir(parents=True)
    (root / "dev" / "kmsg").write_text("6,1,100,-;Linux version 6.12.0\n")
    settings = make_settings(bus, host_root=root, kernel_log=True, pace=Pace(poll=0.1, share=1.0))
    async with run_detector(settings):
        message = await bus.snapshot("node-1")
        assert message
        assert "kernellog.event" in (message.catalogue or ())
        (root / "dev" / "kmsg").write_text(LOG)
        event = await bus.next_event("kernellog.event")
    assert event.change
    assert OPCODE in str(event.change)


def test_the_switch_is_off_unless_it_is_set() -> None:
    assert not read_settings({}).kernel_log
    assert read_settings({"NODEWORTHY_KERNEL_LOG": "true"}).kernel_log
    with pytest.raises(UsageError, match="NODEWORTHY_KERNEL_LOG='1' cannot be used"):
        read_settings({"NODEWORTHY_KERNEL_LOG": "1"})
