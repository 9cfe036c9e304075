"""Feature sets of flags: names without a value, of which a rule can ask only whether they are there.

``{op: In, value: ["true"]}`` on a flag never holds, in NFD as here, and whoever writes it means ``{op: Exists}``. So its
reader is told, where the set is one of these.
"""

from collections.abc import Mapping

from nodeworthy.rules.records import Expression, Operator

FLAG_SETS: Mapping[str, tuple[str, ...]] = {
    "cpu.cpuid": ("AVX10_VERSION",),
    "cpu.hwcap": ("hwcap", "hwcap2", "hwcap3"),
    "kernel.availablemodule": (),
    "kernel.cgroup": ("version",),
    "kernel.enabledmodule": (),
    "kernel.loadedmodule": (),
    "kernel.module": (),
    "kernel.security": ("lockdown.level",),
    "system.device": (),
}
"""Set to the attributes that it has beside its flags; a test holds the table against the recorded machines."""

_PRESENCE = (Operator.ANY, Operator.EXISTS, Operator.DOES_NOT_EXIST)


def asks_value_of_flag(feature: str, name: str, expression: Expression) -> bool:
    """Whether the expression asks a flag for a value, which none has."""
    attributes = FLAG_SETS.get(feature.lower())
    is_flag = attributes is not None and name not in attributes
    return is_flag and expression.operator not in _PRESENCE and not expression.reads_flags


def flag_form(expression: Expression) -> str:
    """What is probably meant, as it stands in a document."""
    wants_absence = expression.operator is Operator.IS_FALSE or (
        expression.operator is Operator.IN and expression.values == ("false",)
    )
    return "{op: DoesNotExist}" if wants_absence else "{op: Exists}"
