"""What a failure really was: from words, exit codes and kernel lines, held against image and node, to a cause or to none.

Belongs here: the table of signatures, reading of texts, kernel lines, core files and Pod objects, and the reasoning; all of
it pure. Does not belong here: looking at images, nodes and clusters (the command line does), and showing the answer.
"""

from nodeworthy.diagnosis.case import Case
from nodeworthy.diagnosis.instructions import Instruction, Kind
from nodeworthy.diagnosis.reading import read_signals
from nodeworthy.diagnosis.reasoning import diagnose
from nodeworthy.diagnosis.records import Cause, Confidence, Diagnosis, Signal, Step
from nodeworthy.diagnosis.separation import Separation
from nodeworthy.diagnosis.signatures import Signature, Table, load

__all__ = [
    "Case",
    "Cause",
    "Confidence",
    "Diagnosis",
    "Instruction",
    "Kind",
    "Separation",
    "Signal",
    "Signature",
    "Step",
    "Table",
    "diagnose",
    "load",
    "read_signals",
]
