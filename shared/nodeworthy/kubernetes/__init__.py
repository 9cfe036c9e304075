"""A thin client of the Kubernetes API, for the labeler and the command line.

Belongs here: finding an API server and what it wants to be shown, requests with typed refusals, an honest list and watch,
membership Leases and Events. Objects stay JSON bytes; whoever asks decodes the fields that it needs. Does not belong here:
what labels and rules mean, and typed models of whole Kubernetes kinds (a model costs more than the request it describes).

This package exports nothing, as the bus: ``from nodeworthy.kubernetes import client, reflector``. It loads aiohttp, and YAML
only where a kubeconfig is read.
"""
