"""Reading compatibility specifications from files."""

from nodeworthy import rules
from nodeworthy.errors import DocumentError
from nodeworthy.verdicts import ArtifactSummary, Declaration
from nodeworthy_cli.facts import read_file

MAX_SPEC_BYTES = 1024 * 1024
"""What the reader of documents takes."""


def read_spec_file(name: str) -> bytes:
    """The bytes of a specification file; ``-`` is standard input."""
    return read_file(name, MAX_SPEC_BYTES, "specification")


def read_valid_spec(name: str, todo: str) -> tuple[bytes, rules.CompatibilitySpec]:
    """The bytes and meaning of a file that is valid in every part.

    Strictly, also in what evaluation passes over in an attached artifact: a misspelt condition is a rule without one, which
    always matches, and who has the file can mend it.

    Raises:
        DocumentError: any part of it is wrong; ``todo`` says what follows.
    """
    data = read_spec_file(name)
    try:
        return data, rules.read_compatibility_spec(data, name, strict=True)
    except DocumentError as error:
        raise DocumentError(name, error.problems, todo=todo) from error


def read_declaration(name: str) -> Declaration:
    """The specification of a file, with what is noticed about it."""
    _, spec = read_valid_spec(name, f"mend it, and look with: nodeworthy spec validate {name}")
    return Declaration(spec, ArtifactSummary(f"file {name}"), tuple(map(str, spec.notices)))
