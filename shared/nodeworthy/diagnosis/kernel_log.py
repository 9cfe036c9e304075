"""Lines of the kernel log, and what a Go program prints of a signal: where a program was stopped, and at which bytes.

Pure: texts in, records out. Lines that are none of these are passed over.
"""

import re
from collections.abc import Iterable

import msgspec

_X86_CRASH = re.compile(
    r"(?P<process>[^\[\]]{1,64})\[(?P<pid>\d+)\]:? "
    r"(?:trap (?P<trap>[a-z ]+?)|general protection(?: fault)?|(?P<fault>segfault) at (?P<address>[0-9a-f]+)) "
    r"ip[: ](?P<ip>[0-9a-f]+) sp[: ](?P<sp>[0-9a-f]+) error[: ](?P<error>[0-9a-f]+)"
    r"(?: in (?P<file>\S[^\[]*)\[(?:(?P<offset>[0-9a-f]+),)?(?P<base>[0-9a-f]+)\+(?P<size>[0-9a-f]+)\])?"
)
"""arch/x86/kernel/traps.c show_signal(), arch/x86/mm/fault.c show_signal_msg(), mm/memory.c print_vma_addr().

``traps: app[77] trap invalid opcode ip:55d0 sp:7ffd error:0 in app[55d000+1000]``; since Linux 6.11 the brackets begin
with the address as an offset of the file.
"""

_ARM_CRASH = re.compile(
    r"(?P<process>[^\[\]]{1,64})\[(?P<pid>\d+)\]: (?:unhandled exception: .{0,200}?)?undefined instruction"
    r"(?:: pc=(?P<ip>[0-9a-fx]+))?"
    r"(?: in (?P<file>\S[^\[]*)\[(?:(?P<offset>[0-9a-f]+),)?(?P<base>[0-9a-f]+)\+(?P<size>[0-9a-f]+)\])?"
)
"""arch/arm64/kernel/traps.c arm64_show_signal(), do_undefinstr() of old kernels."""

_ARM_PC = re.compile(r"\bpc : (?:\[<)?(?P<ip>[0-9a-f]{8,16})\b")
_X86_CODE = re.compile(r"\bCode: (?P<bytes>[0-9a-f<> ]+)")
"""``Code: 48 89 <0f> 0b``: bytes around the address, which is marked (show_opcodes())."""
_ARM_CODE = re.compile(r"\bCode: (?P<words>(?:[0-9a-f]{8} )*\((?P<word>[0-9a-f]{8})\))")
"""``Code: aa0003e1 (b8e20021)``: words, the one at the address in round brackets (dump_instr())."""
_GO_BYTES = re.compile(r"instruction bytes:(?P<bytes>(?: 0x[0-9a-f]{1,2})+)", re.IGNORECASE)
"""Go's runtime, signal_unix.go: the bytes at PC, of which arm64 needs four."""
_GO_PC = re.compile(r"\bPC=0x(?P<ip>[0-9a-f]+)")
_SECCOMP = re.compile(
    r"type=(?:1326|SECCOMP)\b.*?\bcomm=\"?(?P<process>[^\" ]*)\"?.*?\barch=(?P<arch>[0-9a-f]+) syscall=(?P<call>\d+)"
)
"""include/uapi/linux/audit.h AUDIT_SECCOMP, kernel/auditsc.c audit_seccomp(); auditd writes the type by its name."""
_XID = re.compile(r"NVRM: Xid \((?P<device>[^)]*)\): (?P<number>\d+)(?:, (?P<text>.*))?")
"""NVIDIA, "XID Errors"."""

_COLOURS = re.compile(r"\x1b\[[0-9;:?]*[ -/]*[@-~]")
"""ECMA-48, 5.4: a control sequence, as programs write into a terminal, and so into a container's log."""
_CR_IN_NAME = re.compile(r"\r(?=[:'\"`\u2019])")
"""A name that ends in a carriage return, in a message of a program that does not escape it."""

_PREFIX = re.compile(r"^.*\b(?:kernel|traps): ")
"""What journals and the kernel itself write in front of a program's name."""

_MARKS = ("type=1326", "type=SECCOMP", "NVRM:", "nstruction bytes", " ip:", " ip ", "undefined instruction")
"""One of these stands in every line that is an event."""

_MAX_LINE = 4096
"""Characters of a line that are looked at together: the kernel's own lines have less than 1024 (LOG_LINE_MAX)."""


class Crash(msgspec.Struct, frozen=True, omit_defaults=True):
    """A program was stopped by the processor."""

    process: str
    pid: int
    what: str
    """``invalid opcode``, ``segfault``, ``general protection``, ``undefined instruction``."""
    line: str
    ip: int | None = None
    file: str = ""
    """The mapped file's name, without its folder."""
    offset: int | None = None
    """Of the address in that file, where the kernel tells it."""
    base: int | None = None
    """Where the mapping that holds the address begins."""
    size: int | None = None
    code: bytes = b""
    """Bytes from the address on, where the log shows them."""
    is_arm: bool = False


class GoCrash(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a Go program prints when a signal ends it."""

    code: bytes
    ip: int | None = None
    line: str = ""


class SeccompEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """A seccomp filter stopped a system call."""

    process: str
    architecture: str
    """The kernel's AUDIT_ARCH number in hexadecimal."""
    number: int
    line: str


class XidError(msgspec.Struct, frozen=True, omit_defaults=True):
    """NVIDIA's driver reports an error of a GPU."""

    device: str
    number: int
    line: str
    text: str = ""


Event = Crash | GoCrash | SeccompEvent | XidError


def plain_text(text: str) -> str:
    r"""A text as it is read: without colours, lines end as on Linux; ``\r`` stays where a name ends in one, written out.

    >>> plain_text("\x1b[31mexec format\x1b[0m error\r\nenv: bash\r: not found")
    'exec format error\nenv: bash\\r: not found'
    """
    if "\x1b" in text:
        text = _COLOURS.sub("", text)
    if "\r" in text:
        text = _CR_IN_NAME.sub(r"\\r", text.replace("\r\n", "\n"))
    return text


def split_lines(text: str) -> list[str]:
    """The lines of a text; one that is longer than any that is known, as a whole JSON document, in parts."""
    return [line[at : at + _MAX_LINE] for line in text.splitlines() for at in range(0, max(len(line), 1), _MAX_LINE)]


def read_events(lines: Iterable[str]) -> list[Event]:
    """What the lines tell, in their order; bytes and addresses in lines behind a crash are taken into it."""
    events: list[Event] = []
    pc: int | None = None
    for line in lines:
        pc = _number(found["ip"]) if "PC=" in line and (found := _GO_PC.search(line)) else pc
        if event := _read_event(line, pc):
            events.append(event)
        elif events and isinstance(last := events[-1], Crash):
            events[-1] = _add(last, line)
    return events


def _read_event(line: str, pc: int | None) -> Event | None:
    if not any(mark in line for mark in _MARKS):  # a log has a million lines that are none
        return None
    if found := _SECCOMP.search(line):
        return SeccompEvent(found["process"], found["arch"], int(found["call"]), line.strip())
    if found := _XID.search(line):
        return XidError(found["device"], int(found["number"]), line.strip(), found["text"] or "")
    if found := _GO_BYTES.search(line):
        return GoCrash(bytes(int(one, 16) for one in found["bytes"].split()), pc, line.strip())
    if found := _X86_CRASH.search(line):
        what = found["trap"] or found["fault"] or "general protection"
        return _crash(found, what, line, is_arm=False)
    if found := _ARM_CRASH.search(line):
        return _crash(found, "undefined instruction", line, is_arm=True)
    return None


def _crash(found: re.Match[str], what: str, line: str, *, is_arm: bool) -> Crash:
    return Crash(
        process=_PREFIX.sub("", found["process"]).strip(),
        pid=int(found["pid"]),
        what=what,
        line=line.strip(),
        ip=_number(found["ip"]),
        file=(found["file"] or "").strip(),
        offset=_number(found["offset"]),
        base=_number(found["base"]),
        size=_number(found["size"]),
        is_arm=is_arm,
    )


def _add(crash: Crash, line: str) -> Crash:
    """A crash with what one of the lines behind it tells."""
    if crash.is_arm and (found := _ARM_CODE.search(line)) and not crash.code:
        return msgspec.structs.replace(crash, code=int(found["word"], 16).to_bytes(4, "little"))
    if crash.is_arm and crash.ip is None and (found := _ARM_PC.search(line)):
        return msgspec.structs.replace(crash, ip=_number(found["ip"]))
    if not crash.is_arm and not crash.code and (found := _X86_CODE.search(line)):
        return msgspec.structs.replace(crash, code=_marked_bytes(found["bytes"]))
    return crash


def _marked_bytes(text: str) -> bytes:
    """The bytes from the marked one on; none where nothing is marked or what stands there are no bytes."""
    _, mark, rest = text.partition("<")
    if not mark:
        return b""
    words = rest.replace(">", " ").split()
    return bytes(int(word, 16) for word in words) if all(len(word) == 2 for word in words) else b""  # noqa: PLR2004


def _number(text: str | None) -> int | None:
    return int(text, 16) if text else None
