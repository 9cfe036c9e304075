"""What the detector does when somebody asks it something; each takes a decoded message.

Resyncs are answered by the bus library, which has what was published last.
"""

from collections.abc import Collection

from nodeworthy.bus.records import RescanRequest
from nodeworthy.processes import EventLog
from nodeworthy_detector.agenda import Agenda
from nodeworthy_detector.metrics import Metrics

_LOG = EventLog("detector")


def handle_rescan(request: RescanRequest, *, agenda: Agenda, sources: Collection[str], metrics: Metrics) -> None:
    """Look afresh; the next snapshot carries the request's id.

    A source that this detector does not have makes it look at everything: whoever asks may be newer than this program, and
    waits for an answer.
    """
    metrics.rescans_total += 1
    strange = sorted(set(request.sources) - set(sources))
    if strange:
        _LOG.warning("detector.rescan_of_strange_sources", about="rescan", id=request.id, sources=strange)
    if not agenda.ask_rescan(request.id, () if strange else request.sources):
        metrics.rescans_refused_total += 1
        _LOG.warning("detector.rescan_refused", about="rescan", id=request.id, why="too many wait already")
