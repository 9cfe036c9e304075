"""Records what the sources read of a machine, and writes down what they say of a recording.

    python tests/data/hosts/record.py copy ROOT MACHINE       ROOT is / or a folder with another machine's files
    python tests/data/hosts/record.py expect MACHINE...       review the difference before you keep it

``copy`` makes tests/data/hosts/MACHINE/root with only those files that some source looked at, links resolved. Before it is
kept: look for names and numbers that are nobody else's business, cut repeated processors, and write the file ORIGIN. Git
keeps no empty folders, so a folder that matters needs a file.
"""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nodeworthy.features import write_document
from nodeworthy_detector.discovery import discover
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import SOURCES as WITHOUT_CLOCK
from nodeworthy_detector.sources import LocalSource, Source

HERE = Path(__file__).parent

SOURCES: tuple[Source, ...] = tuple(
    LocalSource(clock=lambda: datetime(2026, 1, 1, tzinfo=UTC)) if isinstance(source, LocalSource) else source
    for source in WITHOUT_CLOCK
)


class Recorder(Host):
    """A host that keeps a copy of every file and folder that is there and was asked for."""

    def __init__(self, root: Path, copy: Path) -> None:
        super().__init__(root, is_this_machine=False)
        self._copy = copy

    def read_part(self, path: str, offset: int, size: int) -> bytes | None:
        data = super().read_part(path, offset, size)
        if data is not None:
            target = self._copy / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
            with target.open("r+b") as file:  # what nobody read of a large file stays a hole
                file.seek(offset)
                file.write(data)
        return data

    def is_folder(self, path: str) -> bool:
        is_there = super().is_folder(path)
        if is_there:
            (self._copy / path).mkdir(parents=True, exist_ok=True)
        return is_there


def expectation(machine: Path) -> dict[str, Any]:
    """Everything that the sources say of a recording, without the digests, which say the same again."""
    document = write_document(discover(Host(machine / "root"), SOURCES))
    for status in document["sets"].values():
        status.pop("digest", None)
    return document


def write_expectation(machine: Path) -> None:
    text = json.dumps(expectation(machine), indent=1, ensure_ascii=False)
    (machine / "expected.json").write_text(text + "\n", encoding="utf-8")


def main(arguments: list[str]) -> None:
    match arguments:
        case ["copy", root, machine]:
            discover(Recorder(Path(root), HERE / machine / "root"), SOURCES)
        case ["expect", *machines]:
            for machine in machines:
                write_expectation(HERE / machine)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
