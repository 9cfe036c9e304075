"""What a program says: lines as in features.d, or one JSON document.

A document is what begins with ``{``; every part of it may be left out::

    {"flags": ["avx512"], "attributes": {"cores": "8"}, "instances": [{"name": "card0"}],
     "labels": {"cpu-avx512": "true"}}

Flags, attributes and instances are the content of the program's own set, labels are labels as those of a line. Values are
text, as everywhere in NFD. Lines give attributes and labels, and know the directives of features.d.
"""

import re
from collections.abc import Mapping
from datetime import datetime

import msgspec

from nodeworthy.errors import NodeworthyError
from nodeworthy.features import FeatureSet, Instance, clean_text
from nodeworthy_detector.sources.features_d import parse_feature_file

_NAME = re.compile(r"(?:[A-Za-z0-9.-]{1,253}/)?[A-Za-z0-9](?:[-A-Za-z0-9_./]{0,251}[A-Za-z0-9])?")
"""Names of features and labels as NFD and Kubernetes build them; a sentence that was printed for people is none."""

_SHOWN = 80

_TEXT_HINT = ': values are text, so 8 is written "8", and true is written "true"'
"""For whoever writes numbers and truth values, as most languages' writers of JSON do."""


class ProgramOutputError(NodeworthyError):
    """What a program wrote begins as a JSON document and is not one of the agreed form."""


class ProgramFacts(msgspec.Struct, frozen=True):
    """What one run says."""

    content: FeatureSet
    """Of the program's own set."""
    labels: Mapping[str, str]
    faults: tuple[str, ...] = ()
    """Lines and names that are left out."""


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    flags: list[str] | None = None
    attributes: dict[str, str] | None = None
    instances: list[dict[str, str]] | None = None
    labels: dict[str, str] = {}


def parse_output(output: bytes, now: datetime) -> ProgramFacts:
    """The facts in a program's standard output; lines that have expired by ``now`` are passed over.

    Raises:
        ProgramOutputError: it is a document, and cannot be used as a whole.
    """
    if output.lstrip()[:1] == b"{":
        return _read_document(output)
    file = parse_feature_file(output.decode("utf-8", "replace"), now, find_problem=_find_problem)
    return ProgramFacts(FeatureSet(attributes=file.features), file.labels, file.faults)


def _find_problem(name: str) -> str | None:
    if _NAME.fullmatch(name):
        return None
    return f"{clean_text(name[:_SHOWN])!r} is no name of a feature; lines are name=value, or one JSON document"


def _read_document(output: bytes) -> ProgramFacts:
    try:
        document = msgspec.json.decode(output, type=_Document)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ProgramOutputError(
            "standard output is no document of facts",
            why=str(error) + (_TEXT_HINT if "Expected `str`" in str(error) else ""),
            todo="write flags, attributes, instances and labels as docs/custom-detectors.md shows",
        ) from error
    faults: list[str] = []
    content = FeatureSet(
        flags=None if document.flags is None else frozenset(_only_names(dict.fromkeys(document.flags, ""), faults)),
        attributes=None if document.attributes is None else _only_names(document.attributes, faults),
        instances=None
        if document.instances is None
        else tuple(_only_names(instance, faults) for instance in document.instances),
    )
    return ProgramFacts(content, _only_names(document.labels, faults), tuple(faults))


def _only_names(values: Instance, faults: list[str]) -> dict[str, str]:
    kept = {}
    for name, value in values.items():
        problem = _find_problem(name)
        if problem is None:
            kept[name] = clean_text(value)
        else:
            faults.append(problem)
    return kept
