"""The embedded default: a real nats-server for one machine, started and stopped by ``nodeworthy up``.

Belongs here: the server as a child process, its data folder, its users and passwords, and how others on this machine find
it. Does not belong here: what users may do (``nodeworthy.bus.permissions``), streams and messages (``nodeworthy.bus``), and
anything that a cluster or a server of the operator's own would need.
"""
