"""Singularity and Apptainer image files (SIF), read only.

Belongs here: the file's header and descriptors, and the OCI layout that newer files hold in the place of a file system.
Does not belong here: the file system inside.
"""

from nodeworthy_resolver.oci.sif.images import SPEC_ENDING, read_sif

__all__ = ["SPEC_ENDING", "read_sif"]
