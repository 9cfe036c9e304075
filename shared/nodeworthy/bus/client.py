"""NATS's client library, loaded without aiohttp.

nats-py imports aiohttp where it is installed, for WebSockets, which nothing of ours uses; that costs a detector 11 MB and
100 ms. So aiohttp is hidden while nats-py is loaded, unless it is loaded already. Every module here takes nats-py's names
from this one.
"""

import sys

_HIDES = "aiohttp" not in sys.modules
if _HIDES:
    # The import system takes None for "there is no such module" (Python reference, 5.3.1 The module cache).
    sys.modules["aiohttp"] = None  # type: ignore[assignment] # that is what the reference asks for
try:
    from nats.aio.client import Client, Server
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription
    from nats.errors import Error as NatsError
    from nats.errors import MaxPayloadError, NoRespondersError, OutboundBufferLimitError
    from nats.errors import TimeoutError as NatsTimeoutError
finally:
    if _HIDES:
        del sys.modules["aiohttp"]

__all__ = [
    "Client",
    "MaxPayloadError",
    "Msg",
    "NatsError",
    "NatsTimeoutError",
    "NoRespondersError",
    "OutboundBufferLimitError",
    "Server",
    "Subscription",
]
