"""The bus: what nodeworthy's services and users say to each other over NATS, and how it is stored.

Belongs here: every name on the bus, every message, the streams and buckets, and the ways to write, read, ask and answer that
hold what the design promises (nothing acknowledged is lost, absence is not evidence, one user per service). Does not belong
here: what the facts mean, and what a service does with a message.

This package exports nothing, so that whoever needs a part of it (the detector above all) loads that part only:
``from nodeworthy.bus import names, records``.
"""
