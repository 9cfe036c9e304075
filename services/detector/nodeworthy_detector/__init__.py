"""The detector: what one machine offers, read from its own files and its own processor, and said on the bus.

Belongs here: the sources that read a machine below a host root, the passes over them that make a snapshot, when to look
again, and the service that publishes it. Does not belong here: rules, default labels and verdicts (the shared library has
them), and any library beside msgspec and nats-py, which the bus library loads: this package runs on every node.
"""
