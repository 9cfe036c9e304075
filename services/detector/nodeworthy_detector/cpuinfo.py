"""The file /proc/cpuinfo, whose shape differs with the architecture (proc(5))."""

from collections.abc import Iterable, Mapping

import msgspec

from nodeworthy_detector.hostfs import Host

MAX_CPUINFO_BYTES = 32 * 1024 * 1024
"""Linux lists at most 8,192 processors by default, with about 1.5 kB each."""


class Cpuinfo(msgspec.Struct, frozen=True):
    """The blocks of the file, in its order: usually one per processor, on s390x and old Arm also one for all."""

    blocks: tuple[Mapping[str, str], ...]

    def values(self, key: str) -> tuple[str, ...]:
        """The value of one key in each block that has it."""
        return tuple(block[key] for block in self.blocks if key in block)

    def only(self, key: str) -> str | None:
        """The value of one key if all processors agree on it and it says something."""
        found = set(self.values(key))
        return found.pop() or None if len(found) == 1 else None

    def words(self, key: str) -> frozenset[str] | None:
        """The words that every processor lists under one key; ``None`` if none has the key."""
        lines = set(self.values(key))
        return frozenset.intersection(*(frozenset(line.split()) for line in lines)) if lines else None

    def uneven_words(self, key: str) -> frozenset[str]:
        """The words that some processors list and others do not."""
        lines = [frozenset(line.split()) for line in set(self.values(key))]
        return frozenset().union(*lines) - frozenset.intersection(*lines) if lines else frozenset()


def read_cpuinfo(host: Host) -> Cpuinfo | None:
    """The host's file; ``None`` if it has none.

    Raises:
        HostReadError: the file is there and cannot be read.
    """
    text = host.read_text("proc/cpuinfo", MAX_CPUINFO_BYTES)
    return None if text is None else parse_cpuinfo(text)


def parse_cpuinfo(text: str) -> Cpuinfo:
    """Read the blocks.

    The text, here of x86 processors::

        processor       : 0
        vendor_id       : GenuineIntel
        flags           : fpu vme de

        processor       : 1

    Lines without a colon are no facts and are passed over; a key twice in one block keeps its first value.
    """
    blocks: list[Mapping[str, str]] = []
    block: dict[str, str] = {}
    for line in text.split("\n"):
        key, colon, value = line.partition(":")
        if colon:
            block.setdefault(key.strip(), value.strip())
        elif not line.strip() and block:
            blocks.append(block)
            block = {}
    if block:
        blocks.append(block)
    return Cpuinfo(tuple(blocks))


def cpu_list(numbers: Iterable[int]) -> str:
    """Processor numbers as Linux writes them.

    >>> cpu_list([0, 1, 2, 5])
    '0-2,5'
    """
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


MAX_CPU_NUMBER = 65_535
"""Well above Linux's largest NR_CPUS, so that a damaged list cannot ask for billions of numbers."""


def parse_cpu_list(text: str) -> frozenset[int] | None:
    """The numbers of a list as ``0-2,5``; ``None`` if it is no such list.

    >>> sorted(parse_cpu_list("0-2,5"))
    [0, 1, 2, 5]
    """
    numbers: set[int] = set()
    for part in text.strip().split(","):
        if not part:
            continue
        first, dash, last = part.partition("-")
        if not _is_number(first) or (dash and not _is_number(last)):
            return None
        if max(int(first), int(last or 0)) > MAX_CPU_NUMBER:
            return None
        numbers.update(range(int(first), int(last or first) + 1))
    return frozenset(numbers)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9  # noqa: PLR2004 # longer ones are no CPU's
