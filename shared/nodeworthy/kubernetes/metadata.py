"""The part that all objects have alike, as far as it is read.

``PartialObjectMetadata`` (``meta.k8s.io/v1``) is an object without spec and status; lists and watches of Nodes ask for no
more (Kubernetes API concepts, "Metadata-only fetches"). Maps may be ``null``: Go writes an empty one so.
"""

from collections.abc import Mapping

import msgspec


class ManagedField(msgspec.Struct, frozen=True, rename="camel"):
    """Which fields of an object one manager owns, by one way of writing (server-side apply)."""

    manager: str = ""
    operation: str = ""
    """``Apply`` or ``Update``."""
    subresource: str = ""
    api_version: str = ""
    fields: msgspec.Raw = msgspec.field(name="fieldsV1", default_factory=lambda: msgspec.Raw(b"{}"))
    """JSON of the owned fields: ``{"f:metadata": {"f:labels": {"f:KEY": {}}}}``."""


class ObjectMeta(msgspec.Struct, frozen=True, rename="camel"):
    """An object's metadata."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: Mapping[str, str] | None = None
    annotations: Mapping[str, str] | None = None
    managed_fields: tuple[ManagedField, ...] | None = None


class PartialObject(msgspec.Struct, frozen=True):
    """An object of which nothing but the metadata is read."""

    metadata: ObjectMeta


class Identity(msgspec.Struct, frozen=True, rename="camel"):
    """What tells one state of one object from every other."""

    name: str
    uid: str
    resource_version: str
    namespace: str = ""

    @property
    def key(self) -> str:
        """``namespace/name``, or the name alone; two objects of one kind never have the same at one time."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class _Identified(msgspec.Struct, frozen=True):
    metadata: Identity


_IDENTITY = msgspec.json.Decoder(_Identified)


def read_identity(data: bytes | msgspec.Raw) -> Identity:
    """The identity of an object in JSON.

    Raises:
        msgspec.DecodeError: it has none.
    """
    return _IDENTITY.decode(data).metadata


def is_older(version: str, than: str) -> bool:
    """Whether a resourceVersion is an earlier one of the same object; ``False`` where that cannot be told.

    They are numbers that grow (KEP-5504, "Comparable Resource Version"); API servers of other makers may use other texts.
    """
    are_numbers = version.isascii() and version.isdigit() and than.isascii() and than.isdigit()
    return are_numbers and (len(version), version) < (len(than), than)
