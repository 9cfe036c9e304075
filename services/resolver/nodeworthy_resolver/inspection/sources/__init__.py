"""Where the files of an image come from: a registry, a layout folder, an archive, a root folder, one file.

Belongs here: choosing the image for a platform, its config, and bringing its layers to a thread that reads them. Does not
belong here: how registries are asked (oci/), and what is inside layers (layers/).
"""

from nodeworthy_resolver.inspection.sources.images import open_image, open_stored
from nodeworthy_resolver.inspection.sources.local import open_file, open_folder
from nodeworthy_resolver.inspection.sources.opened import OpenedImage, Progress, ReadingOptions

__all__ = ["OpenedImage", "Progress", "ReadingOptions", "open_file", "open_folder", "open_image", "open_stored"]
