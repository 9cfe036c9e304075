"""HTTP beside the bus, for the services that load aiohttp anyway: listening, and the probes of whoever runs the process.

Belongs here: what is alike in every service. Does not belong here: the detector's (it loads no aiohttp and has a responder
of its own), and what only one service serves.
"""

from nodeworthy.web.listening import listen
from nodeworthy.web.probes import Counted, add_probes, serve_probes

__all__ = ["Counted", "add_probes", "listen", "serve_probes"]
