"""Validation of rule files for their authors: everything that is wrong, at once, each with its line and column.

Errors are what makes a document or rule unreadable, what evaluation would find, and what is passed over in silence else.
Warnings are what works and may not be meant. What kubectl-nfd would say stands beside them and decides nothing here.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from nodeworthy.errors import DocumentError, Problem
from nodeworthy.rules.documents import KINDS, read_compatibility_spec
from nodeworthy.rules.files import read_rule_file
from nodeworthy.rules.nfd_validation import NfdError, validate_as_nfd
from nodeworthy.rules.records import RuleDocument, UnreadableDocument
from nodeworthy.rules.validation_positions import Positions
from nodeworthy.rules.yaml_reader import MAX_BYTES

COMPATIBILITY = "compatibility specification"
"""The kind of a document that says what an image needs."""


class Place(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that is wrong, or worth a warning, at one place of a file."""

    line: int
    """Counted from 1; 0 where the place is not known."""
    column: int
    """Counted from 1; 0 where the line is not known."""
    path: str
    message: str
    hint: str = ""

    def describe(self, file: str) -> str:
        """The place and what is there, on one line, as compilers write it and editors read it."""
        place = ":".join([file, *(str(number) for number in (self.line, self.column) if number)])
        path = f": {self.path}" if self.path else ""
        return f"{place}{path}: {self.message}" + (f" ({self.hint})" if self.hint else "")


class DocumentValidation(msgspec.Struct, frozen=True):
    """One document of a file, judged."""

    line: int
    """On which it begins; 0 where that is not known."""
    kind: str
    """Empty where it could not be read."""
    name: str
    errors: tuple[Place, ...]
    warnings: tuple[Place, ...]


class NfdVerdict(msgspec.Struct, frozen=True):
    """What ``kubectl nfd validate`` says of a file, of which it reads the first document."""

    valid: bool
    errors: tuple[NfdError, ...]


class FileValidation(msgspec.Struct, frozen=True):
    """One file, judged."""

    file: str
    valid: bool
    """Whether no document has an error, and there is one."""
    documents: tuple[DocumentValidation, ...]
    errors: tuple[Place, ...] = ()
    """Of the file as a whole."""
    warnings: tuple[Place, ...] = ()
    nfd: NfdVerdict | None = None
    """Where the first document is a NodeFeatureRule object, or cannot be told to be anything else."""


class OpenValidation:
    """The validation of one file, to which whoever compares rules with each other, or with settings, may add."""

    def __init__(self, data: bytes, file: str) -> None:
        """Read a file; ``file`` names it in every place."""
        self.file = file
        self._data = data
        # What is too large is refused as a whole, and no place in it is told.
        self._positions = Positions("" if len(data) > MAX_BYTES else data.decode("utf-8-sig", errors="replace"))
        self.spec = is_specification(data)
        """Whether it holds a compatibility specification."""
        self.documents: tuple[RuleDocument | UnreadableDocument, ...] = ()
        self._errors: dict[int, list[Problem]] = {}
        self._warnings: dict[int, list[Problem]] = {}
        self._of_file: tuple[Problem, ...] = ()
        if self.spec:
            self._read_specification()
        else:
            self._read_rules()

    def add_error(self, document: int, path: str, message: str, hint: str = "") -> None:
        """Add what is wrong at a path of a document; documents are counted from 0."""
        self._errors[document].append(self._problem(document, path, message, hint))

    def add_warning(self, document: int, path: str, message: str, hint: str = "") -> None:
        """Add what may not be meant at a path of a document."""
        self._warnings[document].append(self._problem(document, path, message, hint))

    def close(self) -> FileValidation:
        """The answer."""
        documents = tuple(self._document(place) for place in sorted(self._errors))
        errors: tuple[Place, ...] = ()
        if not documents:
            hint = f"rules stand in {' and '.join(KINDS)} objects, and in lists of worker rules"
            errors = (Place(1, 1, "", "there are no rules in this file", hint),)
        return FileValidation(
            file=self.file,
            valid=not errors and not any(one.errors for one in documents),
            documents=documents,
            errors=errors,
            warnings=self._places(self._of_file),
            nfd=self._as_nfd(),
        )

    def _as_nfd(self) -> NfdVerdict | None:
        first = self.documents[0] if self.documents else None
        if first is None or (isinstance(first, RuleDocument) and first.kind != "NodeFeatureRule"):
            return None
        found = validate_as_nfd(self._data, self.file)
        return NfdVerdict(found.valid, found.errors)

    def _read_rules(self) -> None:
        found = read_rule_file(self._data, self.file)
        self.documents = found.documents
        self._of_file = found.notices
        refused = self._refused()
        for place, document in enumerate(found.documents):
            if isinstance(document, UnreadableDocument):
                self._errors[place], self._warnings[place] = list(document.problems), []
                continue
            self._errors[place] = [*document.problems, *(one for one in document.notices if one in refused)]
            self._warnings[place] = [one for one in document.notices if one not in refused]
            for path, message, hint in (*_missing_parts(document), *_equal_names(document)):
                self.add_warning(place, path, message, hint)

    def _refused(self) -> frozenset[Problem]:
        """What a strict reading refuses; among what a document only notices, that is what is passed over."""
        try:
            read_rule_file(self._data, self.file, strict=True)
        except DocumentError as error:
            return frozenset(error.problems)
        return frozenset()

    def _read_specification(self) -> None:
        try:
            spec = read_compatibility_spec(self._data, self.file, strict=True)
        except DocumentError as error:
            self._errors[0], self._warnings[0] = list(error.problems), []
        else:
            self._errors[0], self._warnings[0] = [], list(spec.notices)

    def _problem(self, document: int, path: str, message: str, hint: str) -> Problem:
        begins = self._line(document)
        # An item of a List has paths of its own, which lead nowhere from the top.
        return Problem(self.file, self._positions.line(path, begins) or begins, path, message, hint)

    def _line(self, document: int) -> int:
        if self.spec:
            return 1
        found = self.documents[document]
        return found.line if isinstance(found, RuleDocument) else min((one.line for one in found.problems), default=0)

    def _document(self, place: int) -> DocumentValidation:
        found = None if self.spec else self.documents[place]
        return DocumentValidation(
            line=self._line(place),
            kind=found.kind if isinstance(found, RuleDocument) else COMPATIBILITY if self.spec else "",
            name=found.name if found is not None else "",
            errors=self._places(self._errors[place]),
            warnings=self._places(self._warnings[place]),
        )

    def _places(self, problems: Iterable[Problem]) -> tuple[Place, ...]:
        places = {Place(one.line, self._positions.column(one), one.path, one.message, one.hint) for one in problems}
        return tuple(sorted(places, key=lambda place: (place.line, place.column, place.path, place.message)))


def validate_file(data: bytes, file: str) -> FileValidation:
    """Every document of one file, judged by itself."""
    return OpenValidation(data, file).close()


def is_specification(data: bytes) -> bool:
    """Whether the first document is a compatibility specification: it has no kind, and the field of its sets."""
    import yaml

    if len(data) > MAX_BYTES:
        return False  # refused as a whole
    try:
        root = next(yaml.compose_all(data, Loader=yaml.CSafeLoader), None)
    except (yaml.YAMLError, UnicodeError, RecursionError):
        return False  # whoever reads it says why
    entries = root.value if isinstance(root, yaml.MappingNode) else []
    names = {str(key.value).lower() for key, _ in entries}
    return "compatibilities" in names and "kind" not in names


def rules_path(document: RuleDocument) -> str:
    """Where the rules of a document stand in it."""
    field = KINDS.get(document.kind)
    return f"spec.{field[0]}" if field is not None else ""


def _missing_parts(document: RuleDocument) -> Iterator[tuple[str, str, str]]:
    """What an object lacks without which a cluster does not take it, or takes it in vain."""
    if document.kind in KINDS and not document.name:
        yield "metadata.name", "this object has no name", "a cluster wants one: write metadata: {name: ...}"
    if document.kind in KINDS and not document.rules:
        path = rules_path(document)
        yield path, "this object has no rules", f"they are a list in {path}"


def _equal_names(document: RuleDocument) -> Iterator[tuple[str, str, str]]:
    counts = Counter(rule.name for rule in document.rules if rule.name)
    seen: set[str] = set()
    for place, rule in enumerate(document.rules):
        if counts[rule.name] > 1 and rule.name in seen:
            message = f"another rule of this object is named {rule.name[:80]!r} too"
            yield f"{rules_path(document)}[{place}].name", message, "reports and statuses name a rule by it"
        seen.add(rule.name)
