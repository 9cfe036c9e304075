"""The layers of an image, applied one over the other, as one tree.

Belongs here: decompressing a layer, reading its tar archive as a stream, whiteouts and links as the OCI image specification
has them (layer.md), and which contents are kept; all within bounds, since layers come from strangers. Does not belong
here: where layers come from (sources/), and what the files mean. Nothing is unpacked: paths are an index in memory, and what
is kept lies in one file without a name, which the kernel removes with the process.
"""

from nodeworthy_resolver.inspection.layers.applying import Layer
from nodeworthy_resolver.inspection.layers.bounds import Bounds
from nodeworthy_resolver.inspection.layers.tree import LayeredTree, read_layers

__all__ = ["Bounds", "Layer", "LayeredTree", "read_layers"]
