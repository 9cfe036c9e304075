"""Signs that a file chooses code by what the CPU can, and the functions in which it does."""

import posixpath
import re
from collections.abc import Callable, Mapping

from nodeworthy_resolver.inspection.instructions.code import Code
from nodeworthy_resolver.inspection.instructions.steps import LEADING, Step
from nodeworthy_resolver.inspection.instructions.usage import Usage

_ASKING = frozenset(
    {
        "getauxval",
        "__getauxval",
        "elf_aux_info",
        "__cpu_model",
        "__cpu_indicator_init",
        "__cpu_features2",
        "__get_cpu_features",
        "__x86_get_cpuid_feature_leaf",
        "__aarch64_cpu_features",
        "__init_cpu_features",
        "__init_cpu_features_resolver",
        "android_getCpuFeatures",
        "cpuinfo_initialize",
    }
)
"""Functions and variables of libc, libgcc and compiler-rt that tell what the CPU can."""

_VARIANT = re.compile(
    r"(?:^|[_.\-])(?:avx\w*|fma[34]?|sse[234]\w*|ssse3|evex\w*|sve\w*|neon\w*|aesni|haswell|zen\w*|skylakex?|cooperlake|"
    r"sapphirerapids|sandybridge|nehalem|icelake|x86[-_]64[-_]v[234]|arch_(?:haswell|skylake|x86_64_v[234])|"
    r"armv[89]\.?[0-9]\w*|lse|dotprod|i8mm|bf16)(?:$|[_.\-\d])",
    re.IGNORECASE,
)
"""In the name of a function or file: made for some CPUs, beside one for all."""
_FAMILIES = re.compile(r"/glibc-hwcaps/|/lib(?:ggml-cpu|mkl|mklml|openblas|blis|svml)[-_]")
"""Folders and families of libraries of which a loader picks one by the CPU (ld.so(8), "Hardware capabilities")."""
_NEAR = 16
"""Bytes around an address: libgcc's ``__cpu_model`` has 16."""
_MIN_VARIANTS = 3


def is_variant(path: str) -> bool:
    """Whether a file is one of several, of which another one chooses by the CPU."""
    return bool(_FAMILIES.search(path) or _VARIANT.search(posixpath.basename(path)))


def choosing_signs(path: str, code: Code, usage: Usage) -> tuple[str, ...]:
    """In words, what shows that a file chooses at run time; empty where nothing does."""
    imports = sorted({name for name in (*code.imports.values(), *code.names.values()) if name in _ASKING})
    variants = [name for name in code.names.values() if _VARIANT.search(name)]
    signs = [
        (bool(is_variant(path)), f"its name, {posixpath.basename(path)}"),
        (code.chooses, "functions that are chosen when it is loaded (IFUNC)"),
        (bool(usage.asking), f"its code that asks the CPU itself, in {len(usage.asking)} places"),
        (bool(imports), f"its use of {', '.join(imports[:3])}"),
        (len(variants) >= _MIN_VARIANTS, f"names of functions as {variants[0] if variants else ''}"),
    ]
    return tuple(text for there, text in signs if there)


def choosing_test(
    code: Code, usage: Usage, bodies: Mapping[int, Mapping[int, Step]]
) -> Callable[[Mapping[int, Step]], bool]:
    """A test for functions that look at what the CPU can: what they call then may be for some CPUs only.

    They ask themselves, call what tells, or read what an asking function wrote; ``bodies`` are the asking ones.
    """
    touched = {step.memory for steps in bodies.values() for step in steps.values() if step.memory}
    written = {address for address in touched if code.is_writable(address)}
    slots = {slot for slot, name in code.imports.items() if name in _ASKING}
    models = {address // _NEAR for address, name in code.variables.items() if name in _ASKING}

    def chooses(steps: Mapping[int, Step]) -> bool:
        if not usage.asking.isdisjoint(steps):
            return True
        for step in steps.values():
            if step.memory and (step.memory in slots or step.memory in written or step.memory // _NEAR in models):
                return True
            if step.flow in LEADING and code.callee(step)[1] in _ASKING:
                return True
        return False

    return chooses
