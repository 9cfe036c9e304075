"""Single options of the kernel's configuration, for sources that need one where nothing else tells.

Reading the whole configuration costs some milliseconds, so the caller looks at everything cheaper first.
"""

from collections.abc import Mapping

from nodeworthy.features import FeatureSet
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources import kernel, kernel_config
from nodeworthy_detector.sources.reading import Faults


def read_options(host: Host) -> Mapping[str, str] | None:
    """The options that are set, named without ``CONFIG_``; ``None`` if no configuration can be read.

    What could not be read is a fault of source ``kernel``, which reads the same places.
    """
    try:
        release = kernel.read_release_for_paths(host)
    except HostReadError:
        release = None
    found = kernel_config.read_config(host, release, "", Faults())
    return found.attributes if isinstance(found, FeatureSet) else None
