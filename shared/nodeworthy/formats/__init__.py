"""Formats of files that nodes and images both have, read in one way for both.

Belongs here: what a text or some bytes say by the format's own definition. Does not belong here: where the files lie, what
a fact or a requirement is made of, and any import outside the standard library: the detector reads with this too.
"""
