"""The cluster as the labeler's target: Node objects, who owns what on them, and how a plan is carried out there.

Belongs here: what is read from the API server (Nodes, rules, NodeFeature objects, Leases of other labelers) and what is
written to it. Does not belong here: deciding what a node should have (``nodeworthy.labels``), and how the API is spoken to
(``nodeworthy.kubernetes``).
"""
