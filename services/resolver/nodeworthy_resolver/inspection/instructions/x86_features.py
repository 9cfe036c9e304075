"""CPU features of x86 instructions: iced-x86's names to those of set ``cpu.cpuid``.

What is not in the table asks for nothing: every 64-bit CPU has it (SSE2, CMOV), it does nothing where it is not known
(ENDBR64, RDSSPQ, PREFETCHW, CLDEMOTE, XACQUIRE, PAUSE), the kernel alone uses it, NFD has no name for it (FSGSBASE,
RDPID), or it is how programs ask before they use something (XGETBV, XSAVE). 3DNow!, XOP and the like are left out
because in real files they are data between functions.
"""

NAMES = {
    "ADX": "ADX",
    "AES": "AESNI",
    "AMX_BF16": "AMXBF16",
    "AMX_COMPLEX": "AMXCOMPLEX",
    "AMX_FP16": "AMXFP16",
    "AMX_INT8": "AMXINT8",
    "AMX_TILE": "AMXTILE",
    "AVX": "AVX",
    "AVX2": "AVX2",
    "AVX512BW": "AVX512BW",
    "AVX512CD": "AVX512CD",
    "AVX512DQ": "AVX512DQ",
    "AVX512ER": "AVX512ER",
    "AVX512F": "AVX512F",
    "AVX512PF": "AVX512PF",
    "AVX512VL": "AVX512VL",
    "AVX512_BF16": "AVX512BF16",
    "AVX512_BITALG": "AVX512BITALG",
    "AVX512_FP16": "AVX512FP16",
    "AVX512_IFMA": "AVX512IFMA",
    "AVX512_VBMI": "AVX512VBMI",
    "AVX512_VBMI2": "AVX512VBMI2",
    "AVX512_VNNI": "AVX512VNNI",
    "AVX512_VP2INTERSECT": "AVX512VP2INTERSECT",
    "AVX512_VPOPCNTDQ": "AVX512VPOPCNTDQ",
    "AVX_IFMA": "AVXIFMA",
    "AVX_NE_CONVERT": "AVXNECONVERT",
    "AVX_VNNI": "AVXVNNI",
    "AVX_VNNI_INT16": "AVXVNNIINT16",
    "AVX_VNNI_INT8": "AVXVNNIINT8",
    "BMI1": "BMI1",
    "BMI2": "BMI2",
    "CLZERO": "CLZERO",
    "CMPCCXADD": "CMPCCXADD",
    "CMPXCHG16B": "CX16",
    "ENQCMD": "ENQCMD",
    "F16C": "F16C",
    "FMA": "FMA3",
    "FMA4": "FMA4",
    "GFNI": "GFNI",
    "LZCNT": "LZCNT",
    "MOVBE": "MOVBE",
    "MOVDIR64B": "MOVDIR64B",
    "MOVDIRI": "MOVDIRI",
    "PCLMULQDQ": "CLMUL",
    "POPCNT": "POPCNT",
    "RDPRU": "RDPRU",
    "RDRAND": "RDRAND",
    "RDSEED": "RDSEED",
    "RDTSCP": "RDTSCP",
    "RTM": "RTM",
    "SERIALIZE": "SERIALIZE",
    "SHA": "SHA",
    "SM3": "SM3_X86",
    "SM4": "SM4_X86",
    "SSE3": "SSE3",
    "SSE4A": "SSE4A",
    "SSE4_1": "SSE4",
    "SSE4_2": "SSE42",
    "SSSE3": "SSSE3",
    "TSXLDTRK": "TSXLDTRK",
    "VAES": "VAES",
    "VPCLMULQDQ": "VPCLMULQDQ",
    "WAITPKG": "WAITPKG",
}
"""iced-x86 (CpuidFeature) to NFD (klauspost/cpuid)."""

SILENT = frozenset({"LZCNT"})
"""No illegal instruction on a CPU without it, but another result: there ``lzcnt`` runs as ``bsr`` (Intel SDM, "LZCNT").
``tzcnt`` runs as ``bsf`` and is written by compilers that know it (GCC, "tzcnt" as ``rep bsf``): it counts for nothing."""

LEVELS = {
    "X86_64_V2": frozenset({"CX16", "POPCNT", "SSE3", "SSE4", "SSE42", "SSSE3"}),
    "X86_64_V3": frozenset({"AVX", "AVX2", "BMI1", "BMI2", "F16C", "FMA3", "MOVBE"}),
    "X86_64_V4": frozenset({"AVX512F", "AVX512BW", "AVX512CD", "AVX512DQ", "AVX512VL"}),
}
"""What each level adds, of what an instruction shows (x86-64 psABI, "Micro-Architecture Levels")."""
