"""On what layer an image and a node disagree, what follows, and how sure that is."""

from enum import StrEnum


class Layer(StrEnum):
    """The four layers on which an image and a node can disagree."""

    ARCHITECTURE = "architecture"
    INSTRUCTION_SET = "instruction-set"
    KERNEL_AND_LIBRARIES = "kernel-and-libraries"
    ACCELERATOR = "accelerator"


class Effect(StrEnum):
    """What happens where a requirement is not met."""

    DOES_NOT_START = "does-not-start"
    CRASHES = "crashes"
    WRONG_RESULTS = "wrong-results"
    SLOWER = "slower"


class Sureness(StrEnum):
    """How sure a finding is; only certain ones make an image incompatible."""

    CERTAIN = "certain"
    PROBABLE = "probable"
    ADVISORY = "advisory"
