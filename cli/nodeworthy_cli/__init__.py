"""The command line, and later the embedded default: the one place that may import every service.

Belongs here: one file per verb, how answers are printed, exit codes. Does not belong here: anything that another program
could want; that is in the library or in a service.
"""
