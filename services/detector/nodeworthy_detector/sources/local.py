"""The source ``local``: what the machine's own administrators say of it, in files of the folder features.d."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import msgspec

from nodeworthy.features import FeatureSet, SetStatus
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.drop_ins import merge_files, read_drop_in
from nodeworthy_detector.sources.features_d import FeatureFile, nanoseconds, parse_feature_file
from nodeworthy_detector.sources.reading import Faults, Reading, unknown

FOLDER = "etc/kubernetes/node-feature-discovery/features.d"
"""NFD's own place, so that files written for NFD count here."""

MAX_FILE_BYTES = 65_536
"""NFD's limit; a larger file is left out as a whole."""

MAX_FILES = 1_000
"""NFD has no limit; a folder with more files is a mistake, and reading it on every pass would cost the node."""

MAX_BYTES = 384 * 1024
"""Of all names and values together: a set may have 512 KiB."""

_BYTES_OF_AN_ENTRY = 4
"""What an entry of a few letters takes beside its name and its value."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class LocalSource(msgspec.Struct, frozen=True):
    """Features and labels of features.d; of two files that give one name, the later in name order wins."""

    folder: str = FOLDER
    """Where the files are, as the host sees it."""
    clock: Callable[[], datetime] = _utc_now
    """What time it is, for the lines that expire."""
    name: str = "local"
    sets: tuple[str, ...] = ("local.feature", "local.label")

    def read(self, host: Host) -> Reading:
        """Read every file of the folder; one that cannot be read harms only itself."""
        faults = Faults()
        folder = self.folder.strip("/")
        now = self.clock()
        try:
            files = _read_files(host, folder, now, faults)
        except HostReadError as error:
            both: dict[str, FeatureSet | SetStatus] = dict.fromkeys(self.sets, unknown(str(error)))
            return Reading(both, faults.listed())
        return Reading(
            {
                "local.feature": FeatureSet(
                    attributes=merge_files(folder, [(name, file.features) for name, file in files], faults)
                ),
                "local.label": FeatureSet(
                    attributes=merge_files(folder, [(name, file.labels) for name, file in files], faults)
                ),
            },
            faults.listed(),
            expires_in=_seconds_until_expiry([file for _, file in files], now),
        )


def _seconds_until_expiry(files: list[FeatureFile], now: datetime) -> float | None:
    """When the first line of all files expires; a line still counts at the very instant of its expiry."""
    expiries = [file.expiry for file in files if file.expiry is not None]
    return (min(expiries) - nanoseconds(now)) / 10**9 if expiries else None


def _read_files(host: Host, folder: str, now: datetime, faults: Faults) -> list[tuple[str, FeatureFile]]:
    host.require(folder.partition("/")[0])
    names = [name for name in host.list_names(folder) or () if not name.startswith(".")]
    if len(names) > MAX_FILES:
        faults.add(f"{folder}: {len(names) - MAX_FILES} files are left out, only the first {MAX_FILES} count")
    files: list[tuple[str, FeatureFile]] = []
    room = MAX_BYTES
    for name in names[:MAX_FILES]:
        file = _read_file(host, f"{folder}/{name}", now, faults)
        if file is None:
            continue
        size = max(_size_of(file.features), _size_of(file.labels))
        if size > room:
            faults.add(f"{folder}/{name}: all files together say more than {MAX_BYTES:,} bytes; it is left out")
            continue
        room -= size
        files.append((name, file))
    return files


def _size_of(entries: Mapping[str, str]) -> int:
    return sum(len(name.encode()) + len(value.encode()) + _BYTES_OF_AN_ENTRY for name, value in entries.items())


def _read_file(host: Host, path: str, now: datetime, faults: Faults) -> FeatureFile | None:
    try:
        if host.is_folder(path):
            return None
    except HostReadError as error:
        faults.add(f"{error}; the file is left out")
        return None
    text = read_drop_in(host, path, MAX_FILE_BYTES, faults)
    if text is None:
        return None
    file = parse_feature_file(text, now)
    for fault in file.faults:
        faults.add(f"{path}: {fault}")
    return file
