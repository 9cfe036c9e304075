"""What the table may cost."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds of one fleet table, each well beyond what it is made for: 100,000 nodes with some forty sets each."""

    nodes: int = 500_000
    """Nodes; five times the largest fleet that is measured."""
    sets: int = 512
    """Names of sets over all nodes: each is a column of four bytes a node. Those of detectors and of NFD, about forty,
    always have one (rules.known_sets)."""
    producers: int = 64
    """Producers of one node: anybody who may create a NodeFeature object adds one."""
    content_bytes: int = 2 * 1024**3
    """Canonical bytes of all distinct contents; a node's own ones take one to four kilobytes."""
    memo_bytes: int = 128 * 1024**2
    """Remembered answers: two bytes for each term and distinct content, so 600 terms on a set that differs on each of
    100,000 nodes."""
    result_bytes: int = 64 * 1024**2
    """Remembered results of rules with templates and of rules that read what rules gave, about two kilobytes each: 30 such
    rules on a thousand kinds of nodes."""
    asks: int = 5_000_000
    """New answers of terms that one evaluation may need of one set: five to fifteen microseconds each. 100,000 nodes with
    sets of their own and 50 terms on them."""
    reports: int = 10_000
    """Full reports that one evaluation of a specification makes and keeps, a millisecond and some kilobytes each."""
