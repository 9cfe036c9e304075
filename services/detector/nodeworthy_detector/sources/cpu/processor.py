"""What was found out about the processors of a machine, from whichever place told it."""

import msgspec


class Processor(msgspec.Struct, frozen=True):
    """The facts of all processors together: of flags, those that every one has.

    ``None`` is "not told by this place", which differs from an empty answer.
    """

    flags: frozenset[str] | None = None
    """NFD's names for cpu.cpuid."""
    unobserved: frozenset[str] = frozenset()
    """Elements of cpu.cpuid that the place cannot tell; disjoint from ``flags`` and ``attributes``."""
    attributes: dict[str, str] | None = None
    """NFD's attributes of cpu.cpuid."""
    vendor: str | None = None
    """NFD's name of the vendor."""
    family: str | None = None
    model: str | None = None
    hypervisor: str | None = None
    """Its name, or ``none``."""
    rdt: frozenset[str] | None = None
    """NFD's names for cpu.rdt."""
    sgx_epc: int | None = None
    """Bytes of protected memory that firmware set aside for SGX; 0 if SGX is off."""
    nominal_mhz: int | None = None
    """The frequency on the label, CPUID leaf 0x16; 0 if the processor does not say."""
    maker: str | None = None
    """The vendor in a word, also where NFD has none."""
    name: str | None = None
    """What the model is called, in words."""
    stepping: str | None = None
    microcode: str | None = None
    """As Linux writes it, ``0x2b000603``."""
