"""HTTP beside the bus, for the services that load aiohttp anyway: listening, and the probes and metrics of a process.

Belongs here: what is alike in every service. Does not belong here: the detector's (it loads no aiohttp and has a responder
of its own), and what only one service serves.
"""

from nodeworthy.web.listening import listen
from nodeworthy.web.probes import Counted, add_probes, serve_probes
from nodeworthy.web.replies import RepliesCollector

__all__ = ["Counted", "RepliesCollector", "add_probes", "listen", "serve_probes"]
