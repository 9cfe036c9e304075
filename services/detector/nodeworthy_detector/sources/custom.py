"""The source ``custom``: the rules of this machine as text, for whoever evaluates rules; nothing of them is understood here.

NFD's worker evaluates such rules itself. Here the detector hands them on, so that it needs no rule engine, and labeler,
validator and command line evaluate them as they do all other rules (``nodeworthy.labels.custom_rules``).
"""

from collections.abc import Iterator

import msgspec

from nodeworthy.features import FeatureSet, clean_text
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.drop_ins import read_drop_in
from nodeworthy_detector.sources.reading import Faults, Reading, unknown

FOLDER = "etc/kubernetes/node-feature-discovery/custom.d"
"""NFD's own place, so that rules written for NFD count here."""

CONFIGURED = "sources.custom"
"""The element that holds the rules of the detector's own configuration; files are ``custom.d/<name>``."""

MAX_FILE_BYTES = 128 * 1024
"""A rule takes half a kilobyte."""

MAX_BYTES = 384 * 1024
"""Of all texts together: a set may have 512 KiB."""

MAX_FILES = 1_000
"""As in features.d: a folder with more files is a mistake."""


class CustomSource(msgspec.Struct, frozen=True):
    """Rules of custom.d and of the configuration; a file that is left out is named as unobserved."""

    folder: str = FOLDER
    """Where the files are, as the host sees it."""
    rules: str = ""
    """The rules of the configuration (``sources.custom``) as YAML or JSON text."""
    name: str = "custom"
    sets: tuple[str, ...] = ("custom.rules",)

    def read(self, host: Host) -> Reading:
        """Read every file of the folder and of its folders; one that cannot be read harms only itself."""
        faults = Faults()
        folder = self.folder.strip("/")
        texts: dict[str, str] = {CONFIGURED: self.rules} if self.rules.strip() else {}
        left_out: set[str] = set()
        room = MAX_BYTES - len(self.rules.encode())
        try:
            files = list(_list_files(host, folder, faults))
        except HostReadError as error:
            return Reading({"custom.rules": unknown(str(error))}, faults.listed())
        if len(files) > MAX_FILES:
            faults.add(f"{folder}: {len(files) - MAX_FILES} files are left out, only the first {MAX_FILES} count")
            left_out.add(f"custom.d/{clean_text(files[MAX_FILES])}")
        for file in files[:MAX_FILES]:
            name = f"custom.d/{clean_text(file)}"
            text = read_drop_in(host, f"{folder}/{file}", MAX_FILE_BYTES, faults)
            if text is not None and len(text.encode()) > room:
                faults.add(f"{folder}/{file}: all rules together have more than {MAX_BYTES:,} bytes; it is left out")
                text = None
            if text is None or name in texts:
                left_out.add(name)
                continue
            room -= len(text.encode())
            texts[name] = text
        return Reading(
            {"custom.rules": FeatureSet(attributes=texts, unobserved=frozenset(left_out) - texts.keys())},
            faults.listed(),
        )


def _list_files(host: Host, folder: str, faults: Faults) -> Iterator[str]:
    """The files in NFD's order: names in order, the files of a folder in its place; hidden files are passed over."""
    host.require(folder.partition("/")[0])
    for name in host.list_names(folder) or ():
        try:
            if not host.is_folder(f"{folder}/{name}"):
                if not name.startswith("."):
                    yield name
            elif not name.startswith(".."):
                # A mounted ConfigMap holds its files in "..<time>", and links to them beside it: NFD reads both.
                yield from _list_below(host, folder, name)
        except HostReadError as error:
            faults.add(f"{error}; it is left out")


def _list_below(host: Host, folder: str, name: str) -> Iterator[str]:
    for below in host.list_names(f"{folder}/{name}") or ():
        if not below.startswith(".") and not host.is_folder(f"{folder}/{name}/{below}"):
            yield f"{name}/{below}"
