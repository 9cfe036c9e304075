"""A64 encodings by the feature that they need (Arm Architecture Reference Manual, DDI 0487, "A64 Instruction Set Encoding").

A row is (mask, value, feature): the instruction belongs to the feature where ``word & mask == value``; the first row that
fits counts. The features have the names of ``cpu.cpuid``, which are Linux's hardware capabilities in capitals
(Documentation/arch/arm64/elf_hwcaps.rst). What has no row is baseline ARMv8.0-A, or a hint that does nothing where it is
not known: PACIASP, BTI, ESB, DGH, CSDB.
"""

from functools import cache

BASELINE = ""
EXCLUSIVES = "exclusives"
"""Not a feature: LDXR, STXR and their kin, with which ARMv8.0 makes atomic operations."""

_ROWS: tuple[tuple[int, int, str], ...] = (
    # Exceptions to rows below.
    (0xFFFFFC00, 0x1EE24000, BASELINE),  # fcvt s, h
    (0xFFFFFC00, 0x1EE2C000, BASELINE),  # fcvt d, h
    (0xFF20FC00, 0x45009800, "SVEI8MM"),  # smmla, ummla, usmmla of SVE
    (0xFFE0F800, 0x04205800, "SME"),  # addsvl
    (0xFFE0F800, 0x04605800, "SME"),  # addspl
    (0xFFFFF800, 0x04BF5800, "SME"),  # rdsvl
    # Atomics of ARMv8.1: cas, casp, ldadd and kin, swp. Exclusives of ARMv8.0.
    (0x3FA07C00, 0x08A07C00, "ATOMICS"),
    (0xBFA07C00, 0x08207C00, "ATOMICS"),
    (0x3F208C00, 0x38200000, "ATOMICS"),
    (0x3F20FC00, 0x38208000, "ATOMICS"),
    (0x3FA00000, 0x08000000, EXCLUSIVES),
    (0xBFA00000, 0x88200000, EXCLUSIVES),
    # Ordered loads and stores.
    (0x3FFFFC00, 0x38BFC000, "LRCPC"),  # ldapr
    (0x3F200C00, 0x19000000, "ILRCPC"),  # ldapur, stlur
    # Integer.
    (0x7FE0E000, 0x1AC04000, "CRC32"),
    (0x7FE0F000, 0x1AC06000, "CSSC"),  # smax, smin, umax, umin
    (0x7FF00000, 0x11C00000, "CSSC"),  # the same with a number
    (0x7FFFFC00, 0x5AC02000, "CSSC"),  # abs
    (0x7FFFFC00, 0x5AC01C00, "CSSC"),  # cnt
    (0x7FFFFC00, 0x5AC01800, "CSSC"),  # ctz
    (0xFF000010, 0x54000010, "HBC"),
    (0xFB200C00, 0x19000400, "MOPS"),  # cpyf..., cpy..., set...
    (0xFFFFFFFF, 0xD500401F, "FLAGM"),  # cfinv
    (0xFFE07C10, 0xBA000400, "FLAGM"),  # rmif
    (0xFFFFBC1F, 0x3A00080D, "FLAGM"),  # setf8, setf16
    (0xFFFFFFFF, 0xD500405F, "FLAGM2"),  # axflag
    (0xFFFFFFFF, 0xD500403F, "FLAGM2"),  # xaflag
    # Cryptography.
    (0xFFFFCC00, 0x4E284800, "AES"),
    (0xBFE0FC00, 0x0EE0E000, "PMULL"),  # of 64 bits
    (0xFFE0CC00, 0x5E000000, "SHA1"),
    (0xFFFFEC00, 0x5E280800, "SHA1"),
    (0xFFE0EC00, 0x5E004000, "SHA2"),
    (0xFFE0FC00, 0x5E006000, "SHA2"),
    (0xFFFFFC00, 0x5E282800, "SHA2"),
    (0xFFE08000, 0xCE000000, "SHA3"),  # eor3
    (0xFFE08000, 0xCE200000, "SHA3"),  # bcax
    (0xFFE0FC00, 0xCE608C00, "SHA3"),  # rax1
    (0xFFE00000, 0xCE800000, "SHA3"),  # xar
    (0xFFE0FC00, 0xCE608000, "SHA512"),
    (0xFFE0FC00, 0xCE608400, "SHA512"),
    (0xFFE0FC00, 0xCE608800, "SHA512"),
    (0xFFFFFC00, 0xCEC08000, "SHA512"),
    (0xFFE08000, 0xCE400000, "SM3"),
    (0xFFE0C000, 0xCE408000, "SM3"),
    (0xFFE0F800, 0xCE60C000, "SM3"),
    (0xFFFFFC00, 0xCEC08400, "SM4"),
    (0xFFE0FC00, 0xCE60C800, "SM4"),
    # Vectors.
    (0xBF20F400, 0x2E008400, "ASIMDRDM"),
    (0xFF20F400, 0x7E008400, "ASIMDRDM"),
    (0xBF00D400, 0x2F00D000, "ASIMDRDM"),
    (0xFF00D400, 0x7F00D000, "ASIMDRDM"),
    (0xBF20E400, 0x2E00C400, "FCMA"),
    (0xBF20EC00, 0x2E00E400, "FCMA"),
    (0xBFC09400, 0x2F401000, "FCMA"),
    (0xBFC09400, 0x2F801000, "FCMA"),
    (0x9FE0FC00, 0x0E809400, "ASIMDDP"),
    (0x9FC0F400, 0x0F80E000, "ASIMDDP"),
    (0xDFE0FC00, 0x4E80A400, "I8MM"),
    (0xFFE0FC00, 0x4E80AC00, "I8MM"),
    (0xBFE0FC00, 0x0E809C00, "I8MM"),
    (0xBFC0F400, 0x0F80F000, "I8MM"),
    (0xBFC0F400, 0x0F00F000, "I8MM"),
    (0xBFE0FC00, 0x2E40FC00, "BF16"),
    (0xBFC0F400, 0x0F40F000, "BF16"),
    (0xFFE0FC00, 0x6E40EC00, "BF16"),
    (0xBFE0FC00, 0x2EC0FC00, "BF16"),
    (0xBFC0F400, 0x0FC0F000, "BF16"),
    (0xFFFFFC00, 0x1E634000, "BF16"),
    (0xBFFFFC00, 0x0EA16800, "BF16"),
    (0xBFE0FC00, 0x0E20EC00, "ASIMDFHM"),
    (0xBFE0FC00, 0x0EA0EC00, "ASIMDFHM"),
    (0xBFE0FC00, 0x2E20CC00, "ASIMDFHM"),
    (0xBFE0FC00, 0x2EA0CC00, "ASIMDFHM"),
    (0xBFC0B400, 0x0F800000, "ASIMDFHM"),
    (0xBFC0B400, 0x2F808000, "ASIMDFHM"),
    (0x9F60C400, 0x0E400400, "ASIMDHP"),
    (0xDF60C400, 0x5E400400, "ASIMDHP"),
    (0x9F7E0C00, 0x0E780800, "ASIMDHP"),
    (0xDF7E0C00, 0x5E780800, "ASIMDHP"),
    (0xBF7EFC00, 0x0E30C800, "ASIMDHP"),
    (0xBF7FFC00, 0x0E30F800, "ASIMDHP"),
    (0xBFC0B400, 0x0F001000, "ASIMDHP"),
    (0x9FC0F400, 0x0F009000, "ASIMDHP"),
    (0xBFF8FC00, 0x0F00FC00, "ASIMDHP"),
    (0xFFC0B400, 0x5F001000, "ASIMDHP"),
    (0xDFC0F400, 0x5F009000, "ASIMDHP"),
    (0x9FF0FC00, 0x0F10FC00, "ASIMDHP"),
    (0x9FF0FC00, 0x0F10E400, "ASIMDHP"),
    (0xDFF0FC00, 0x5F10FC00, "ASIMDHP"),
    (0xDFF0FC00, 0x5F10E400, "ASIMDHP"),
    # Floating point.
    (0x7FE00000, 0x1EE00000, "FPHP"),
    (0x7FE00000, 0x1EC00000, "FPHP"),
    (0xFFC00000, 0x1FC00000, "FPHP"),
    (0xFFFFFC00, 0x1E7E0000, "JSCVT"),
    (0xFFBE7C00, 0x1E284000, "FRINT"),
    (0x9FBFEC00, 0x0E21E800, "FRINT"),
    # Pointer authentication, without the hints.
    (0xFFFFFBFF, 0xD65F0BFF, "PACA"),  # retaa, retab
    (0xFE9FF800, 0xD61F0800, "PACA"),  # braa, blraa and kin
    (0xFFFFC000, 0xDAC10000, "PACA"),  # pacia, autia and kin
    (0xFFFFFBE0, 0xDAC143E0, "PACA"),  # xpaci, xpacd
    (0xFF200400, 0xF8200400, "PACA"),  # ldraa, ldrab
    (0xFFE0FC00, 0x9AC03000, "PACG"),
    # System.
    (0xFFFFF800, 0xD5380000, "CPUID"),  # mrs of an ID register: Linux 4.11 emulates it
    (0xFFFFFFFF, 0xD50330FF, "SB"),
    (0xFFFFFFE0, 0xD50B7C20, "DCPOP"),
    (0xFFFFFFE0, 0xD50B7D20, "DCPODP"),
    (0xFFFFFFC0, 0xD53B2400, "RNG"),
    (0xFFDFFFE0, 0xD51B42A0, "DIT"),
    (0xFFFFF0FF, 0xD503405F, "DIT"),
    (0xFFDFFFE0, 0xD51B42C0, "SSBS"),
    (0xFFFFF0FF, 0xD503403F, "SSBS"),
    (0xFFFFF0FF, 0xD503407F, "SME"),  # smstart, smstop
    (0xFFFFFFC0, 0xD5031000, "WFXT"),
    # Memory tagging.
    (0xFFE0FC00, 0x9AC01000, "MTE"),
    (0xFFE0FC00, 0x9AC01400, "MTE"),
    (0xDFE0FC00, 0x9AC00000, "MTE"),
    (0xBFC0C000, 0x91800000, "MTE"),
    (0xFF200000, 0xD9200000, "MTE"),
    (0xFE400000, 0x68000000, "MTE"),
    # Scalable vectors and matrices.
    (0xFF000000, 0x45000000, "SVE2"),
    (0xFF208000, 0x44008000, "SVE2"),
    (0x9E000000, 0x80000000, "SME"),
    (0x1E000000, 0x04000000, "SVE"),
)

LEVELS = {
    "ARMv8.1": frozenset({"ATOMICS", "CRC32", "ASIMDRDM"}),
    "ARMv8.2": frozenset({"DCPOP"}),
    "ARMv8.3": frozenset({"FCMA", "JSCVT", "LRCPC", "PACA"}),
}
"""What the first levels add, of what an instruction shows."""

ONLY_OURS = frozenset({"CSSC", "HBC", "MOPS"})
"""Capabilities that NFD drops: they are asked of ``cpu.hwcap``."""

_SHIFT = 21
"""A table over the upper eleven bits sorts out nearly all words at once."""


def _rows_of(upper: int) -> tuple[tuple[int, int, str], ...]:
    return tuple(row for row in _ROWS if not (upper << _SHIFT ^ row[1]) & row[0] >> _SHIFT << _SHIFT)


_ROWS_BY_UPPER = tuple(_rows_of(upper) for upper in range(2048))
CANDIDATES = bytes(bool(rows) for rows in _ROWS_BY_UPPER)
"""By the upper eleven bits of a word: 1 where some row may fit."""


@cache
def feature_of(word: int) -> str:
    """The feature that a word needs, :data:`EXCLUSIVES`, or :data:`BASELINE`."""
    for mask, value, feature in _ROWS_BY_UPPER[word >> _SHIFT]:
        if word & mask == value:
            return feature
    return BASELINE
