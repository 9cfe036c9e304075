"""What an image needs, read from its own files. Nothing of an image is ever executed.

Belongs here: the files of an image as one tree (tree, layers/), ELF files (elf/), what is executed when the image is run
and what that loads (closure/), the use of instructions (instructions/), and one file for each kind of thing that files tell
(readings/). Does not belong here: registries and manifests (oci/), nodes, and what a requirement means for one (verdicts).
The recipe for a new reading is in docs/inspection.md.
"""
