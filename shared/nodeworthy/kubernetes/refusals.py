"""What can go wrong with a request to the Kubernetes API, as a branch of :mod:`nodeworthy.errors`.

::

    NodeworthyError
    └── KubernetesError                 the API did not do what was asked for; holds HTTP's status and the reason
        ├── KubernetesUnreachableError      no complete answer; was_sent: nobody knows whether it was done
        ├── KubernetesHeldBackError         not sent: whoever asked may no longer do it
        ├── KubernetesUnauthorizedError     401: the server does not know who we are
        ├── KubernetesForbiddenError        403: it knows, and we may not
        ├── KubernetesNotFoundError         404
        ├── KubernetesConflictError         409: an old resourceVersion, a name taken, or fields that others own
        ├── KubernetesGoneError             410: the version asked for is compacted; list anew
        ├── KubernetesInvalidError          422: a field's value is not allowed
        ├── KubernetesBusyError             429: too many requests; says when to come again
        ├── KubernetesServerError           5xx: nobody knows whether it was done
        └── KubernetesContentError          an answer that cannot be used, or another refusal

The answers are objects of kind ``Status`` (k8s.io/apimachinery, ``meta/v1``).
"""

import json
import re
from typing import NamedTuple

import msgspec

from nodeworthy.errors import NodeworthyError

_MAX_SHOWN = 600
"""Of a server's message; the one for a refused apply with fifty conflicts has 4 kB, and the causes tell it better."""


class Cause(msgspec.Struct, frozen=True):
    """One of the reasons that a refusal gives: ``StatusCause``."""

    reason: str = ""
    message: str = ""
    field: str = ""


class FieldConflict(NamedTuple):
    """A field that an apply would take from its owner."""

    field: str
    """As the server writes it, ``.metadata.labels.feature.node.kubernetes.io/cpu-model.id``: dots in keys are not marked."""
    manager: str
    """Who owns it; empty: the server did not say it in a way that we know."""
    message: str


class _Details(msgspec.Struct, frozen=True, rename="camel"):
    causes: tuple[Cause, ...] | None = None
    retry_after_seconds: int = 0


class Status(msgspec.Struct, frozen=True):
    """What the API says of a request that it did not carry out, as far as it is read."""

    message: str = ""
    reason: str = ""
    code: int = 0
    details: _Details | None = None

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The single reasons; mostly none."""
        return (self.details.causes if self.details else None) or ()

    @property
    def retry_after(self) -> float | None:
        """Seconds after which the server wants to be asked again; ``None``: it did not say."""
        seconds = self.details.retry_after_seconds if self.details else 0
        return float(seconds) if seconds > 0 else None


class KubernetesError(NodeworthyError):
    """The API did not do what was asked for."""

    def __init__(self, what: str, *, why: str = "", todo: str = "", status: int = 0, reason: str = "") -> None:
        self.status = status
        """Of HTTP; 0: there was no answer."""
        self.reason = reason
        """One word of the server, such as ``AlreadyExists``; empty: it gave none."""
        super().__init__(what, why=why, todo=todo)


class KubernetesUnreachableError(KubernetesError):
    """No complete answer came. Unless ``was_sent`` is false, nobody knows whether it was done: read before writing again."""

    def __init__(self, what: str, *, why: str = "", todo: str = "", was_sent: bool) -> None:
        self.was_sent = was_sent
        super().__init__(what, why=why, todo=todo)


class KubernetesHeldBackError(KubernetesError):
    """The request was not sent, since whoever asked for it may no longer do it: its Lease ends too soon."""


class KubernetesUnauthorizedError(KubernetesError):
    """The server does not know who we are (401), also with credentials that were read anew."""


class KubernetesForbiddenError(KubernetesError):
    """The server knows who we are, and we may not do that (403)."""


class KubernetesNotFoundError(KubernetesError):
    """No such object, or no such kind of object (404)."""


class KubernetesConflictError(KubernetesError):
    """The object is not as it was read, its name is taken, or others own fields of it (409)."""

    def __init__(
        self, what: str, *, why: str = "", todo: str = "", reason: str = "", conflicts: tuple[FieldConflict, ...] = ()
    ) -> None:
        self.conflicts = conflicts
        """The fields that others own; empty: it is about the object's version or name."""
        super().__init__(what, why=why, todo=todo, status=409, reason=reason)


class KubernetesGoneError(KubernetesError):
    """The version that was asked for is compacted away (410): list anew."""


class KubernetesInvalidError(KubernetesError):
    """A value is not allowed (422); the causes name fields, and of a label only the map that it is in."""

    def __init__(
        self, what: str, *, why: str = "", todo: str = "", reason: str = "", causes: tuple[Cause, ...] = ()
    ) -> None:
        self.causes = causes
        super().__init__(what, why=why, todo=todo, status=422, reason=reason)


class KubernetesBusyError(KubernetesError):
    """The server takes no more requests now (429), also after the waits that it asked for; nothing was done."""

    def __init__(
        self, what: str, *, why: str = "", todo: str = "", reason: str = "", retry_after: float | None
    ) -> None:
        self.retry_after = retry_after
        """Seconds; ``None``: the server did not say."""
        super().__init__(what, why=why, todo=todo, status=429, reason=reason)


class KubernetesServerError(KubernetesError):
    """The server failed (5xx); nobody knows whether it was done."""

    def __init__(
        self, what: str, *, why: str = "", todo: str = "", status: int, reason: str = "", retry_after: float | None
    ) -> None:
        self.retry_after = retry_after
        """Seconds; ``None``: the server did not say."""
        super().__init__(what, why=why, todo=todo, status=status, reason=reason)


class KubernetesContentError(KubernetesError):
    """An answer that cannot be used: no JSON, another shape, too large, a redirect, or a refusal of another kind."""


def parse_status(body: bytes) -> Status:
    """The Status that a refusal's body is; an empty one where it is something else: a proxy's page, or nothing."""
    try:
        return msgspec.json.decode(body, type=Status)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Status()


def parse_conflicts(status: Status) -> tuple[FieldConflict, ...]:
    r"""The fields that others own: ``{"reason": "FieldManagerConflict", "message": "conflict with \"kubectl\" using v1"}``.

    k8s.io/apimachinery, ``pkg/util/managedfields/internal``; the manager is in the message only, quoted by Go.
    """
    return tuple(
        FieldConflict(cause.field, _read_manager(cause.message), cause.message)
        for cause in status.causes
        if cause.reason == "FieldManagerConflict"
    )


_MANAGER = re.compile(r'conflict with ("(?:[^"\\]|\\.)*")')


def _read_manager(message: str) -> str:
    found = _MANAGER.match(message)
    if found is None:
        return ""
    try:
        return str(json.loads(found[1]))
    except ValueError:  # an escape that Go has and JSON has not
        return found[1][1:-1]


def make_error(code: int, status: Status, what: str, *, retry_after: float | None = None) -> KubernetesError:
    """The error for a refusal with HTTP's status ``code``; ``what`` is the sentence of the request.

    ``retry_after`` is in seconds, from the header of that name; the Status itself may hold them too.
    """
    why = f"the API server answered {code}" + (f": {printable(status.message)}" if status.message else "")
    reason = status.reason
    if code == 409:  # noqa: PLR2004 # HTTP's number, as those below
        conflicts = parse_conflicts(status)
        return KubernetesConflictError(what, why=why, todo=_advise_conflict(status), reason=reason, conflicts=conflicts)
    if code == 422:  # noqa: PLR2004
        return KubernetesInvalidError(what, why=why, reason=reason, causes=status.causes)
    wait = retry_after if retry_after is not None else status.retry_after
    if code == 429:  # noqa: PLR2004
        return KubernetesBusyError(what, why=why, todo="try again later", reason=reason, retry_after=wait)
    if code >= 500:  # noqa: PLR2004
        todo = "look at the API server; then try again"
        return KubernetesServerError(what, why=why, todo=todo, status=code, reason=reason, retry_after=wait)
    kind, todo = _PLAIN.get(code, (KubernetesContentError, "is this address a Kubernetes API server's?"))
    return kind(what, why=why, todo=todo, status=code, reason=reason)


_PLAIN: dict[int, tuple[type[KubernetesError], str]] = {
    400: (KubernetesContentError, ""),
    401: (KubernetesUnauthorizedError, "log in to the cluster again, or choose another context of the kubeconfig"),
    403: (KubernetesForbiddenError, "have a role bound to this user that allows it (deploy/ has ours)"),
    404: (KubernetesNotFoundError, ""),
    410: (KubernetesGoneError, ""),
}


def _advise_conflict(status: Status) -> str:
    return "" if status.reason == "AlreadyExists" else "read the object again, and decide anew"


def printable(text: str, most: int = _MAX_SHOWN) -> str:
    """A stranger's text on one line, without control characters and not longer than ``most``."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text[: most + 1])
    return " ".join(shown[:most].split()) + ("…" if len(shown) > most else "")
