"""Declarations that were read and specifications that were compiled, kept for the next question about the same image."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from nodeworthy import verdicts
from nodeworthy.errors import ArtifactError, DocumentError
from nodeworthy.fleet.specifications import Specification, make_specification
from nodeworthy.images import Artifact
from nodeworthy.requirements import Inspection
from nodeworthy.rules import CompatibilitySet
from nodeworthy.verdicts import Declaration

_MAX_KEPT = 256
"""Images asked about again and again at one time; one specification of ten rules takes about 100 kB."""


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class _Compiled(NamedTuple):
    source: Declaration | Inspection
    """Kept so that its ``id`` means nothing else."""
    specification: Specification


class Declarations:
    """Reads each artifact once and compiles it once for each choice of tags; the longest unused are forgotten."""

    def __init__(self, limit: int = _MAX_KEPT) -> None:
        self._limit = limit
        self._read: OrderedDict[Artifact, Declaration | DocumentError | ArtifactError] = OrderedDict()
        self._compiled: OrderedDict[Hashable, _Compiled] = OrderedDict()

    def read(self, artifact: Artifact) -> Declaration:
        """As :func:`nodeworthy.verdicts.declaration_of_artifact`; what could not be read once cannot be read.

        Raises:
            DocumentError: the document cannot be read.
            ArtifactError: the artifact cannot be used.
        """
        found = self._read.get(artifact)
        if found is None:
            try:
                found = verdicts.declaration_of_artifact(artifact)
            except (DocumentError, ArtifactError) as error:
                found = error.with_traceback(None)
            self._read[artifact] = found
            _forget_oldest(self._read, self._limit)
        self._read.move_to_end(artifact)
        if isinstance(found, Exception):
            raise found.with_traceback(None)
        return found

    def specification(self, declaration: Declaration, tags: tuple[str, ...]) -> Specification:
        """The sets that count under these tags, compiled.

        Raises:
            UsageError: no compatibility set is left.
        """
        key = (id(declaration), tags)
        return self._compile(key, declaration, lambda: verdicts.select_sets(declaration.spec, tags))

    def requirements(self, inspection: Inspection) -> Specification:
        """What an image's files ask for, compiled; one set for each requirement."""
        # Every answer of the resolver is another object; what it says is the same.
        key = msgspec.msgpack.encode(inspection)
        return self._compile(key, inspection, lambda: verdicts.requirement_sets(inspection))

    def _compile(
        self, key: Hashable, source: Declaration | Inspection, sets: Callable[[], Sequence[CompatibilitySet]]
    ) -> Specification:
        found = self._compiled.get(key)
        if found is None:
            found = _Compiled(source, make_specification(sets()))
            self._compiled[key] = found
            _forget_oldest(self._compiled, self._limit)
        self._compiled.move_to_end(key)
        return found.specification


def _forget_oldest(kept: OrderedDict[_Key, _Value], limit: int) -> None:
    while len(kept) > limit:
        kept.popitem(last=False)
