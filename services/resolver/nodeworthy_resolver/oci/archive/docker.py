"""What ``docker save`` wrote before it added an OCI layout, and what kaniko, Bazel and ``crane`` still write.

``manifest.json`` lists the images: ``[{"Config": "<hex>.json", "RepoTags": ["app:1"], "Layers": [...]}]`` (moby, image
specification 1.2, "Combined Image JSON + Filesystem Changeset Format"). There is no manifest in a registry's sense and
no place for attached artifacts.
"""

import json
import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from nodeworthy.errors import ImageNotFoundError, RegistryContentError
from nodeworthy_resolver.oci import digests, manifests
from nodeworthy_resolver.oci.archive.members import Members
from nodeworthy_resolver.oci.digests import Digest
from nodeworthy_resolver.oci.manifests import (
    DOCKER_CONFIG,
    DOCKER_MANIFEST,
    MAX_CONFIG_BYTES,
    MAX_MANIFEST_BYTES,
    Descriptor,
    digest_of,
)
from nodeworthy_resolver.oci.reference import is_same_image
from nodeworthy_resolver.oci.store import Content, Listing

LISTING = "manifest.json"

_CONFIG_NAME = re.compile(r"(?:sha256:|blobs/sha256/)?([0-9a-f]{64})(?:\.json|/json)?")
"""Names that say the config's digest, which is then held against it."""


class _Image(msgspec.Struct):
    config: str = msgspec.field(name="Config")
    tags: list[str] | None = msgspec.field(name="RepoTags", default=None)
    layers: list[str] | None = msgspec.field(name="Layers", default=None)


class ArchivedLayer(NamedTuple):
    """A layer of an image in an archive."""

    name: str
    """The member's."""
    size: int


class DockerArchive:
    """The images of one archive; a content store.

    The manifest that it gives is made here, of the config alone, so that an image reads like any other; its layers are not
    listed, since nothing says how a registry would hold them.
    """

    def __init__(self, members: Members) -> None:
        self._members = members

    @property
    def name(self) -> str:
        """The archive, as a reference names it."""
        return f"docker-archive:{self._members.path}"

    async def resolve(self, target: str) -> Content:
        """The image with a name or with an id, or, in an archive with one image, the one."""
        return self._content(self._choose(self._images(), target))

    async def read_manifest(self, digest: Digest) -> Content:
        """The manifest made for one of the images."""
        made = (self._content(image) for image in self._images())
        found = next((content for content in made if content.digest == digest), None)
        if found is None:
            raise ImageNotFoundError(f"{digest} is not in {self._members.path}", why="no image of it has that digest")
        return found

    async def read_blob(self, descriptor: Descriptor, limit: int) -> bytes:
        """The config of one of the images; layers have no digest here."""
        for image in self._images():
            data = self._read_config(image)
            if digests.is_of(digest_of(descriptor), data):
                if len(data) > limit:
                    raise RegistryContentError(f"{image.config} is too large", why=f"more than {limit} bytes")
                return data
        raise ImageNotFoundError(f"{descriptor.digest} is not in {self._members.path}", why="it is no image's config")

    def layers(self, digest: Digest) -> tuple[ArchivedLayer, ...]:
        """The layers of one of the images, lowest first; what they should be, the config alone says (``diff_ids``).

        Raises:
            RegistryContentError: one is missing or is no file.
        """
        image = next((image for image in self._images() if self._content(image).digest == digest), None)
        return tuple(self._find_layer(name) for name in (image.layers or () if image else ()))

    def layer_pieces(self, layer: ArchivedLayer) -> Iterator[bytes]:
        """A layer, piece by piece, not verified."""
        return self._members.pieces(layer.name)

    def _find_layer(self, name: str) -> ArchivedLayer:
        """Docker until version 24 wrote a layer of two images once, and a link to it, ``../<id>/layer.tar``."""
        target = self._members.target(name)
        name = posixpath.normpath(posixpath.join(posixpath.dirname(name), target)) if target else name
        try:
            return ArchivedLayer(name, self._members.size(name))
        except FileNotFoundError as error:
            what = self._members.describe(name[:200])
            raise RegistryContentError(f"{what} is missing", why=f"{LISTING} names it", todo="save it again") from error

    async def list_referrers(self, subject: Digest, artifact_type: str) -> Listing:  # noqa: ARG002 # there are none
        """Nothing: such an archive has no place for it."""
        notice = f"{self.name} holds no manifest: the digest is that of one made here, and not the one in a registry"
        return Listing((), "an archive of docker save keeps no attached artifacts", (notice,))

    def _images(self) -> list[_Image]:
        what = self._members.describe(LISTING)
        try:
            images = msgspec.json.decode(self._members.read(LISTING, MAX_MANIFEST_BYTES), type=list[_Image])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RegistryContentError(
                f"{what} cannot be read", why=f"its JSON is not what it should be: {error}"
            ) from error
        if len(images) > manifests.MAX_ENTRIES:
            raise RegistryContentError(f"{what} is too large", why=f"it lists more than {manifests.MAX_ENTRIES} images")
        return images

    def _choose(self, images: list[_Image], target: str) -> _Image:
        """The image that is meant; in an archive with several, ``latest`` as in a layout."""
        called = [image for image in images if self._is_called(image, target)] if target else images
        found = _distinct(called)
        if not target and len(found) > 1:
            found = _distinct(image for image in images if _is_latest(image)) or found
        if len(found) == 1:
            return found[0]
        tags = [tag for image in images for tag in image.tags or ()]
        raise ImageNotFoundError(
            f"{self._members.path} has no image {target!r}"
            if target
            else f"{self._members.path} holds {len(found)} images, and it is not said which one",
            why=f"it has the tags {', '.join(tags[:20])}" if tags else "none of its images has a tag",
            todo=f"{self.name}:NAME",
        )

    def _is_called(self, image: _Image, target: str) -> bool:
        """Whether an image has this name, or, for a digest, this id, which is its config's digest."""
        if digests.parse_digest(target) is not None:
            return digests.compute(self._read_config(image)) == target
        return any(tag == target or is_same_image(target, tag) for tag in image.tags or ())

    def _read_config(self, image: _Image) -> bytes:
        what = self._members.describe(image.config[:200])
        try:
            data = self._members.read(image.config, MAX_CONFIG_BYTES)
        except FileNotFoundError as error:
            raise RegistryContentError(f"{what} is missing", why=f"{LISTING} names it", todo="save it again") from error
        if named := _CONFIG_NAME.fullmatch(image.config):
            manifests.verify(data, Digest(f"sha256:{named[1]}"), what)
        return data

    def _content(self, image: _Image) -> Content:
        config = self._read_config(image)
        described = {"mediaType": DOCKER_CONFIG, "digest": digests.compute(config), "size": len(config)}
        made = {"schemaVersion": 2, "mediaType": DOCKER_MANIFEST, "config": described, "layers": []}
        data = json.dumps(made, separators=(",", ":")).encode()
        return Content(data, DOCKER_MANIFEST, digests.compute(data))


def _distinct(images: Iterable[_Image]) -> list[_Image]:
    return list({image.config: image for image in images}.values())


def _is_latest(image: _Image) -> bool:
    return any(tag.endswith(":latest") for tag in image.tags or ())
