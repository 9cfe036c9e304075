"""x86-64 code, decoded with iced-x86.

One pass of C code per function tells which opcodes it has (some 10 MB/s); instruction by instruction, Python sees only the
few functions that are followed from the entry point.
"""

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from operator import attrgetter
from typing import NamedTuple

import iced_x86
from iced_x86 import Decoder, EncodingKind, Formatter, FormatterSyntax, Instruction, Mnemonic, OpKind, Register

from nodeworthy_resolver.inspection.instructions.steps import NOTHING, Flow, Step, Style
from nodeworthy_resolver.inspection.instructions.x86_features import NAMES


def _numbered(enumeration: object) -> dict[int, str]:
    return {value: name for name, value in vars(enumeration).items() if name.isupper() and isinstance(value, int)}


_FEATURES = {value: NAMES[name] for value, name in _numbered(iced_x86.CpuidFeature).items() if name in NAMES}
_SSE = frozenset(
    getattr(iced_x86.CpuidFeature, name) for name in ("SSE", "SSE2", "SSE3", "SSSE3", "SSE4_1", "SSE4_2", "SSE4A")
)
_VECTORS = frozenset(
    getattr(iced_x86.CpuidFeature, name) for name in ("AVX", "AVX2", "FMA", "F16C", "AVX_VNNI", "VAES", "VPCLMULQDQ")
)
_NO_VECTORS = frozenset(
    getattr(Mnemonic, name)
    for name in (
        "LFENCE",
        "MFENCE",
        "SFENCE",
        "CLFLUSH",
        "MOVNTI",
        "LDMXCSR",
        "STMXCSR",
        "VLDMXCSR",
        "VSTMXCSR",
        "PREFETCHT0",
        "PREFETCHT1",
        "PREFETCHT2",
        "PREFETCHNTA",
        "CRC32",
        "FISTTP",
        "MONITOR",
        "MWAIT",
        "VZEROUPPER",
        "VZEROALL",
    )
)
"""SSE and AVX instructions that say nothing of how a function's arithmetic is encoded."""
_ASKING = frozenset({Mnemonic.CPUID, Mnemonic.XGETBV})
_FLOWS = {
    iced_x86.FlowControl.NEXT: Flow.NEXT,
    iced_x86.FlowControl.CONDITIONAL_BRANCH: Flow.BRANCH,
    iced_x86.FlowControl.UNCONDITIONAL_BRANCH: Flow.JUMP,
    iced_x86.FlowControl.INDIRECT_BRANCH: Flow.JUMP_THROUGH,
    iced_x86.FlowControl.CALL: Flow.CALL,
    iced_x86.FlowControl.INDIRECT_CALL: Flow.CALL_THROUGH,
    iced_x86.FlowControl.RETURN: Flow.RETURN,
    iced_x86.FlowControl.INTERRUPT: Flow.TRAP,
    iced_x86.FlowControl.EXCEPTION: Flow.END,
    iced_x86.FlowControl.XBEGIN_XABORT_XEND: Flow.NEXT,
}
_TRAPS = frozenset({Mnemonic.UD0, Mnemonic.UD1, Mnemonic.UD2})
_KERNEL_CALLS = frozenset({Mnemonic.SYSCALL, Mnemonic.SYSENTER})
_FIRST_ARGUMENT = frozenset({Register.RDI, Register.EDI})
_MAX_STUB = 4
"""Instructions of a stub of the linkage table up to its jump; with ENDBR64 two."""
_MAX_ENTRY = 64
"""Instructions of an entry point up to its first call; glibc's has 12."""


class _Traits(NamedTuple):
    features: frozenset[str]
    flow: Flow
    is_plain: bool
    is_modern: bool
    is_wide: bool
    asks: bool
    is_invalid: bool
    has_number: bool
    """It may set the first argument's register to a number, or compare with one."""


@cache
def _traits(code: int) -> _Traits:
    """What an opcode alone tells; there are some 5,000."""
    shape = Instruction()
    shape.code = code  # type: ignore[assignment] # an opcode is a plain number, whatever iced-x86 declares
    found = frozenset(shape.cpuid_features())
    mnemonic = shape.mnemonic
    # tzcnt is written for every CPU: see x86_features.SILENT.
    named = NOTHING if mnemonic == Mnemonic.TZCNT else frozenset(_FEATURES[one] for one in found if one in _FEATURES)
    counts = mnemonic not in _NO_VECTORS
    flow = _FLOWS[shape.flow_control]
    if mnemonic in _TRAPS:
        flow = Flow.TRAP
    elif mnemonic in _KERNEL_CALLS:
        flow = Flow.NEXT
    elif code == 0 or mnemonic == Mnemonic.HLT:
        flow = Flow.END
    return _Traits(
        named,
        flow,
        counts and shape.encoding == EncodingKind.LEGACY and bool(found & _SSE),
        counts and shape.encoding == EncodingKind.VEX and bool(found & _VECTORS),
        shape.encoding == EncodingKind.EVEX,
        mnemonic in _ASKING,
        code == 0,
        mnemonic in {Mnemonic.MOV, Mnemonic.XOR, Mnemonic.CMP},
    )


@cache
def _silent() -> frozenset[int]:
    """The opcodes that say nothing of a function's style: most."""
    every = _numbered(iced_x86.Code)
    return frozenset(code for code in every if not any(_style_of(frozenset({code}))))


@lru_cache(65536)
def _style(codes: frozenset[int]) -> Style:
    return _style_of(codes)


def _style_of(codes: frozenset[int]) -> Style:
    traits = [_traits(code) for code in codes]
    return Style(
        frozenset().union(*(one.features for one in traits)),
        any(one.is_plain for one in traits),
        any(one.is_modern for one in traits),
        any(one.is_wide for one in traits),
        any(one.asks for one in traits),
        any(one.is_invalid for one in traits),
    )


class X86:
    """The machine x86-64."""

    architecture = "amd64"

    def steps(self, code: bytes, address: int) -> Iterator[Step]:
        """See :class:`~nodeworthy_resolver.inspection.instructions.steps.Machine`."""
        for one in Decoder(64, code, ip=address):
            traits = _traits(one.code)
            target = 0
            if traits.flow in {Flow.BRANCH, Flow.JUMP, Flow.CALL}:
                target = one.near_branch_target
            elif traits.flow in {Flow.JUMP_THROUGH, Flow.CALL_THROUGH} and one.is_ip_rel_memory_operand:
                target = one.ip_rel_memory_address
            memory = one.ip_rel_memory_address if one.is_ip_rel_memory_operand else 0
            if traits.flow is Flow.JUMP_THROUGH and not target:
                memory = _table(one)
            argument, compared = _numbers(one) if traits.has_number else (None, None)
            yield Step(one.ip, one.len, traits.flow, target, traits.features, argument, memory, compared)

    def styles(self, code: memoryview, address: int, borders: Sequence[tuple[int, int]]) -> Iterator[Style]:
        """See :class:`~nodeworthy_resolver.inspection.instructions.steps.Machine`."""
        opcode = attrgetter("code")
        silent = _silent()
        for first, end in borders:
            found = set(map(opcode, Decoder(64, bytes(code[first - address : end - address]), ip=first)))
            # Few combinations are left, so that most functions are like one that was seen.
            yield _style(frozenset(found - silent))

    def slot_of(self, code: bytes, address: int) -> int:
        """See :class:`~nodeworthy_resolver.inspection.instructions.steps.Machine`."""
        for _, step in zip(range(_MAX_STUB), self.steps(code, address), strict=False):
            if step.flow is Flow.JUMP_THROUGH:
                return step.target
            if step.flow is not Flow.NEXT:
                return 0
        return 0

    def start_argument(self, code: bytes, address: int) -> tuple[int, int]:
        """See :class:`~nodeworthy_resolver.inspection.instructions.steps.Machine`.

        ``lea rdi, [rip + main]``, ``mov rdi, main`` or ``mov rdi, [rip + slot]``, then a call of __libc_start_main.
        """
        found = (0, 0)
        for _, one in zip(range(_MAX_ENTRY), Decoder(64, code, ip=address), strict=False):
            if _traits(one.code).flow is not Flow.NEXT:
                break
            if one.op_count == 0 or one.op0_kind != OpKind.REGISTER or one.op0_register not in _FIRST_ARGUMENT:
                continue
            found = (0, 0)
            if one.mnemonic == Mnemonic.LEA and one.is_ip_rel_memory_operand:
                found = (one.ip_rel_memory_address, 0)
            elif one.mnemonic == Mnemonic.MOV and one.is_ip_rel_memory_operand:
                found = (0, one.ip_rel_memory_address)
            elif (number := _argument(one)) is not None:
                found = (number, 0)
        return found

    def text(self, code: bytes, address: int) -> str:
        """See :class:`~nodeworthy_resolver.inspection.instructions.steps.Machine`."""
        return Formatter(FormatterSyntax.INTEL).format(Decoder(64, code, ip=address).decode())


def _numbers(one: Instruction) -> tuple[int | None, int | None]:
    """What it puts into the first argument's register, and what it compares with."""
    if one.mnemonic == Mnemonic.CMP:
        return None, int(one.immediate(1)) if one.op1_kind in _COMPARED else None
    return _argument(one), None


def _table(one: Instruction) -> int:
    """The address of ``jmp [table + rax*8]``."""
    is_table = one.op0_kind == OpKind.MEMORY and one.memory_base == Register.NONE and one.memory_index_scale == _WORD
    return one.memory_displacement if is_table else 0


def _argument(one: Instruction) -> int | None:
    """The number of ``mov edi, 1`` and ``xor edi, edi``."""
    if one.op_count < 2 or one.op0_kind != OpKind.REGISTER or one.op0_register not in _FIRST_ARGUMENT:  # noqa: PLR2004
        return None
    if one.mnemonic == Mnemonic.XOR and one.op1_kind == OpKind.REGISTER and one.op1_register == one.op0_register:
        return 0
    if one.mnemonic == Mnemonic.MOV and one.op1_kind in _IMMEDIATES:
        return int(one.immediate(1))
    return None


_IMMEDIATES = frozenset({OpKind.IMMEDIATE32, OpKind.IMMEDIATE32TO64, OpKind.IMMEDIATE64})
_COMPARED = _IMMEDIATES | {OpKind.IMMEDIATE8, OpKind.IMMEDIATE8TO16, OpKind.IMMEDIATE8TO32, OpKind.IMMEDIATE8TO64}
_WORD = 8
