"""The labeler: keeps the labels of nodes true.

Belongs here: following facts, rules and labels on the bus, sharing the nodes among several labelers, carrying out what
``nodeworthy.labels`` decides, and the upkeep of the bus (streams, bad sets, sweeping). Does not belong here: what rules and
labels mean, and anything that reads a node or a registry.
"""
