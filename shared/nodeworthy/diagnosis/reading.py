"""Finding known signs in what a person has: texts, exit codes, lines of the kernel log."""

import functools
import re
from collections.abc import Iterable, Mapping, Sequence

from nodeworthy.diagnosis import exit_codes, kernel_log
from nodeworthy.diagnosis.kernel_log import Crash, Event, SeccompEvent, XidError
from nodeworthy.diagnosis.records import Signal
from nodeworthy.diagnosis.signatures import Signature, Table, flag_name
from nodeworthy.diagnosis.syscalls import name_syscall

MAX_TEXT_BYTES = 16 * 1024 * 1024
"""Of all that is given: a log that is larger is given by its last part."""

_MAX_SHOWN = 300
"""Characters of a line that are kept of a sign."""

_XID_ROWS = ("nvidia-xid-hardware", "nvidia-xid-application", "nvidia-xid")

_SIEVE_BYTES = 64 * 1024 * 1024
"""For RE2's states; with its own 8 MiB it throws them away again and again, and takes nearly twice as long."""

_AHEAD = re.compile(r"\(\?![^()]*\)")

_EXIT_WORDS = re.compile(
    r"\b(?:exit(?:ed)?(?: with)?(?: ?\(?code\)?| status)?|restarting|exitcode)[ :=(\"]*"
    r"(?P<code>-?\d{1,10}|0xC0[0-9A-F]{6})\b",
    re.IGNORECASE,
)
"""``exit code 132``, ``exited with code 132``, ``Exited (132)``, ``Restarting (132)``, ``exitCode: 132``,
``exit code 0xC000001D``."""


def read_signals(text: str, codes: Sequence[int], events: Sequence[Event], table: Table) -> tuple[Signal, ...]:
    """The known signs, the most telling first, each signature once.

    Of one line only the row that says most counts: a message that looks like another's is not both.

    Args:
        text: Logs, messages, events, kernel lines: as many lines as there are.
        codes: Exit codes that are known to be some.
        events: What :func:`nodeworthy.diagnosis.kernel_log.read_events` found in the text.
        table: The signatures.
    """
    lines = kernel_log.split_lines(text)
    sieve = _Sieve(table)
    told = [signal for number in range(len(lines)) for signal in _read_line(lines, number, table, sieve)]
    given = dict.fromkeys([*codes, *_codes_in(lines)])
    told += [signal for code in given for signal in _read_code(code, table)]
    names = _details_of(events)
    by_code: dict[str, Signal] = {}
    for signal in sorted(told, key=lambda one: -one.rank):
        known = by_code.setdefault(signal.code, signal)
        if signal.details.keys() - known.details.keys():
            by_code[signal.code] = _merge(known, signal.details)
    return tuple(_merge(one, names.get(one.code, {})) for one in by_code.values())


def _read_line(lines: Sequence[str], number: int, table: Table, sieve: "_Sieve") -> list[Signal]:
    rows = sieve.pick(lines[number])
    if not rows:
        return []
    lowered = lines[number].lower()
    found = [signal for row in rows if (signal := _match(table.signatures[row], lines, number, lowered)) is not None]
    most = max((one.rank for one in found), default=0)
    return [one for one in found if one.rank == most]


class _Sieve:
    """Which rows a line may belong to, all asked at once by RE2: a log of a million lines has few that may."""

    def __init__(self, table: Table) -> None:
        import re2

        options = re2.Options()
        options.case_sensitive = False
        options.max_mem = _SIEVE_BYTES
        self._set = re2.Set.SearchSet(options)
        self._rows: list[int] = []
        for number, row in enumerate(table.signatures):
            # RE2 looks not ahead; without that a pattern takes more lines, and the row itself is asked afterwards.
            patterns = [_AHEAD.sub("", pattern) for pattern in row.patterns]
            for pattern in (*patterns, *map(re.escape, row.fragments)):
                self._set.Add(pattern)
                self._rows.append(number)
        self._set.Compile()

    def pick(self, line: str) -> list[int]:
        """The numbers of rows, in the order of the table."""
        found = self._set.Match(line.encode(errors="replace"))
        return sorted({self._rows[number] for number in found or ()})


def _match(row: Signature, lines: Sequence[str], number: int, lowered: str) -> Signal | None:
    line = lines[number]
    for pattern in row.patterns:
        window = line if row.lines == 1 else " ".join(lines[number : number + row.lines])
        found = _compiled(pattern).search(window)
        if found and found.start() <= len(line):
            details = {name: value.strip() for name, value in found.groupdict().items() if value}
            return _signal(row, line, details)
    return _signal(row, line, {}) if any(fragment in lowered for fragment in row.fragments) else None


def _read_code(code: int, table: Table) -> list[Signal]:
    known = exit_codes.read_exit_code(code)
    rows = [one for one in table.signatures if code in one.exit_codes or (known.signal and known.signal in one.signals)]
    return [_signal(row, known.text, {}) for row in rows]


def _codes_in(lines: Iterable[str]) -> list[int]:
    return [
        int(found["code"], 16 if found["code"].lower().startswith("0x") else 10)
        for line in lines
        for found in _EXIT_WORDS.finditer(line)
    ]


def _signal(row: Signature, line: str, details: Mapping[str, str]) -> Signal:
    shown = line.strip()
    cut = shown if len(shown) <= _MAX_SHOWN else shown[:_MAX_SHOWN] + "…"
    speaker = next((voice for pattern, voice in row.voices if _compiled(pattern).search(shown)), row.speaker)
    return Signal(row.code, speaker, cut, row.rank, _complete(details))


def _merge(signal: Signal, details: Mapping[str, str]) -> Signal:
    if not details:
        return signal
    return Signal(signal.code, signal.speaker, signal.text, signal.rank, {**details, **signal.details})


def _complete(details: Mapping[str, str]) -> dict[str, str]:
    """The details with what follows from them; ``feature`` is the one flag where the message names just one."""
    made = dict(details)
    words = re.findall(r"[\w.-]*\w", made.get("features", ""))
    if len(words) == 1:
        made["feature"] = flag_name(words[0])
    if "host" in made:
        made["host"] = made["host"].removeprefix("a ")
    return made


def _details_of(events: Iterable[Event]) -> dict[str, dict[str, str]]:
    """What kernel lines add to signatures: the name of a system call, the words of an Xid, the file of a crash."""
    details: dict[str, dict[str, str]] = {}
    unnamed = {"syscall": "that its audit line in the kernel log names", "architecture": "this node"}
    for event in events:
        if isinstance(event, SeccompEvent):
            architecture, name = name_syscall(event.architecture, event.number)
            call = name or f"number {event.number}"
            machine = architecture or f"audit architecture {event.architecture}"
            details.setdefault("seccomp-killed", {"syscall": call, "architecture": machine, "process": event.process})
        elif isinstance(event, XidError):
            text = event.text.rpartition(", ")[2] or event.text
            told = {"xid_text": text.rstrip(".") or "see NVIDIA's catalogue", "device": event.device}
            details |= {code: told for code in _XID_ROWS if code not in details}
        elif isinstance(event, Crash) and event.file:
            code = "segmentation-fault" if event.what == "segfault" else "illegal-instruction"
            details.setdefault(code, {"file": event.file, "process": event.process})
    details.setdefault("seccomp-killed", unnamed)
    return details


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
