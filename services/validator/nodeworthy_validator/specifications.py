"""Specifications that come with requests: read strictly, and kept for the next request with the same text."""

from collections import OrderedDict

from nodeworthy import rules
from nodeworthy.verdicts import ArtifactSummary, Declaration

SOURCE = "request"
"""What findings and errors call the document."""


class Specifications:
    """Reads each text once; the same text gives the same object, by which its compiled form is found again."""

    def __init__(self, *, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._kept: OrderedDict[str, Declaration] = OrderedDict()
        self._bytes = 0

    def read(self, text: str) -> Declaration:
        """The specification of a text.

        Strictly, as the command line reads files: who sends it can mend it, and a misspelt condition would always match.

        Raises:
            DocumentError: any part of it is wrong.
        """
        found = self._kept.get(text)
        if found is None:
            found = self._keep(text)
        else:
            self._kept.move_to_end(text)
        return found

    def _keep(self, text: str) -> Declaration:
        spec = rules.read_compatibility_spec(text.encode("utf-8", "surrogatepass"), SOURCE, strict=True)
        made = self._kept[text] = Declaration(spec, ArtifactSummary(SOURCE), tuple(map(str, spec.notices)))
        self._bytes += len(text)
        while len(self._kept) > self._most or self._bytes > self._most_bytes:
            self._bytes -= len(self._kept.popitem(last=False)[0])
        return made
