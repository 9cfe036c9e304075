"""``nodeworthy inspect``: what an image needs, read from its own files.

Belongs here: the verb, how its answers are printed, the difference of two images, writing files out. Does not belong here:
the inspection itself (nodeworthy_resolver.inspection).
"""

from nodeworthy_cli.inspect.verb import command

__all__ = ["command"]
