"""``nodeworthy diagnose``: what a failure really was.

Belongs here: the verb, looking at the image, the node and the cluster for it, and how the answer is printed. Does not belong
here: the table of signatures and the reasoning (nodeworthy.diagnosis).
"""

from nodeworthy_cli.diagnose.verb import command

__all__ = ["command"]
