"""The labeler: keeps the labels of Kubernetes Nodes true.

Belongs here: reconciling Nodes with what rules say, and nothing that reads a node or a registry.
"""
