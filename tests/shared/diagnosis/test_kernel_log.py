"""Lines of the kernel log and of Go's runtime."""

from hypothesis import given, strategies

from nodeworthy.diagnosis.kernel_log import Crash, GoCrash, SeccompEvent, XidError, read_events, split_lines


def read(text: str) -> list[object]:
    return list(read_events(split_lines(text)))


def crash(text: str) -> Crash:
    (found,) = read(text)
    assert isinstance(found, Crash)
    return found


def test_an_invalid_opcode_has_address_file_and_mapping() -> None:
    found = crash(
        "[13354.96] traps: my app[23343] trap invalid opcode"
        " ip:55b44452712d sp:7ffe23c58370 error:0 in ud[55b444527000+1000]"
    )
    assert (found.process, found.pid, found.what, found.file) == ("my app", 23343, "invalid opcode", "ud")
    assert (found.ip, found.base, found.size, found.offset) == (0x55B44452712D, 0x55B444527000, 0x1000, None)


def test_newer_kernels_tell_the_offset_in_the_file() -> None:
    found = crash("traps: ud[3] trap invalid opcode ip:55b44452712d sp:7ffe error:0 in ud[112d,55b444527000+1000]")
    assert (found.offset, found.base) == (0x112D, 0x55B444527000)


def test_a_segfault_and_its_code_are_one_event() -> None:
    text = """\
app[7]: segfault at 0 ip 0000000000401136 sp 00007ffc error 4 in app[401000+1000] likely on CPU 3 (core 1, socket 0)
Code: 48 89 e5 b8 00 00 00 00 <c5> f5 fe d0 5d c3"""
    found = crash(text)
    assert (found.what, found.ip, found.code.hex()) == ("segfault", 0x401136, "c5f5fed05dc3")


def test_a_crash_in_no_file_has_none() -> None:
    assert crash("traps: a[7] general protection fault ip:7f00 sp:7ffd error:0").file == ""


def test_arm_tells_the_word_in_round_brackets() -> None:
    text = """\
app[912]: unhandled exception: Unknown/Uncategorized, ESR 0x0000000002000000, undefined instruction in app[aaaae0a50000+1000]
CPU: 2 PID: 912 Comm: app Not tainted 6.6.31
pc : 0000aaaae0a50754
Code: 52800000 d65f03c0 a9bf7bfd 910003fd (b8e20021)"""
    found = crash(text)
    assert found.is_arm
    assert (found.ip, found.file, found.code.hex()) == (0xAAAAE0A50754, "app", "2100e2b8")
    old = crash("app[5]: undefined instruction: pc=00000000004006f4")
    assert (old.ip, old.is_arm) == (0x4006F4, True)


def test_a_document_in_one_line_is_read_to_its_end() -> None:
    assert [len(part) for part in split_lines("a" * 5000 + "\n\nb")] == [4096, 904, 0, 1]


def test_go_prints_the_bytes_themselves() -> None:
    text = "SIGILL: illegal instruction\nPC=0x11f3c m=0 sigcode=1\ninstruction bytes: 0x0 0x6 0x38 0xd5 0x1f"
    (found,) = read(text)
    assert isinstance(found, GoCrash)
    assert (found.code.hex(), found.ip) == ("000638d51f", 0x11F3C)


def test_seccomp_and_xid_lines() -> None:
    seccomp, xid = read(
        'audit: type=1326 audit(1:2): pid=1 comm="make" exe="/x" sig=0 arch=c00000b7 syscall=439 compat=0\n'
        "NVRM: Xid (PCI:0000:3b:00): 31, pid=77, name=python3, MMU Fault"
    )
    assert isinstance(seccomp, SeccompEvent)
    assert (seccomp.process, seccomp.architecture, seccomp.number) == ("make", "c00000b7", 439)
    assert isinstance(xid, XidError)
    assert (xid.number, xid.device) == (31, "PCI:0000:3b:00")


def test_bytes_that_are_none_are_left_out() -> None:
    line = "traps: a[7] trap invalid opcode ip:1 sp:2 error:0\nCode: 48 <zz> 0b"
    assert crash(line).code == b""
    assert crash("traps: a[7] trap invalid opcode ip:1 sp:2 error:0\nCode: 48 0b").code == b""


@given(strategies.text(alphabet="trapsinvldocpeg[](){}<>+,: 0123456789abcdefCode=", max_size=200))
def test_any_line_is_read(text: str) -> None:
    for event in read(f"traps: a[7] trap invalid opcode ip:1 sp:2 error:0\n{text}"):
        assert event
