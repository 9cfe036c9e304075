"""The facts of x86 processors out of /proc/cpuinfo.

It is what the recording of another machine, and a system that does not let CPUID be executed, still tell. The file shows
what the kernel lets programs use, for every processor; it has no word for about half of NFD's flags. Those go to
``unobserved``, unless what they need is known not to be there. An old kernel has no word for a new flag either, so a flag
newer than the kernel reads as absent; programs cannot count on it there.
"""

from nodeworthy_detector.cpuinfo import Cpuinfo
from nodeworthy_detector.sources.cpu.knowledge import Flag, Knowledge, is_safe_from_tsa, is_slow_avx
from nodeworthy_detector.sources.cpu.processor import Processor

_RULED = frozenset(
    {
        "HTT",
        "PMU_FIXEDCOUNTER_CYCLES",
        "PMU_FIXEDCOUNTER_INSTRUCTIONS",
        "PMU_FIXEDCOUNTER_REFCYCLES",
        "PMU_FIXEDCOUNTER_TOPDOWN_SLOTS",
    }
)
"""Flags without a bit of their own that the file does not tell for sure."""

_MITIGATIONS = frozenset({"IBRS", "SPEC_CTRL_SSBD", "CETSS"})
"""Flags whose words Linux also shows, or hides, for reasons of its own."""


def decode_cpuinfo(info: Cpuinfo, knowledge: Knowledge) -> Processor:
    """Everything that the file tells of x86 processors; of a flag, what all of them have."""
    words = info.words("flags")
    vendor = knowledge.vendor(info.only("vendor_id") or "")
    flags, unobserved = (None, frozenset[str]()) if words is None else _flags(words, info, vendor, knowledge)
    return Processor(
        flags=flags,
        unobserved=unobserved,
        maker=vendor,
        name=model_name(info),
        stepping=info.only("stepping"),
        microcode=info.only("microcode"),
        attributes=None if words is None else {},
        vendor=vendor,
        family=info.only("cpu family"),
        model=info.only("model"),
        hypervisor="none" if words is not None and "hypervisor" not in words else None,
        rdt=None if words is None else _rdt(words, vendor),
        sgx_epc=0 if words is not None and "sgx" not in words else None,
    )


def model_name(info: Cpuinfo) -> str | None:
    """What all processors are called; Linux writes ``unknown`` where the processor does not say."""
    name = info.only("model name")
    return None if name == "unknown" else name


def drop_uneven(flags: frozenset[str], info: Cpuinfo, knowledge: Knowledge) -> frozenset[str]:
    """The flags of one processor without those that some other processor of the machine lacks (hybrid machines)."""
    uneven = info.uneven_words("flags")
    dropped = {flag.name for flag in knowledge.flags if flag.cpuinfo in uneven}
    kept = frozenset(flag for flag in flags - dropped if not flag.startswith("X86_64_V"))
    return kept | knowledge.levels_of(kept)


def _flags(
    words: frozenset[str], info: Cpuinfo, vendor: str | None, knowledge: Knowledge
) -> tuple[frozenset[str], frozenset[str]]:
    flags = {flag.name for flag in knowledge.flags if flag.cpuinfo in words and _is_of(flag, vendor)}
    flags |= _implied(words, vendor)
    sure, unsure = _by_rule(flags, words, info, vendor)
    flags |= sure
    return frozenset(flags | knowledge.levels_of(frozenset(flags))), unsure | _untold(flags, vendor, knowledge)


def _is_of(flag: Flag, vendor: str | None) -> bool:
    """Whether NFD takes the flag from processors of this vendor: those of AMD's alone have SEV for it, and not Hygon's."""
    return all(need == f"vendor:{vendor}" for need in flag.needs if need.startswith("vendor:"))


def _implied(words: frozenset[str], vendor: str | None) -> set[str]:
    implied = {
        "OSXSAVE": "xsave" in words,  # Linux switches it on wherever it keeps XSAVE
        "POPCNT": "abm" in words,  # AMD's name for LZCNT and POPCNT together
        "CETSS": "user_shstk" in words,
        "TDX_GUEST": "tdx_guest" in words,
        "IBRS": "ibrs" in words and vendor in {"AMD", "Hygon"},  # NFD looks at AMD's bit only
        "SPEC_CTRL_SSBD": "ssbd" in words and vendor == "Intel",  # old AMD processors do it in another way
    }
    return {flag for flag, is_there in implied.items() if is_there}


def _by_rule(
    flags: set[str], words: frozenset[str], info: Cpuinfo, vendor: str | None
) -> tuple[set[str], frozenset[str]]:
    sure: set[str] = set()
    unsure = set(_RULED)
    family, model = _number(info.only("cpu family")), _number(info.only("model"))
    if family is not None and model is not None:
        if "AVX" in flags and is_slow_avx(vendor, family, model):
            sure.add("AVXSLOW")
        if vendor == "AMD" and is_safe_from_tsa(family, model):
            sure |= {"TSA_L1_NO", "TSA_SQ_NO"}
    elif "AVX" in flags:
        unsure.add("AVXSLOW")
    siblings, cores = _number(info.only("siblings")), _number(info.only("cpu cores"))
    if "ht" not in words or vendor not in {"Intel", "AMD"}:
        unsure.discard("HTT")
    elif siblings and cores and siblings > cores:
        sure.add("HTT")
        unsure.discard("HTT")
    unsure |= _hidden_mitigations(flags, words, vendor)
    return sure, frozenset(unsure)


def _hidden_mitigations(flags: set[str], words: frozenset[str], vendor: str | None) -> set[str]:
    hidden = set(_MITIGATIONS - flags)
    if vendor == "Intel" or "ibrs" not in words:
        hidden.discard("IBRS")
    if "ssbd" not in words:
        hidden.discard("SPEC_CTRL_SSBD")
    return hidden


def _untold(flags: set[str], vendor: str | None, knowledge: Knowledge) -> frozenset[str]:
    """The flags that Linux has no word for, without those that need what is known not to be there."""
    untold: set[str] = set()
    possible = {*flags, f"vendor:{vendor}"}
    if "AVX512F" in flags:  # Linux shows it only where it saves the registers
        possible.add("state:avx512")
    for flag in knowledge.flags:
        if flag.cpuinfo or flag.name in flags or flag.name in _MITIGATIONS or flag.name == "OSXSAVE":
            continue
        if all(need in possible for need in flag.needs):
            untold.add(flag.name)
            possible.add(flag.name)
    return frozenset({*untold, "AVX10_VERSION"} if "AVX10" in untold else untold)


def _rdt(words: frozenset[str], vendor: str | None) -> frozenset[str]:
    """Linux's words for the same bits; ``mba`` is another bit on AMD processors."""
    monitors = {"cqm", "cqm_llc"} <= words
    found = {
        "RDTMON": monitors,
        "RDTCMT": monitors and "cqm_occup_llc" in words,
        "RDTMBM": monitors and {"cqm_mbm_total", "cqm_mbm_local"} <= words,
        "RDTL3CA": {"rdt_a", "cat_l3"} <= words,
        "RDTL2CA": {"rdt_a", "cat_l2"} <= words,
        "RDTMBA": {"rdt_a", "mba"} <= words and vendor == "Intel",
    }
    return frozenset(name for name, is_there in found.items() if is_there)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None  # noqa: PLR2004 # 32 bits
