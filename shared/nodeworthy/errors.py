"""Every error that reaches a person, in one tree.

::

    NodeworthyError                 what, why and what to do
    ├── UsageError                  the call cannot be carried out as asked
    ├── DocumentError               a document that people write does not parse; holds every problem
    ├── FeatureDocumentError        a features file is not one
    ├── EncodingError               bytes are not the canonical form of a feature set, or too large
    ├── RuleError                   a rule cannot be evaluated on these facts
    ├── InvalidReferenceError       an image reference does not parse
    ├── ImageNotFoundError          no such image, or no permission to see it
    ├── ArtifactError               an attached artifact is there and cannot be used
    ├── InspectionError             the files of an image cannot be read, or are more than is read
    ├── BusError                    the bus did not do what was asked for
    │   ├── BusUnreachableError         no connection, or no answer in time
    │   │   └── BusNobodyError              nobody listens there: no service, or no stream
    │   ├── BusDeniedError              this user may not do that
    │   ├── BusBusyError                the service has as many requests in work as it takes
    │   ├── BusRequestError             the service answered with an error; holds its code
    │   ├── BusConflictError            somebody else wrote the key since it was read
    │   ├── BusSupersededError          a newer process of this boot publishes under the same name; this one must end
    │   ├── BusFullError                the key is there and written once, or the store takes no more
    │   ├── BusSetupError               a stream is there and is not as it must be
    │   ├── BusContentError             what is stored is not what its digest says
    │   └── PayloadError                a message does not decode, or is too large
    │       └── PayloadVersionError         it is of a format version that this program does not read
    └── RegistryError               a registry did not give what was asked for
        ├── RegistryUnreachableError    no connection, or no answer in time
        ├── RegistryDeniedError         401 or 403
        ├── RegistryBusyError           429 or 5xx
        └── RegistryContentError        an answer that cannot be used: HTML, wrong digest, too large

An error carries its facts as attributes; the command line prints :meth:`NodeworthyError.diagnostics` and adds the trace only
when asked to.
"""

from typing import NamedTuple


class Diagnostics(NamedTuple):
    """The three parts in which a person reads an error."""

    what: str
    why: str
    todo: str


class NodeworthyError(Exception):
    """The root of the tree; catch it to catch everything that is nodeworthy's own."""

    def __init__(self, what: str, *, why: str = "", todo: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.todo = todo

    def diagnostics(self) -> Diagnostics:
        """What happened, why, and what the reader can do; the last two may be empty."""
        return Diagnostics(self.what, self.why, self.todo)

    def __str__(self) -> str:
        return f"{self.what}: {self.why}" if self.why else self.what


class UsageError(NodeworthyError):
    """The call cannot be carried out as asked: a wrong argument, a missing file."""


class Problem(NamedTuple):
    """One thing that is wrong, or worth a notice, at one place of a document."""

    source: str
    """The file's name, or the artifact's digest."""
    line: int
    """Counted from 1; 0 when the place is unknown."""
    path: str
    """Where in the document, as ``compatibilities[0].rules[1].matchFeatures[0].feature``."""
    message: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}" if self.line else self.source
        path = f": {self.path}" if self.path else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{path}: {self.message}{hint}"


class DocumentError(NodeworthyError):
    """A document that people write does not parse; ``problems`` names every place."""

    def __init__(self, source: str, problems: tuple[Problem, ...], *, todo: str = "") -> None:
        self.source = source
        self.problems = problems
        why = "\n".join(str(problem) for problem in problems)
        super().__init__(f"{source} is not valid", why=why, todo=todo)


class FeatureDocumentError(NodeworthyError):
    """A features file is not one."""


class EncodingError(NodeworthyError):
    """Bytes are not the canonical form of a feature set, or the set is too large."""


class RuleError(NodeworthyError):
    """A rule cannot be evaluated on these facts, for example a number was asked for and a word is there."""


class InvalidReferenceError(NodeworthyError):
    """An image reference does not parse."""

    def __init__(self, reference: str, why: str, *, todo: str = "") -> None:
        self.reference = reference
        super().__init__(f"{reference!r} is not an image reference", why=why, todo=todo)


class ImageNotFoundError(NodeworthyError):
    """No such image, or no permission to see it: registries answer both alike."""


class ArtifactError(NodeworthyError):
    """A compatibility artifact is attached and cannot be used; the answer is then unknown, never compatible."""


class InspectionError(NodeworthyError):
    """The files of an image cannot be read, or are more than is read; the answer is then unknown, never compatible."""


class BusError(NodeworthyError):
    """The bus did not do what was asked for."""


class BusUnreachableError(BusError):
    """No connection, or no answer in time."""


class BusNobodyError(BusUnreachableError):
    """Nobody listens there: the service does not run, or the stream does not exist."""


class BusDeniedError(BusError):
    """This user may not do that."""


class BusBusyError(BusError):
    """The service has as many requests in work as it takes; the same request may be sent again."""


class BusRequestError(BusError):
    """A service answered with an error; ``code`` is one of :class:`nodeworthy.bus.requests.ErrorCode`."""

    def __init__(self, what: str, *, code: str, why: str = "", todo: str = "") -> None:
        self.code = code
        super().__init__(what, why=why, todo=todo)


class BusConflictError(BusError):
    """Somebody else wrote the key since it was read (JetStream's error 10071)."""


class BusSupersededError(BusError):
    """A newer process of this boot publishes under the same name; this one must end."""


class BusFullError(BusError):
    """The key is there and is written once (``is_key``), or the store takes no more."""

    def __init__(self, what: str, *, why: str = "", todo: str = "", is_key: bool = False) -> None:
        self.is_key = is_key
        super().__init__(what, why=why, todo=todo)


class BusSetupError(BusError):
    """A stream or bucket is there and is not as it must be; ``differences`` says where."""

    def __init__(self, what: str, differences: tuple[str, ...], *, todo: str = "") -> None:
        self.differences = differences
        super().__init__(what, why="; ".join(differences), todo=todo)


class BusContentError(BusError):
    """What is stored is not what its digest says, or is no feature set; it is never used."""


class PayloadError(BusError):
    """A message does not decode, has another shape, or is too large."""

    def __init__(self, what: str, *, why: str = "", todo: str = "", too_large: bool = False) -> None:
        self.too_large = too_large
        super().__init__(what, why=why, todo=todo)


class PayloadVersionError(PayloadError):
    """A message is of a format version that this program does not read."""


class RegistryError(NodeworthyError):
    """A registry did not give what was asked for."""


class RegistryUnreachableError(RegistryError):
    """No connection, or no answer in time."""


class RegistryDeniedError(RegistryError):
    """The registry answered 401 or 403."""


class RegistryBusyError(RegistryError):
    """The registry answered 429 or 5xx, also after the retries."""


class RegistryContentError(RegistryError):
    """The registry answered with something that cannot be used: HTML, a wrong digest, too many bytes."""


def first_error(error: BaseException) -> BaseException:
    """The first error inside nested groups: whoever runs a service knows nothing of its tasks."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
