"""What a node offers: feature sets, their canonical encoding, snapshots and the differences between them.

Belongs here: data and pure functions over it. Does not belong here: reading a machine (the detector's sources) or judging
what the facts mean (rules and verdicts).
"""

from nodeworthy.features.diff import SetChange, SnapshotDiff, diff_sets, diff_snapshots
from nodeworthy.features.document import MAX_DOCUMENT_BYTES, read_document, write_document
from nodeworthy.features.encoding import MAX_SET_BYTES, decode, digest, encode
from nodeworthy.features.model import FeatureSet, Instance, clean_text
from nodeworthy.features.node_feature import write_node_feature
from nodeworthy.features.snapshot import NOBODY_REPORTS, Lookup, SetState, SetStatus, Snapshot, SourceHealth, is_blind

__all__ = [
    "MAX_DOCUMENT_BYTES",
    "MAX_SET_BYTES",
    "NOBODY_REPORTS",
    "FeatureSet",
    "Instance",
    "Lookup",
    "SetChange",
    "SetState",
    "SetStatus",
    "Snapshot",
    "SnapshotDiff",
    "SourceHealth",
    "clean_text",
    "decode",
    "diff_sets",
    "diff_snapshots",
    "digest",
    "encode",
    "is_blind",
    "read_document",
    "write_document",
    "write_node_feature",
]
