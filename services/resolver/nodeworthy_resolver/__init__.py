"""The resolver: asks registries what images are made of and what they declare, and keeps the answers for everybody.

Belongs here: the service that answers ``resolve`` and ``attach`` on the bus, its cache in bucket ``images``, and below oci/
all that is known of registries. Does not belong here: what a specification means, verdicts, and anything that reads layers.
The only service that holds credentials of registries; none of them, and nothing of a layer, leaves it.
"""
