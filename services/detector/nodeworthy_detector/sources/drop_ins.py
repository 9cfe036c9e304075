"""Files that administrators drop into a folder of the machine: read one by one, each harming only itself."""

from collections.abc import Iterable, Mapping

from nodeworthy.features import clean_text
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.reading import Faults


def read_drop_in(host: Host, path: str, limit: int, faults: Faults) -> str | None:
    """The text of a file of the folder; ``None`` for one that is left out, which is a fault."""
    try:
        text = host.read_text(path, limit)
    except HostReadError as error:
        faults.add(f"{error}; the file is left out")
        return None
    if text is None:
        faults.add(f"{path} leads nowhere; the file is left out")
    return text


def merge_files(folder: str, files: Iterable[tuple[str, Mapping[str, str]]], faults: Faults) -> dict[str, str]:
    """What several files of a folder say together: of two that give one name, the later counts, and it is a fault."""
    merged: dict[str, str] = {}
    givers: dict[str, str] = {}
    for file, values in files:
        for name, value in values.items():
            if merged.get(name, value) != value:
                faults.add(
                    f"{folder}: {givers[name]} says {name}={merged[name]}, {file} says {value}; the latter counts"
                )
            merged[name], givers[name] = value, file
    return {clean_text(name): value for name, value in merged.items()}
