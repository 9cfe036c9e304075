"""``nodeworthy checkup``: every image in use, held against every node, the greatest risk first.

Belongs here: which images a cluster uses and where they could go, asking for all of them, the order of risks, and how the
report is printed. Does not belong here: judging one image on one node (nodeworthy.verdicts, by way of the fleet or the
validator) and looking an image up (nodeworthy_cli.learning, the resolver).
"""

from nodeworthy_cli.checkup.verb import command

__all__ = ["command"]
