"""Containerfiles, as far as they name images: what a build will pull, known before it starts.

Belongs here: the syntax (instructions over several lines, comments, heredocs, the escape directive), build arguments, and
which images the stages are made from. Does not belong here: what the other instructions do, and asking for the images.
"""

from nodeworthy_cli.containerfiles.images import Use, list_images

__all__ = ["Use", "list_images"]
