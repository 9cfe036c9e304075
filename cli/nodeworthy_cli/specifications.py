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


def read_declaration(name: str) -> Declaration:
    """The specification of a file, with what is noticed about it.

    Raises:
        DocumentError: any part of it is wrong; who has the file can mend it, unlike one that is attached to an image.
    """
    spec = rules.read_compatibility_spec(read_spec_file(name), name)
    if spec.problems:
        raise DocumentError(name, spec.problems, todo=f"mend it, and look with: nodeworthy spec validate {name}")
    return Declaration(spec, ArtifactSummary(f"file {name}"), tuple(map(str, spec.notices)))
