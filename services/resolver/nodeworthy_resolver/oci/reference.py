"""Names of images: ``[HOST[:PORT]/]NAME[:TAG][@DIGEST]`` in a registry, and on disk.

There: ``oci:FOLDER[:TAG|@DIGEST]``, a layout folder; ``oci-archive:FILE[:NAME]`` and ``docker-archive:FILE[:NAME]``,
archives; ``FILE.sif``, a Singularity file. The short forms are Docker's, since that is what people type: ``nginx`` is
``docker.io/library/nginx:latest``. What Docker takes and surely nobody means (an upper-case "host" without a dot, the id
of a local image) is refused with the reason. The grammar is the one of the distribution project's reference package, the
tag's and the name's limits are the distribution specification's.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from nodeworthy.errors import InvalidReferenceError
from nodeworthy_resolver.oci.digests import Digest, parse_digest

DOCKER_HUB = "docker.io"
_DOCKER_HUB_NAMES = {"docker.io", "index.docker.io", "registry-1.docker.io"}
_DOCKER_HUB_API = "registry-1.docker.io"
_DOCKER_HUB_CREDENTIALS = "https://index.docker.io/v1/"
"""Images say ``docker.io``, the API has another host, and ``docker login`` files the password under a third name."""

_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_NAME_PART = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*")
_HOST_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_IMAGE_ID = re.compile(r"[0-9a-f]{64}")
_ARCHIVE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+-]{0,511}")
"""Of an image in an archive: what a name and a tag may hold."""
_SIF_ENDING = ".sif"
_SCHEME = re.compile(r"[a-z][a-z0-9+-]*://", re.IGNORECASE)

_MAX_NAME = 255
"""Repository names: the distribution specification's advice, and the limit that registries have."""
_MAX_HOST = 253
"""Host names: RFC 1035."""
_MAX_PORT = 65535


@dataclass(frozen=True)
class Reference:
    """An image in a registry, by tag, by digest or both; the digest wins."""

    host: str
    repository: str
    tag: str = ""
    digest: Digest | None = None

    @property
    def target(self) -> str:
        """What the registry is asked for."""
        return self.digest or self.tag

    @property
    def api_host(self) -> str:
        """The host, with its port, that serves the API."""
        return api_host(self.host)

    @property
    def credentials_key(self) -> str:
        """The name under which ``docker login`` keeps the credentials."""
        return credentials_key(self.host)

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.host}/{self.repository}{tag}{digest}"


@dataclass(frozen=True)
class LayoutReference:
    """An image in a folder with the OCI image layout; without tag and digest the one image that it holds."""

    folder: Path
    tag: str = ""
    digest: Digest | None = None

    @property
    def target(self) -> str:
        """What the folder's index is asked for; empty: its one image, or the one tagged ``latest``."""
        return self.digest or self.tag

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"oci:{self.folder}{tag}{digest}"


class ArchiveKind(StrEnum):
    """How an archive keeps images; the words are those of skopeo and podman (containers-transports(5))."""

    OCI = "oci-archive"
    DOCKER = "docker-archive"


@dataclass(frozen=True)
class ArchiveReference:
    """An image in an archive file; without name and digest the one image that it holds."""

    kind: ArchiveKind
    file: Path
    image: str = ""
    """A tag, or a whole name, as the archive has them."""
    digest: Digest | None = None

    @property
    def target(self) -> str:
        """What the archive is asked for; empty: its one image, or the one tagged ``latest``."""
        return self.digest or self.image

    def __str__(self) -> str:
        image = f":{self.image}" if self.image else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.kind.value}:{self.file}{image}{digest}"


@dataclass(frozen=True)
class SifReference:
    """A Singularity or Apptainer image file."""

    file: Path
    target: str = ""
    """Always empty: a file holds one image."""

    def __str__(self) -> str:
        return f"sif:{self.file}"


AnyReference = Reference | LayoutReference | ArchiveReference | SifReference
"""An image, wherever it lies."""


def api_host(host: str) -> str:
    """The host that serves the API of what images call ``host``."""
    return _DOCKER_HUB_API if host in _DOCKER_HUB_NAMES else host


def credentials_key(host: str) -> str:
    """The name under which ``docker login HOST`` keeps the credentials."""
    return _DOCKER_HUB_CREDENTIALS if host in _DOCKER_HUB_NAMES else host


def parse_reference(text: str) -> AnyReference:
    """The image that a text names.

    ::

        nginx                                docker.io/library/nginx:latest
        localhost/a                          host localhost, repository a
        host:5000/a/b:1.2@sha256:0123...     by digest
        oci:build/image:v1                   tag v1 in the layout folder build/image
        docker-archive:app.tar:app:1         app:1 in a file that docker save wrote
        app.sif, sif:app                     a Singularity file; in a registry app.sif needs its tag

    Raises:
        InvalidReferenceError: it names none; the error says which part is wrong.
    """
    scheme, colon, rest = text.partition(":")
    if colon and scheme in _ON_DISK and not rest.startswith("//"):
        return _ON_DISK[scheme](text)
    if text.endswith(_SIF_ENDING) and ":" not in text.rpartition("/")[2]:
        return _parse_sif(text)
    if found := _SCHEME.match(text):
        raise InvalidReferenceError(
            text, f"it begins with {found[0]}", todo=f"leave that out: {text[found.end() :] or 'HOST/NAME:TAG'}"
        )
    if _IMAGE_ID.fullmatch(text):
        raise InvalidReferenceError(text, "that is the id of an image in a local engine", todo="give its name")
    named, at, end = text.partition("@")
    digest = _parse_digest(text, end) if at else None
    name, tag = _split_tag(text, named)
    host, repository = _split_host(name)
    _check_host(text, host)
    _check_repository(text, repository)
    return Reference(host, repository, tag if tag or digest else "latest", digest)


def is_same_image(one: str, other: str) -> bool:
    """Whether two texts are whole names of one image: ``app:1`` and ``docker.io/library/app:1``; a bare tag is none."""
    if not (one and other) or not ({":", "/"} & set(one)):
        return False
    try:
        first, second = parse_reference(one), parse_reference(other)
    except InvalidReferenceError:
        return False
    return isinstance(first, Reference) and first == second


def _parse_layout(text: str) -> LayoutReference:
    name, digest = _split_digest(text)
    folder, tag = _split_tag(text, name)
    if not folder or "\0" in folder:
        raise InvalidReferenceError(text, "it names no folder", todo="oci:FOLDER[:TAG]")
    return LayoutReference(Path(folder), tag, digest)


def _split_digest(text: str) -> tuple[str, Digest | None]:
    """What follows the scheme, and the digest at its end. File names may hold "@"; only what begins like a digest is one."""
    rest = text.partition(":")[2]
    name, at, end = rest.rpartition("@")
    if not at or not end.startswith(("sha256:", "sha512:")):
        return rest, None
    return name, _parse_digest(text, end)


def _parse_archive(text: str) -> ArchiveReference:
    """The file ends at the first colon, as in skopeo, since a name may hold colons and slashes."""
    kind = ArchiveKind(text.partition(":")[0])
    rest, digest = _split_digest(text)
    file, colon, image = rest.partition(":")
    if not file or "\0" in file:
        raise InvalidReferenceError(text, "it names no file", todo=f"{kind.value}:FILE[:NAME]")
    if colon and not _ARCHIVE_NAME.fullmatch(image):
        raise InvalidReferenceError(text, f"{image!r} is no image's name", todo=f"{kind.value}:FILE[:NAME]")
    return ArchiveReference(kind, Path(file), image, digest)


def _parse_sif(text: str) -> SifReference:
    file = text.removeprefix("sif:")
    if not file or "\0" in file:
        raise InvalidReferenceError(text, "it names no file", todo="sif:FILE")
    return SifReference(Path(file))


_ON_DISK: dict[str, Callable[[str], AnyReference]] = {
    "oci": _parse_layout,
    "oci-archive": _parse_archive,
    "docker-archive": _parse_archive,
    "sif": _parse_sif,
}
"""Schemes of images that need no registry."""


def _split_tag(text: str, name: str) -> tuple[str, str]:
    """A colon before the last slash belongs to a port or to a folder's name."""
    before, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        return name, ""
    if not _TAG.fullmatch(tag):
        raise InvalidReferenceError(
            text, f"the tag {tag!r} is not 1 to 128 of A-Z a-z 0-9 _ . - (the first not . or -)"
        )
    return before, tag


def _parse_digest(text: str, end: str) -> Digest:
    digest = parse_digest(end)
    if digest is None:
        raise InvalidReferenceError(
            text, f"the digest {end!r} is neither sha256: and 64 nor sha512: and 128 lower-case hexadecimal digits"
        )
    return digest


def _split_host(name: str) -> tuple[str, str]:
    """Docker's rule: the first part is a host if it has a dot or a colon, or is ``localhost``."""
    first, slash, rest = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        host, repository = first, rest
    else:
        host, repository = DOCKER_HUB, name
    if host in {DOCKER_HUB, "index.docker.io"}:
        return DOCKER_HUB, repository if "/" in repository else f"library/{repository}"
    return host, repository


def _check_host(text: str, host: str) -> None:
    if host.startswith("[") and "]" not in host:
        raise InvalidReferenceError(text, f"{host!r} is not an IPv6 address in brackets")
    name, port = _split_port(host)
    if port is not None and not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) <= _MAX_PORT):  # noqa: PLR2004 # digits of _MAX_PORT
        raise InvalidReferenceError(text, f"the port {port!r} is not a number from 1 to {_MAX_PORT}")
    if name.startswith("["):
        _check_ipv6(text, name)
    elif len(name) > _MAX_HOST or not all(_HOST_LABEL.fullmatch(label) for label in name.split(".")):
        raise InvalidReferenceError(text, f"{name!r} is not a host name")


def _split_port(host: str) -> tuple[str, str | None]:
    if host.startswith("["):
        name, bracket, port = host.rpartition("]")
        return name + bracket, port[1:] if port.startswith(":") else (port or None)
    name, colon, port = host.partition(":")
    return name, port if colon else None


def _check_ipv6(text: str, name: str) -> None:
    import ipaddress

    why = f"{name!r} is not an IPv6 address in brackets"
    if not name.endswith("]") or "%" in name:  # the name of an interface means something on one machine only
        raise InvalidReferenceError(text, why)
    try:
        ipaddress.IPv6Address(name[1:-1])
    except ValueError as error:
        raise InvalidReferenceError(text, why) from error


def _check_repository(text: str, repository: str) -> None:
    if not repository or repository == "library/":
        raise InvalidReferenceError(text, "it names no repository", todo="HOST/NAME:TAG")
    if len(repository) > _MAX_NAME:
        raise InvalidReferenceError(text, f"the repository's name has more than {_MAX_NAME} characters")
    for part in repository.split("/"):
        if not _NAME_PART.fullmatch(part):
            raise InvalidReferenceError(text, _explain_part(part))


def _explain_part(part: str) -> str:
    if not part:
        return "a part of the name between slashes is empty"
    if part.lower() != part and _NAME_PART.fullmatch(part.lower()):
        return f"{part!r} has upper-case letters, and repository names are lower case"
    return f"{part!r} is not lower-case letters and digits, with single separators (. _ __ -) between them"
