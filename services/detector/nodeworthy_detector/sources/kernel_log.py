"""The source ``kernellog``: lines of the kernel log that tell why a program or a device failed. Only where it is asked for.

A record of /dev/kmsg (Documentation/ABI/testing/dev-kmsg) is a head, the message, and lines of variables behind it::

    4,1339,5140900,-;traps: app[77] trap invalid opcode ip:55d0 sp:7ffd error:0 in app[55d000+1000]
     SUBSYSTEM=acpi
"""

import errno
import os
import re
from collections.abc import Iterator

import msgspec

from nodeworthy.features import FeatureSet, Instance, clean_text
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.reading import Answer, Faults, Reading, absent, read_sets

_FILE = "dev/kmsg"
_RECORD_BYTES = 16 * 1024
"""A record has at most 8 KiB with its head (CONSOLE_EXT_LOG_MAX); a smaller buffer is refused."""
_MAX_BYTES = 32 * 1024 * 1024
"""Of one reading: the largest log that kernels are configured for has 32 MiB (LOG_BUF_SHIFT 25)."""
_MAX_EVENTS = 50
"""The newest ones; whoever wants the whole log has the node's journal."""
_MAX_LETTERS = 400

_HEAD = re.compile(rb"[0-9]+,[0-9]+,(?P<time>[0-9]+),[^;]*;(?P<text>.*)")

_KNOWN = (
    ("invalid-opcode", re.compile(r"\btrap invalid opcode\b")),
    ("undefined-instruction", re.compile(r"\]: (?:unhandled exception: .*)?undefined instruction\b")),
    ("segfault", re.compile(r"\]: segfault at [0-9a-f]+ ip ")),
    ("general-protection", re.compile(r"\] general protection (?:fault )?ip:")),
    ("seccomp", re.compile(r"\btype=1326\b")),
    ("xid", re.compile(r"\bNVRM: Xid \(")),
    ("driver-mismatch", re.compile(r"\bNVRM: API mismatch\b")),
    ("module-refused", re.compile(r"disagrees about version of symbol|version magic '|unsigned module is rejected")),
    ("out-of-memory", re.compile(r"(?:^|\b)(?:Memory cgroup o|O)ut of memory: Killed process ")),
)
"""Kinds of lines; their words are of arch/x86/kernel/traps.c, arch/x86/mm/fault.c, arch/arm64/kernel/traps.c,
kernel/auditsc.c, kernel/module/, mm/oom_kill.c and NVIDIA's driver."""

_CODE = re.compile(r"(?:^|\] )Code: [0-9a-f<>() ]+$")


class KernelLogSource(msgspec.Struct, frozen=True):
    """Lines of the kernel log; reading them takes the right CAP_SYSLOG where kernel.dmesg_restrict is set."""

    name: str = "kernellog"
    sets: tuple[str, ...] = ("kernellog.event",)

    def read(self, host: Host) -> Reading:
        """Read what the log holds now."""
        return read_sets(host, {"kernellog.event": read_log})


def read_log(host: Host, faults: Faults) -> Answer:
    """The known lines of the log, the oldest first.

    Raises:
        HostReadError: the log is there and cannot be read.
    """
    data = _read_records(host)
    if data is None:
        return absent(f"{_FILE} is not there")
    events = parse_log(data)
    if len(events) > _MAX_EVENTS:
        faults.add(f"{len(events) - _MAX_EVENTS:,} older lines are left out")
    return FeatureSet(instances=tuple(events[-_MAX_EVENTS:]))


def parse_log(data: bytes) -> list[Instance]:
    """The known lines among records: ``kind``, ``line``, ``time`` in seconds since the boot, ``code`` where it follows."""
    events: list[dict[str, str]] = []
    for seconds, text in _messages(data):
        kind = next((name for name, pattern in _KNOWN if pattern.search(text)), "")
        if kind:
            events.append({"kind": kind, "line": text[:_MAX_LETTERS], "time": seconds})
        elif events and "code" not in events[-1] and _CODE.search(text):
            events[-1]["code"] = text[:_MAX_LETTERS]
    return list(events)


def _messages(data: bytes) -> Iterator[tuple[str, str]]:
    """Time and text of each record; lines of variables, and what is no record, are passed over."""
    for line in data.split(b"\n"):
        found = _HEAD.fullmatch(line)
        if found is not None:
            yield f"{int(found['time'][:18]) / 1e6:.6f}", clean_text(found["text"].decode("utf-8", "replace"))


def _read_records(host: Host) -> bytes | None:
    """Everything that the log holds; ``None`` where there is none. It never waits for more."""
    try:
        # The class for files of the host opens regular ones only, and this is a device.
        descriptor = os.open(host.locate(_FILE), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HostReadError(_FILE, error.strerror or str(error)) from error
    try:
        return b"".join(_records(descriptor))
    except OSError as error:
        raise HostReadError(_FILE, error.strerror or str(error)) from error
    finally:
        os.close(descriptor)


def _records(descriptor: int) -> Iterator[bytes]:
    left = _MAX_BYTES
    while left > 0:
        try:
            record = os.read(descriptor, _RECORD_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno != errno.EPIPE:  # the kernel has overwritten what was to come next
                raise
            continue
        if not record:
            return
        left -= len(record)
        yield record
