"""The config of an image: what running it executes, and what its layers unpack to (OCI image specification, config.md)."""

import msgspec

from nodeworthy.errors import InspectionError
from nodeworthy.platforms import Platform
from nodeworthy_resolver.inspection.subject import ImageConfig
from nodeworthy_resolver.inspection.tree import canonical
from nodeworthy_resolver.oci import digests, manifests
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.resolution import configured_platform


class _Section(msgspec.Struct):
    entrypoint: list[str] | str | None = msgspec.field(name="Entrypoint", default=None)
    command: list[str] | str | None = msgspec.field(name="Cmd", default=None)
    working_folder: str | None = msgspec.field(name="WorkingDir", default=None)
    labels: dict[str, str | None] | None = msgspec.field(name="Labels", default=None)


class _RootFs(msgspec.Struct):
    diff_ids: list[str] | None = None


class _Document(msgspec.Struct):
    config: _Section | None = None
    rootfs: _RootFs | None = None


def parse_config(data: bytes, claimed: Platform | None, source: str) -> ImageConfig:
    """What a config says of running the image; ``claimed``, what an index says of its platform, fills in what is missing.

    Raises:
        NodeworthyError: it is no config.
    """
    known = manifests.parse_config(data, source)
    section = _decode(data, source).config or _Section()
    return ImageConfig(
        entrypoint=_arguments(section.entrypoint),
        command=_arguments(section.command),
        environment=dict(entry.split("=", 1) for entry in known.environment if "=" in entry),
        working_folder=canonical(section.working_folder or "/"),
        labels={name: value or "" for name, value in (section.labels or {}).items()},
        platform=configured_platform(known, claimed) or claimed,
    )


def parse_diff_ids(data: bytes, source: str) -> tuple[Digest, ...]:
    """The digests of the unpacked layers, lowest first.

    Raises:
        InspectionError: they are not there, or are none.
    """
    said = (_decode(data, source).rootfs or _RootFs()).diff_ids or []
    found = tuple(digest for text in said if (digest := digests.parse_digest(text)) is not None)
    if len(found) < len(said):
        raise InspectionError(f"{source} cannot be read", why="a digest of its layers (rootfs.diff_ids) is none")
    return found


def _arguments(said: list[str] | str | None) -> tuple[str, ...]:
    """Some old builders write a text, which engines take as a list of one (moby, api/types/strslice)."""
    return (said,) if isinstance(said, str) else tuple(said or ())


def _decode(data: bytes, source: str) -> _Document:
    try:
        return msgspec.json.decode(data, type=_Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InspectionError(
            f"{source} cannot be read", why=f"its JSON is not what it should be: {error}", todo="push the image again"
        ) from error
