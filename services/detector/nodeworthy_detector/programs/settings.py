"""What can be set about programs: ``sources.programs`` of the configuration, decoded by msgspec."""

from collections.abc import Mapping
from typing import Annotated

import msgspec

FOLDER = "etc/kubernetes/node-feature-discovery/sources.d"
"""Beside NFD's features.d and custom.d; NFD itself ran programs of a folder source.d until its release 0.17."""

Seconds = Annotated[float, msgspec.Meta(gt=0, le=86_400)]


class OneProgram(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What differs for one program; what is left out is as for all."""

    enabled: bool = True
    """``false``: the program is not run, and has no facts."""
    interval: Seconds | None = None
    """Between the end of a run and the beginning of the next, in seconds."""
    timeout: Seconds | None = None
    """How long a run may take, in seconds."""
    environment: Mapping[str, str] = {}
    """The variables that the program gets; nothing of the detector's own environment is among them."""


class ProgramSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All programs of the folder, by the names of their files."""

    folder: str = FOLDER
    """Where they are, as the host sees it."""
    interval: Seconds = 60.0
    """Between the end of a run and the beginning of the next, in seconds: the pace at which NFD looks at a machine."""
    timeout: Seconds = 10.0
    """How long a run may take, in seconds; as long as any source of the detector."""
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=64)] = 2
    """How many programs run at the same time: a node's processors are there for its pods."""
    programs: Mapping[str, OneProgram] = {}
    """File name to what differs for it."""

    def of(self, file: str) -> "OneRun":
        """How one file is run."""
        own = self.programs.get(file, OneProgram())
        return OneRun(own.interval or self.interval, own.timeout or self.timeout, own.environment)

    def is_enabled(self, file: str) -> bool:
        """Whether one file is run at all."""
        return self.programs.get(file, OneProgram()).enabled


class OneRun(msgspec.Struct, frozen=True):
    """How one program is run; times in seconds."""

    interval: float
    timeout: float
    environment: Mapping[str, str]
