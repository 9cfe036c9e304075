"""From a reference to an image whose files can be read."""

import functools
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, closing
from dataclasses import dataclass

from nodeworthy.errors import ImageNotFoundError, InspectionError, NodeworthyError, UsageError
from nodeworthy.platforms import Platform
from nodeworthy.requirements import Unexplored
from nodeworthy_resolver.inspection.layers import Layer, LayeredTree, read_layers
from nodeworthy_resolver.inspection.sources import configs
from nodeworthy_resolver.inspection.sources.opened import OpenedImage, ReadingOptions
from nodeworthy_resolver.inspection.sources.pipe import Pipe, Watch, run_thread
from nodeworthy_resolver.inspection.subject import ImageConfig
from nodeworthy_resolver.oci import artifact_kinds, children, concurrency, digests, manifests
from nodeworthy_resolver.oci.access import RegistryAccess
from nodeworthy_resolver.oci.archive import ArchivedLayer, DockerArchive, open_archive
from nodeworthy_resolver.oci.candidates import printable
from nodeworthy_resolver.oci.manifests import CONFIG_TYPES, MAX_CONFIG_BYTES, Descriptor, Manifest, digest_of
from nodeworthy_resolver.oci.reference import AnyReference, ArchiveReference, SifReference
from nodeworthy_resolver.oci.sif import read_sif
from nodeworthy_resolver.oci.store import Content, ContentStore, LocalStore, StreamingStore
from nodeworthy_resolver.oci.stores import open_store

_WINDOWS = "windows"
_ELSEWHERE = ("nondistributable", ".foreign.")
"""Parts of the media types of layers that registries do not hold (OCI image specification, layer.md, "Non-Distributable
Layers"; Docker's ``rootfs.foreign.diff``)."""
_ENCRYPTED = "+encrypted"
"""The end of media types of github.com/containers/ocicrypt."""
_TAR = ".tar"


@dataclass(frozen=True)
class _Chosen:
    content: Content
    manifest: Manifest
    claimed: Platform | None


@asynccontextmanager
async def open_image(
    reference: AnyReference,
    platform: Platform | None = None,
    access: RegistryAccess | None = None,
    reading: ReadingOptions | None = None,
) -> AsyncIterator[OpenedImage]:
    """An image's files, for the time of the context; ``platform`` chooses from an index, and may be left out for one image.

    Raises:
        NodeworthyError: there is no such image, or its files cannot be read.
    """
    reading = reading or ReadingOptions()
    if isinstance(reference, SifReference):
        with read_layers(()) as nothing:
            yield await _open_sif(reference, nothing)
    elif isinstance(reference, ArchiveReference):
        with open_archive(reference) as archive:
            async with open_stored(archive, reference, platform, reading) as opened:
                yield opened
    else:
        async with open_store(reference, access) as store, open_stored(store, reference, platform, reading) as opened:
            yield opened


@asynccontextmanager
async def open_stored(
    store: ContentStore,
    reference: AnyReference,
    platform: Platform | None = None,
    reading: ReadingOptions | None = None,
) -> AsyncIterator[OpenedImage]:
    """As :func:`open_image`, of a store that is open; its layers are read before the context begins.

    Raises:
        NodeworthyError: there is no such image, or its files cannot be read.
    """
    reading = reading or ReadingOptions()
    chosen = await _choose(store, reference, platform, reading.claimed)
    source = f"config {digests.short(chosen.manifest.config.digest)} of {store.name}"
    data = await _read_config(store, chosen.manifest, source)
    config = configs.parse_config(data, chosen.claimed, source)
    is_windows = config.platform is not None and config.platform.os == _WINDOWS
    if isinstance(store, DockerArchive):
        tree, missing = await _read_archived(store, chosen, configs.parse_diff_ids(data, source), reading, is_windows)
    else:
        tree, missing = await _read_descriptors(store, chosen.manifest.layers, reading, is_windows)
    with tree:
        yield OpenedImage(tree, config, chosen.content.digest, missing)


async def _open_sif(reference: SifReference, nothing: LayeredTree) -> OpenedImage:
    known = await read_sif(reference, None)
    image = known.images[0] if len(known.images) == 1 else None
    missing = Unexplored(f"the files in {reference.file}", "the file system of a SIF file (SquashFS) is not read")
    return OpenedImage(nothing, ImageConfig(platform=image.configured if image else None), known.digest, (missing,))


async def _choose(
    store: ContentStore, reference: AnyReference, platform: Platform | None, claimed: Platform | None
) -> _Chosen:
    root = await store.resolve(reference.target)
    document = manifests.parse_manifest(root.data, root.media_type, str(reference))
    if isinstance(document, Manifest):
        return _Chosen(root, document, claimed)
    listed, _ = await children.list_children(store, document, str(reference))
    if platform is not None:
        found, _ = await children.choose_children(store, listed, [platform])
    else:
        found = listed
    has = ", ".join(sorted({str(child.claimed) for child in listed if child.claimed})[:20]) or "none that it names"
    if platform is None and len(found) != 1:
        raise UsageError(
            f"{reference} has {len(found)} images, and it is not said which one",
            why=f"it has {has}",
            todo="name a platform",
        )
    if not found:
        raise ImageNotFoundError(f"{reference} has no image for {platform}", why=f"it has {has}")
    content = await store.read_manifest(digest_of(found[0].descriptor))
    return _Chosen(content, children.parse_image(store, content), found[0].claimed)


async def _read_config(store: ContentStore, manifest: Manifest, source: str) -> bytes:
    if manifest.config.media_type not in CONFIG_TYPES:
        kind = artifact_kinds.kind_of(manifest)
        said = kind.phrase if kind else f"something with a config of type {printable(manifest.config.media_type)}"
        raise InspectionError(f"{source} says nothing of files", why=f"it is {said}, and no image that is run")
    return await store.read_blob(manifest.config, MAX_CONFIG_BYTES)


async def _read_archived(
    store: DockerArchive, chosen: _Chosen, diff_ids: Sequence[digests.Digest], reading: ReadingOptions, is_windows: bool
) -> tuple[LayeredTree, tuple[Unexplored, ...]]:
    archived = store.layers(chosen.content.digest)
    if len(archived) != len(diff_ids):
        raise InspectionError(
            f"{store.name} cannot be read",
            why=f"it has {len(archived)} layers of the image, and its config names {len(diff_ids)}",
            todo="save it again",
        )
    watch = Watch(reading.progress, sum(layer.size for layer in archived))
    layers = [
        Layer(
            f"layer {printable(layer.name)} of {store.name}",
            functools.partial(_open_archived, store, layer, watch),
            diff_id,
            is_unpacked_digest=True,
        )
        for layer, diff_id in zip(archived, diff_ids, strict=True)
    ]
    return await _read_in_thread(layers, watch.stop, reading, is_windows), ()


async def _read_descriptors(
    store: ContentStore, descriptors: Sequence[Descriptor], reading: ReadingOptions, is_windows: bool
) -> tuple[LayeredTree, tuple[Unexplored, ...]]:
    present = [one for one in descriptors if not _is_elsewhere(one)]
    names = [f"layer {digests.short(one.digest)} of {store.name}" for one in present]
    for descriptor, name in zip(present, names, strict=True):
        _check_kind(descriptor, name)
    missing = tuple(_describe_missing(one, store, is_windows) for one in descriptors if _is_elsewhere(one))
    watch = Watch(reading.progress, sum(one.size for one in present))
    if isinstance(store, LocalStore):
        places = [functools.partial(_open_local, store, one, watch) for one in present]
        layers = [Layer(name, place, digest_of(one)) for name, place, one in zip(names, places, present, strict=True)]
        return await _read_in_thread(layers, watch.stop, reading, is_windows), missing
    if not isinstance(store, StreamingStore):
        raise InspectionError(f"{store.name} cannot be inspected", why="it gives no layers")
    pipe = Pipe(watch)
    layers = [Layer(name, pipe.opened, digest_of(one)) for name, one in zip(names, present, strict=True)]
    _, tree = await concurrency.run_pair(
        _feed(store, present, pipe), _read_in_thread(layers, pipe.stop, reading, is_windows)
    )
    return tree, missing


def _open_local(store: LocalStore, descriptor: Descriptor, watch: Watch) -> AbstractContextManager[Iterator[bytes]]:
    return closing(watch.watched(store.blob_pieces(descriptor)))


def _open_archived(store: DockerArchive, layer: ArchivedLayer, watch: Watch) -> AbstractContextManager[Iterator[bytes]]:
    return closing(watch.watched(store.layer_pieces(layer)))


async def _feed(store: StreamingStore, descriptors: Sequence[Descriptor], pipe: Pipe) -> None:
    """Give all layers to the thread, one after another; a failure too, so that it is raised where they are read."""
    for descriptor in descriptors:
        pipe.start()
        try:
            await store.stream_blob(descriptor, pipe)
        except NodeworthyError as error:
            pipe.fail(error)
            return
        pipe.end()


async def _read_in_thread(
    layers: Sequence[Layer], stop: Callable[[], None], reading: ReadingOptions, is_windows: bool
) -> LayeredTree:
    work = functools.partial(read_layers, layers, reading.bounds, folder=reading.folder, is_windows=is_windows)
    return await run_thread(work, stop, LayeredTree.close)


def _is_elsewhere(layer: Descriptor) -> bool:
    return any(part in layer.media_type for part in _ELSEWHERE)


def _check_kind(layer: Descriptor, name: str) -> None:
    """Refuse a layer that cannot be read: without it, nobody can say what the image holds."""
    if layer.media_type.endswith(_ENCRYPTED):
        raise InspectionError(f"{name} cannot be read", why="it is encrypted", todo="inspect the image before that")
    if _TAR not in layer.media_type:
        raise InspectionError(f"{name} cannot be read", why=f"it is of type {printable(layer.media_type)}, and no tar")


def _describe_missing(layer: Descriptor, store: ContentStore, is_windows: bool) -> Unexplored:
    what = f"layer {digests.short(layer.digest)} of {store.name}"
    if not is_windows:
        raise InspectionError(
            f"{what} cannot be read",
            why=f"it is not to be distributed ({printable(layer.media_type)}), so registries do not hold it",
            todo="inspect a root folder with the image's files instead",
        )
    return Unexplored(what, "a base layer of Windows that registries do not hold")
