"""The detector: what one machine offers, read from its own files and its own processor.

Belongs here: the sources that read a machine below a host root, and the pass over them that makes a snapshot. Does not
belong here: rules, default labels and verdicts (the shared library has them), and any library beside msgspec: this
package runs on every node.
"""
