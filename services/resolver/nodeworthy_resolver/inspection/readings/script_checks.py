"""What the scripts that start look for in /proc/cpuinfo, to end with an error where it is not there.

::

    grep -q avx2 /proc/cpuinfo || { echo "this image needs AVX2"; exit 1; }
    if ! lscpu | grep -qw sse4_2; then
        exit 1
    fi

Many more only choose or warn by it, so a failing exit has to stand in the same line or block. Whether a script comes that
far is not known: nothing of this is sure.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from nodeworthy.requirements import Effect, Evidence, Layer, Requirement, Sureness
from nodeworthy.requirements.conditions import has_flags
from nodeworthy_resolver.inspection.readings.findings import Findings, architecture, reach, weaker
from nodeworthy_resolver.inspection.subject import Outcome, Subject

_MAX_SCRIPT = 256 * 1024
_MAX_BLOCK = 12
"""Lines from the question to the end; messages to the user stand between them."""
_COMMANDS = re.compile(r"\|\||&&|;")
_ASKING = re.compile(r"/proc/cpuinfo|\blscpu\b")
_WORD = re.compile(r"[a-z][a-z0-9_]+")
_EITHER = re.compile(r"[a-z0-9_]\\?\|[a-z]")
"""``avx2|avx512f`` in a pattern: one of them suffices."""
_FAILING = re.compile(r"\bexit\s+[1-9]|\b(?:die|fatal)\b")
_OPENING = re.compile(r"\b(?:if|then)\b|\{\s*$|(?:\|\||&&)\s*$")
_CLOSED = re.compile(r";\s*fi\b")
_CLOSING = re.compile(r"\s*(?:(?:fi|elif|esac|done)\b|\})")
_COMMENT = re.compile(r"(?:^|\s)#.*")

_SAME_ON_X86 = "adx avx avx2 bmi1 bmi2 cx16 f16c gfni movbe popcnt rdrand rdseed rdtscp ssse3 vaes vpclmulqdq"
_NAMED_OTHERWISE = {"abm": "LZCNT", "aes": "AESNI", "fma": "FMA3", "pclmulqdq": "CLMUL", "pni": "SSE3"}
_X86: Mapping[str, str] = {
    **{name: name.upper() for name in _SAME_ON_X86.split()},
    **{f"avx512{part}": f"AVX512{part.upper()}" for part in ("f", "bw", "cd", "dq", "vl", "ifma", "vbmi")},
    **{f"avx512_{part}": f"AVX512{part.upper()}" for part in ("bf16", "bitalg", "fp16", "vbmi2", "vnni", "vpopcntdq")},
    **{f"amx_{part}": f"AMX{part.upper()}" for part in ("bf16", "int8", "tile")},
    "sha_ni": "SHA",
    "sse4_1": "SSE4",
    "sse4_2": "SSE42",
    **_NAMED_OTHERWISE,
}
_SAME_ON_ARM64 = "aes asimddp asimdhp asimdrdm atomics bf16 crc32 i8mm lrcpc pmull sha2 sve sve2"
_ARM64: Mapping[str, str] = {name: name.upper() for name in _SAME_ON_ARM64.split()}
_NAMES = {"amd64": _X86, "arm64": _ARM64}
"""Linux's names (arch/x86/include/asm/cpufeatures.h, arch/arm64/kernel/cpuinfo.c) to NFD's."""


def read_script_checks(subject: Subject) -> Outcome:
    """The CPU features without which a script that starts gives up."""
    findings = Findings()
    known = _NAMES.get(architecture(subject), {})
    for path in subject.start.chain:
        if known and path not in subject.elves:
            text = findings.text(subject, path, _MAX_SCRIPT) or ""
            findings.requirements.extend(
                _requirement(path, number, line, flags, weaker(Sureness.PROBABLE, reach(subject, path)))
                for number, line, flags in find_checks(text, known)
            )
    return findings.outcome()


def find_checks(text: str, known: Mapping[str, str]) -> Iterator[tuple[int, str, frozenset[str]]]:
    """The lines that ask for features and lead to a failing end: number, line, NFD's names."""
    lines = [_COMMENT.sub("", line) for line in text.replace("\\\n", " ").splitlines()]
    for number, line in enumerate(lines):
        asking = [part for part in _COMMANDS.split(line) if _ASKING.search(part)]
        flags = frozenset(known[word] for part in asking for word in _WORD.findall(part) if word in known)
        if flags and not any(map(_EITHER.search, asking)) and _is_failing(lines[number : number + _MAX_BLOCK]):
            yield number + 1, line.strip(), flags


def _is_failing(block: Sequence[str]) -> bool:
    """Whether a script may end badly before the block that begins with its first line is over."""
    first, *others = block
    if _FAILING.search(first):
        return True
    if not _OPENING.search(first) or _CLOSED.search(first):
        return False
    for line in others:
        if _CLOSING.match(line):
            return False
        if _FAILING.search(line):
            return True
    return False


def _requirement(path: str, number: int, line: str, flags: frozenset[str], sureness: Sureness) -> Requirement:
    return Requirement(
        code="script-check",
        text=f"a CPU with {', '.join(sorted(flags))}, for which {path} looks before it goes on",
        layer=Layer.INSTRUCTION_SET,
        effect=Effect.DOES_NOT_START,
        sureness=sureness,
        match_features=(has_flags("cpu.cpuid", flags),),
        evidence=(Evidence(path, f"line {number}: {line[:200]}", rule="the script's own check"),),
        remedy="a node whose CPU, or virtual CPU, shows these features",
    )
