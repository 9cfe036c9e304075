"""What nodeworthy's services share, and the library that other programs import.

Belongs here: what two services use or say to each other: the feature model, the rule language, verdicts, what is known of
an image, the names of the bus, a client of Kubernetes, one error tree. Does not belong here: anything that reads a node,
talks to a registry, knows what is written to a cluster, or prints for a person; those live in the services and the command
line, which this package never imports.
"""
