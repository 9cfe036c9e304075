"""What a service logs: the name of an event and its fields, never a built sentence."""

import logging

from nodeworthy.processes.repeats import ABOUT

FIELDS = "fields"
"""The attribute of a log record that holds the fields."""


class EventLog:
    """A logger of events, on top of the standard library's.

    The standard library's own calls take a sentence; with a name and fields a log can be searched, and what comes
    from outside (file names, error texts) stays a value.

    >>> log = EventLog("detector")
    >>> log.warning("detector.source_failed", source="pci", error="Permission denied")

    A line that others can cause as often as they like says what it is ``about``: a subject, a key, a node. It is written
    once, and then counted (:mod:`nodeworthy.processes.repeats`).
    """

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(f"nodeworthy.{name}")

    def debug(self, event: str, /, **fields: object) -> None:
        """Something that only a developer looks for."""
        self._write(logging.DEBUG, event, fields)

    def info(self, event: str, /, *, about: object = None, **fields: object) -> None:
        """Something that happened as it should."""
        self._write(logging.INFO, event, fields, about=about)

    def warning(self, event: str, /, *, about: object = None, **fields: object) -> None:
        """Something that harms one thing; the service goes on."""
        self._write(logging.WARNING, event, fields, about=about)

    def error(
        self, event: str, /, *, exception: BaseException | None = None, about: object = None, **fields: object
    ) -> None:
        """Something that ends the service or needs a person; the exception's trace is kept."""
        self._write(logging.ERROR, event, fields, exception, about)

    def _write(
        self,
        level: int,
        event: str,
        fields: dict[str, object],
        exception: BaseException | None = None,
        about: object = None,
    ) -> None:
        # The event is the message and has no arguments, so a percent sign in it means nothing.
        self._logger.log(
            level, event, extra={FIELDS: fields, ABOUT: "" if about is None else str(about)}, exc_info=exception
        )
