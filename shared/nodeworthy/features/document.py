"""The features document: what ``nodeworthy features -o json`` writes and ``--on FILE`` reads.

It has NFD's shape (``nfd export features``, the ``spec.features`` of a NodeFeature), so that NFD's rule tools read it, and
beside NFD's three maps what NFD cannot say::

    {"flags":      {"cpu.cpuid": {"elements": {"AVX2": {}}}},
     "attributes": {"kernel.version": {"elements": {"major": "6"}}},
     "instances":  {"pci.device": {"elements": [{"attributes": {"vendor": "10de"}}]}},
     "sets":       {"cpu.cpuid": {"state": "present", "digest": "sha256:…", "unobserved": ["TSXLDTRK"]},
                    "cpu.rdt": {"state": "unknown", "reason": "…"}},
     "catalogue":  ["cpu.cpuid", "cpu.rdt", "kernel.version", "pci.device"],
     "sources":    {"pci": {"faults": ["0000:00:1f.3: vendor: No such file or directory"]}}}

A document without ``sets`` and ``catalogue`` (NFD's own export) says nothing of the sets that it does not hold: they are
unknown. Source of the shape: NFD, api/nfd/v1alpha1, type Features.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from nodeworthy.errors import FeatureDocumentError
from nodeworthy.features.model import FeatureSet, Instance, clean_text
from nodeworthy.features.snapshot import SetState, SetStatus, Snapshot, SourceHealth

MAX_DOCUMENT_BYTES = 16 * 1024 * 1024
"""A machine with 4,000 PCI functions needs about 1 MB."""


class _Flags(msgspec.Struct):
    elements: dict[str, dict[str, Any] | None] | None = None


class _Attributes(msgspec.Struct):
    elements: dict[str, str] | None = None


class _Instance(msgspec.Struct):
    attributes: dict[str, str] | None = None


class _Instances(msgspec.Struct):
    elements: list[_Instance] | None = None


class _Document(msgspec.Struct, omit_defaults=True):
    flags: dict[str, _Flags] | None = None
    attributes: dict[str, _Attributes] | None = None
    instances: dict[str, _Instances] | None = None
    sets: dict[str, SetStatus] | None = None
    catalogue: list[str] | None = None
    sources: dict[str, SourceHealth] | None = None


def read_document(data: bytes | str, source: str) -> Snapshot:
    """The snapshot that a features document holds; ``source`` names it in errors.

    Raises:
        FeatureDocumentError: the text is not JSON, or has another shape.
    """
    if len(data) > MAX_DOCUMENT_BYTES:
        raise FeatureDocumentError(
            f"{source} is too large for a features file", why=f"the limit is {MAX_DOCUMENT_BYTES:,} bytes"
        )
    try:
        document = msgspec.json.decode(data, type=_Document)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise FeatureDocumentError(
            f"{source} is not a features file", why=str(error), todo="write one with: nodeworthy features -o json"
        ) from error
    if document.flags is None and document.attributes is None and document.instances is None:
        raise FeatureDocumentError(
            f"{source} is not a features file",
            why="it has none of the maps flags, attributes and instances",
            todo="write one with: nodeworthy features -o json",
        )
    try:
        contents = _contents(document)
    except ValueError as error:
        raise FeatureDocumentError(f"{source} contradicts itself", why=str(error)) from error
    for name in contents:
        status = (document.sets or {}).get(name)
        if status is not None and status.state is not SetState.PRESENT:
            raise FeatureDocumentError(
                f"{source} contradicts itself",
                why=f"set {name} is said to be {status.state}, and its content is there",
                todo="write the file again, or take one of them out",
            )
    statuses = {name: status for name, status in (document.sets or {}).items() if name not in contents}
    for name, status in statuses.items():
        if status.state is SetState.PRESENT or status.unobserved:
            claim = "have unobserved elements" if status.unobserved else "be present"
            raise FeatureDocumentError(
                f"{source} contradicts itself", why=f"set {name} is said to {claim} and its content is not there"
            )
    catalogue = None if document.catalogue is None else frozenset(document.catalogue)
    return Snapshot(contents, statuses, catalogue, document.sources or {})


def write_document(snapshot: Snapshot) -> dict[str, Any]:
    """The document of a snapshot, ready for JSON or YAML; everything is sorted by name, instances keep their order."""
    document = write_maps(snapshot.contents)
    document["sets"] = {name: msgspec.to_builtins(snapshot.status(name)) for name in snapshot.names()}
    if snapshot.catalogue is not None:
        document["catalogue"] = sorted(snapshot.catalogue)
    document["sources"] = {name: msgspec.to_builtins(health) for name, health in sorted(snapshot.sources.items())}
    return document


def write_maps(contents: Mapping[str, FeatureSet]) -> dict[str, Any]:
    """NFD's three maps; all of them are there, as NFD's worker writes them."""
    document: dict[str, Any] = {"flags": {}, "attributes": {}, "instances": {}}
    for name, content in sorted(contents.items()):
        if content.flags is not None:
            document["flags"][name] = {"elements": {clean_text(flag): {} for flag in sorted(content.flags)}}
        if content.attributes is not None:
            document["attributes"][name] = {"elements": _clean(content.attributes)}
        if content.instances is not None:
            elements = [{"attributes": _clean(instance)} for instance in content.instances]
            document["instances"][name] = {"elements": elements}
    return document


def _contents(document: _Document) -> dict[str, FeatureSet]:
    names = {*(document.flags or {}), *(document.attributes or {}), *(document.instances or {})}
    return {name: _content(document, name) for name in names}


def _content(document: _Document, name: str) -> FeatureSet:
    attributes = (document.attributes or {}).get(name)
    status = (document.sets or {}).get(name)
    try:
        return FeatureSet(
            flags=_flags((document.flags or {}).get(name)),
            attributes=None if attributes is None else attributes.elements,
            instances=_instances((document.instances or {}).get(name)),
            unobserved=frozenset() if status is None else frozenset(status.unobserved),
        )
    except ValueError as error:
        raise ValueError(f"set {name}: {error}") from error


def _flags(found: _Flags | None) -> frozenset[str] | None:
    return None if found is None or found.elements is None else frozenset(found.elements)


def _instances(found: _Instances | None) -> tuple[dict[str, str], ...] | None:
    # NFD's Go types make a null list an empty one.
    return None if found is None else tuple(instance.attributes or {} for instance in found.elements or ())


def _clean(attributes: Instance) -> dict[str, str]:
    return dict(sorted((clean_text(name), clean_text(value)) for name, value in attributes.items()))
