"""The table of A64 encodings, held against capstone's reading of the same words."""

import random
import re
import struct
from collections import defaultdict

import capstone
import pytest

from nodeworthy_resolver.inspection.instructions.arm64_words import BASELINE, EXCLUSIVES, feature_of

NAMES = {
    "ATOMICS": r"(casp?|swp|(ld|st)(add|clr|eor|set|smax|smin|umax|umin))(a|l|al)?[bh]?",
    "LRCPC": r"ldapr[bh]?",
    "ILRCPC": r"(ldapur|stlur)(s?[bhw])?",
    "CRC32": r"crc32c?[bhwx]",
    "AES": r"aes(e|d|mc|imc)",
    "PMULL": r"pmull2?",
    "SHA1": r"sha1(c|p|m|h|su0|su1)",
    "SHA2": r"sha256(h|h2|su0|su1)",
    "SHA3": r"eor3|bcax|rax1|xar",
    "SHA512": r"sha512(h|h2|su0|su1)",
    "SM3": r"sm3\w+",
    "SM4": r"sm4e(key)?",
    "ASIMDRDM": r"sqrdml[as]h",
    "FCMA": r"fcmla|fcadd",
    "ASIMDDP": r"[su]dot",
    "I8MM": r"(s|u|us)mmla|usdot|sudot",
    "BF16": r"bf\w+",
    "ASIMDFHM": r"fml[as]l2?",
    "ASIMDHP": r"f\w+|[su]cvtf",
    "FPHP": r"f\w+|[su]cvtf",
    "JSCVT": r"fjcvtzs",
    "FRINT": r"frint(32|64)[xz]",
    "FLAGM": r"cfinv|rmif|setf(8|16)",
    "FLAGM2": r"axflag|xaflag",
    "PACA": r"ret(aa|ab)|bl?ra[ab]z?|(pac|aut)[id]z?[ab]|xpac[id]|ldra[ab]",
    "PACG": r"pacga",
    "MOPS": r"(cpyf?|setg?)[pme]\w*",
    "HBC": r"bc\.\w+",
    "CPUID": r"mrs",
    "RNG": r"mrs",
    "SB": r"sb",
    "WFXT": r"wfet|wfit",
    "MTE": r"irg|gmi|subps?|addg|subg|st?z?2?g|stz?g|stz?2g|ldg|stgp|ldgm|stgm|stzgm",
    EXCLUSIVES: r"(ld|st)(a|l)?x[rp][bh]?",
}
"""What capstone calls the instructions of a feature."""

NEVER_BASELINE = re.compile(
    "|".join(
        f"(?:{NAMES[name]})"
        for name in NAMES
        if name not in {"ASIMDHP", "FPHP", "CPUID", "RNG", "PMULL", "MTE", "BF16", EXCLUSIVES}
    )
)


@pytest.fixture(scope="module")
def seen() -> dict[str, dict[str, str]]:
    """Random words by the feature that the table gives them: capstone's name to one example each."""
    decoder = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM)
    choose = random.Random(20_241_130)
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for _ in range(150_000):
        word = choose.getrandbits(32)
        for one in decoder.disasm(struct.pack("<I", word), 0):
            found[feature_of(word)][one.mnemonic] = f"{word:08x} {one.mnemonic} {one.op_str}"
    return found


@pytest.mark.parametrize("feature", sorted(NAMES))
def test_words_of_a_feature_are_what_capstone_calls_so(seen: dict[str, dict[str, str]], feature: str) -> None:
    assert [text for name, text in seen[feature].items() if not re.fullmatch(NAMES[feature], name)] == []


def test_no_word_of_the_baseline_is_newer_to_capstone(seen: dict[str, dict[str, str]]) -> None:
    assert [text for name, text in seen[BASELINE].items() if NEVER_BASELINE.fullmatch(name)] == []


def test_no_word_of_the_baseline_has_registers_of_sve_or_sme(seen: dict[str, dict[str, str]]) -> None:
    assert [text for text in seen[BASELINE].values() if re.search(r"\b(z\d+|p\d+[./]|za)", text)] == []


@pytest.mark.parametrize(
    ("word", "feature"),
    [
        (0xB8E20021, "ATOMICS"),  # ldaddal w2, w1, [x1]
        (0xD5380600, "CPUID"),  # mrs x0, id_aa64isar0_el1
        (0xD65F0BFF, "PACA"),  # retaa
        (0xDAC143E0, "PACA"),  # xpaci x0
        (0xD503233F, BASELINE),  # paciasp
        (0xD503245F, BASELINE),  # bti c
        (0xD503221F, BASELINE),  # esb
        (0xD50320DF, BASELINE),  # dgh
        (0x1EE24000, BASELINE),  # fcvt s0, h0
        (0x1EE22800, "FPHP"),  # fadd h0, h0, h2
        (0x04BF5020, "SVE"),  # rdvl x0, #1
        (0x04BF5820, "SME"),  # rdsvl x0, #1
        (0xD503477F, "SME"),  # smstart
        (0x885FFC20, EXCLUSIVES),  # ldaxr w0, [x1]
        (0x19000400, "MOPS"),  # cpyfp
        (0x5AC01C20, "CSSC"),  # cnt w0, w1
    ],
)
def test_words_from_public_cases(word: int, feature: str) -> None:
    assert feature_of(word) == feature
