"""Where a jump through a table leads, as compilers write ``switch`` for x86-64.

::

    cmp eax, 6 | ja default | lea rdx, [rip + table] | movsxd rax, [rdx + rax*4] | add rax, rdx | jmp rax
    cmp eax, 6 | ja default | jmp [table + rax*8]
"""

import struct
from collections.abc import Mapping

from nodeworthy_resolver.inspection.instructions.code import Code
from nodeworthy_resolver.inspection.instructions.steps import Flow, Step

_LOOK_BACK = 16
"""Instructions before the jump that hold the comparison and the table's address."""
_MAX_CASES = 1024


def switch_targets(code: Code, ends: Mapping[int, Step], jump: Step) -> tuple[int, ...]:
    """The addresses of all cases; empty where the jump is written in another way. ``ends``: steps by the address behind."""
    if jump.flow is not Flow.JUMP_THROUGH or jump.target:
        return ()
    table, count, address = jump.memory, 0, jump.address
    for _ in range(_LOOK_BACK):
        before = ends.get(address)
        if before is None or before.flow not in {Flow.NEXT, Flow.BRANCH}:
            break
        table = table or before.memory
        if before.compared is not None:
            count = before.compared + 1
            break
        address = before.address
    if not table or not 0 < count <= _MAX_CASES:
        return ()
    shape = struct.Struct("<Q" if jump.memory else "<i")
    data = code.read_data(table, shape.size * count)
    if len(data) < shape.size * count:
        return ()
    found = {value if jump.memory else table + value for (value,) in shape.iter_unpack(data)}
    return tuple(sorted(found)) if all(code.read(one, 1) for one in found) else ()
