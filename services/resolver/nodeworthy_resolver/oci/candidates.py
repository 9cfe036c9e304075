"""Which entries of a list of referrers may be compatibility artifacts, and which of those that are is the newest; pure.

Lists of referrers are written by clients and registries of every age: the type may be missing, or be the config's; the
dates in them are copies. So entries are only sorted out here where they surely are something else; what remains is
opened, and the choice is made by what the opened manifests say.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Self

from nodeworthy_resolver.oci import digests, manifests
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.manifests import Descriptor, Manifest

CREATED = "org.opencontainers.image.created"
"""The annotation that says when (annotations.md); NFD's client chooses by it."""

MAX_OPENED = 64
"""Entries that are opened for one subject: far above what one image has, and a bound on what a hostile list can cost."""

MAX_TYPES = 20
"""Other types that are named; what is left of a longer list is counted."""
_MAX_CREATED = 100
"""Characters; a date has about 30."""

_CONFIG_TYPES = {"application/vnd.unknown.config.v1+json", manifests.EMPTY, *manifests.CONFIG_TYPES}
"""What stands as artifactType in lists whose writer took the config's type for it (cosign, go-containerregistry)."""

_RFC3339 = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))", re.ASCII
)

Moment = tuple[datetime, str]
"""A date and the digits of its fraction of a second, which may be more than a datetime holds."""

_NEVER: Moment = (datetime.min.replace(tzinfo=UTC), "")


@dataclass(frozen=True)
class Opened:
    """A manifest that proved to be of the wanted type and to refer to the subject."""

    digest: Digest
    created: str = ""
    """When its maker says that it was made; empty when missing."""
    layer: Descriptor | None = None
    """The first."""
    layers: int = 0

    @classmethod
    def of(cls, digest: Digest, manifest: Manifest) -> Self:
        """What is needed of the manifest: many are open at once, and strangers may have made them large."""
        created = manifest.annotations.get(CREATED, "")[:_MAX_CREATED]
        return cls(digest, created, manifest.layers[0] if manifest.layers else None, len(manifest.layers))


def is_candidate(entry: Descriptor, artifact_type: str) -> bool:
    """Whether an entry is, or may be, of the wanted type: it says so, or says nothing that could be believed."""
    listed = entry.artifact_type or ""
    return listed in {"", artifact_type} or listed in _CONFIG_TYPES


def select(entries: Iterable[Descriptor], artifact_type: str) -> tuple[tuple[Descriptor, ...], tuple[str, ...]]:
    """The entries to open, each digest once and the newest by their own word first, and notices of what is passed over."""
    unique = {entry.digest: entry for entry in entries}
    wanted = [entry for entry in unique.values() if is_candidate(entry, artifact_type)]
    others = Counter(entry.artifact_type for entry in unique.values() if not is_candidate(entry, artifact_type))
    named = sorted(others.items(), key=str)
    notices = [f"{count} of type {printable(name or '')} passed over" for name, count in named[:MAX_TYPES]]
    if unnamed := sum(count for _, count in named[MAX_TYPES:]):
        notices.append(f"{unnamed} of more types passed over")
    # What says its type comes before what says nothing: a bound on opened entries must not hide it.
    wanted.sort(key=lambda entry: (entry.artifact_type == artifact_type, _claimed_moment(entry)), reverse=True)
    if len(wanted) > MAX_OPENED:
        notices.append(
            f"{len(wanted)} entries may be artifacts; only the {MAX_OPENED} newest by their dates were opened"
        )
    return tuple(wanted[:MAX_OPENED]), tuple(notices)


def printable(text: str) -> str:
    """A stranger's text as a message may hold it: cut, and escaped where a terminal would obey it."""
    text = text[:100]
    return text if text.isprintable() else repr(text)


def _claimed_moment(entry: Descriptor) -> Moment:
    return parse_moment((entry.annotations or {}).get(CREATED, "")) or _NEVER


def parse_moment(text: str) -> Moment | None:
    """The moment of an RFC 3339 date, ``2026-05-01T12:00:00.123456789+02:00``; ``None`` if the text is none."""
    found = _RFC3339.fullmatch(text)
    if found is None:
        return None
    offset = timedelta(hours=int(found[9] or 0), minutes=int(found[10] or 0))
    try:
        zone = timezone(-offset if found[8] == "-" else offset)
        moment = datetime(*(int(part) for part in found.groups()[:6]), tzinfo=zone).astimezone(UTC)  # type: ignore[arg-type,misc] # six numbers by the expression; the seventh is the zone
    except (ValueError, OverflowError):
        return None
    return moment, (found[7] or "").rstrip("0")


def newest(opened: Sequence[Opened]) -> tuple[Opened, tuple[str, ...]]:
    """The newest of at least one artifact, and notices of missing dates and of ties.

    A missing or malformed date counts as the oldest, as in NFD's client; of equal dates the greatest digest wins, so
    that every reader takes the same one.
    """
    notices = [_describe_date(one) for one in opened if parse_moment(one.created) is None and len(opened) > 1]
    ranked = sorted(opened, key=lambda one: (parse_moment(one.created) or _NEVER, one.digest), reverse=True)
    best = ranked[0]
    moment = parse_moment(best.created)
    ties = [one for one in ranked[1:] if parse_moment(one.created) == moment]
    if ties:
        others = ", ".join(digests.short(one.digest) for one in ties)
        notices.append(f"{digests.short(best.digest)} and {others} have the same date; the greatest digest was taken")
    return best, tuple(notices)


def _describe_date(one: Opened) -> str:
    problem = f"the date {one.created[:40]!r}, which is malformed" if one.created else "no date"
    return f"{digests.short(one.digest)} has {problem}; it counts as the oldest"
