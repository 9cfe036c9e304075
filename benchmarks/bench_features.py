"""One pass over every source of this machine, and what its sets weigh."""

from pathlib import Path

import msgspec
from timing import measure

from nodeworthy.features import decode, encode, write_document
from nodeworthy_detector.discovery import discover
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import SOURCES


def run() -> None:
    """Measure a pass, each source of it, and encoding what it found."""
    host = Host(Path("/"))
    measure("a pass over all sources", lambda: discover(host), runs=15)
    for source in SOURCES:
        measure(f"  {source.name}", lambda source=source: source.read(host), runs=15)  # type: ignore[misc] # bound now
    snapshot = discover(host)
    blobs = [encode(content) for content in snapshot.contents.values()]
    measure("encode every set", lambda: [encode(content) for content in snapshot.contents.values()], runs=15)
    measure("decode and verify every set", lambda: [decode(blob) for blob in blobs], runs=15)
    document = msgspec.json.encode(write_document(snapshot))
    print(f"{len(blobs)} sets: {sum(map(len, blobs)):,} bytes canonical, {len(document):,} bytes as a JSON document")
