"""The configuration that a kernel was built with, from the first place that has it."""

import hashlib
import re

from nodeworthy.features import FeatureSet
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.reading import Answer, Faults, attributes, unknown

_MAX_CONFIG_BYTES = 4 * 1024 * 1024
"""The largest known, a distribution's configuration with every comment, has 300 kB."""

_PLACES = (
    "proc/config.gz",
    "usr/src/linux-{release}/.config",
    "usr/src/linux-rt-{release}/.config",
    "usr/src/linux/.config",
    "usr/lib/modules/{release}/config",
    "usr/lib/ostree-boot/config-{release}",
    "usr/lib/kernel/config-{release}",
    "usr/src/linux-headers-{release}/.config",
    "lib/modules/{release}/build/.config",
    "usr/src/linux-rt-headers-{release}/.config",
    "boot/config-{release}",
    "lib/modules/{release}/config",
    "usr/lib/modules/{release}/build/.config",
    "usr/boot/config-{release}",
    "usr/src/kernels/{release}/.config",
)
"""In NFD's order; the last four are ours: roots where ``lib`` is no link, Flatcar, the headers of RHEL and Fedora."""

_UNNAMED_PLACE = "usr/src/linux/.config"
"""It does not name the release: the sources may be those of another kernel."""

_FLAVOUR_PLACE = "boot/config-{flavour}"
"""Alpine names the file after the kernel's flavour, ``lts`` of ``6.12.51-0-lts``; NFD does not look there."""

_TITLE = re.compile(r"^# Linux/\S+ (\S+) Kernel Configuration$", re.MULTILINE)
"""The heading of every configuration (Linux, scripts/kconfig/confdata.c)."""

_MAX_TITLE_LETTERS = 300

_SERIES = re.compile(r"([0-9]+)\.([0-9]+)(?![0-9])")


def read_config(host: Host, release: str | None, first: str, faults: Faults) -> Answer:
    """The options of the first configuration that can be read; a damaged one is a fault and the next is looked at."""
    places = [first.lstrip("/")] if first else []
    places += [place.format(release=release) for place in _PLACES if release or "{" not in place]
    of_release = frozenset(places)
    if release:
        places.append(_FLAVOUR_PLACE.format(flavour=release.rpartition("-")[2]))
    for place in places:
        try:
            text = _read(host, place)
        except HostReadError as error:
            faults.add(error)
            continue
        if text is None or (place not in of_release and not is_of_release(text, release or "")):
            continue
        if place == _UNNAMED_PLACE and release and is_of_other_series(text, release):
            faults.add(f"{place} is passed over: it says that it is of another kernel than {release}")
            continue
        return _options(text)
    return unknown(f"none of {len(places)} places has a kernel configuration, from {places[0]} to {places[-1]}")


class _Parsed:
    """The last configuration that was read: its text stays the same for a whole boot, and taking it apart costs 4 ms."""

    digest = b""
    options = FeatureSet()


def _options(text: str) -> FeatureSet:
    digest = hashlib.sha256(text.encode()).digest()
    if digest != _Parsed.digest:
        _Parsed.options = attributes(parse_config(text))
        _Parsed.digest = digest
    return _Parsed.options


def is_of_release(text: str, release: str) -> bool:
    """Whether a configuration says that it is of this release; after an update it may be of the next one.

    The heading ``# Linux/x86 6.12.51 Kernel Configuration`` has the version without what a distribution adds.
    """
    found = _TITLE.search(text[:_MAX_TITLE_LETTERS])
    return found is not None and re.fullmatch(re.escape(found[1]) + r"(?:[-+_~].*)?", release) is not None


def is_of_other_series(text: str, release: str) -> bool:
    """Whether a configuration says that it is of another series, such as 6.6 for a release 6.1.0-18-amd64.

    Only the first two numbers are compared: Debian and Ubuntu count the third otherwise than the heading does.
    """
    found = _TITLE.search(text[:_MAX_TITLE_LETTERS])
    title, running = (_SERIES.match(words) for words in (found[1] if found else "", release))
    return title is not None and running is not None and title.groups() != running.groups()


def _read(host: Host, place: str) -> str | None:
    data = host.read_bytes(place, _MAX_CONFIG_BYTES)
    if data is None:
        return None
    return (_unpack(place, data) if place.endswith(".gz") else data).decode("utf-8", "replace")


def _unpack(place: str, data: bytes) -> bytes:
    import zlib

    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)  # 16 asks for gzip's header
    try:
        text = unpacker.decompress(data, _MAX_CONFIG_BYTES + 1)
    except zlib.error as error:
        raise HostReadError(place, "is no gzip file, or a damaged one") from error
    if len(text) > _MAX_CONFIG_BYTES:
        raise HostReadError(place, f"unpacks to more than {_MAX_CONFIG_BYTES:,} bytes")
    if not unpacker.eof:
        raise HostReadError(place, "is a gzip file that ends too early")
    return text


def parse_config(text: str) -> dict[str, str]:
    """The options that are set.

    The text::

        CONFIG_NO_HZ=y
        CONFIG_LOCALVERSION="-rt"
        # CONFIG_PREEMPT is not set

    They are named without ``CONFIG_`` and written without the quotes.
    """
    options: dict[str, str] = {}
    for line in text.split("\n"):
        name, equals, value = line.partition("=")
        if equals and name.startswith("CONFIG_"):
            options[name.removeprefix("CONFIG_")] = value.strip().strip('"')
    return options
