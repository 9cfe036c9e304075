"""Default labels of the source ``cpu`` (NFD, source/cpu/cpu.go)."""

from nodeworthy.features import FeatureSet
from nodeworthy.labels.defaults.makers import (
    LabelMaker,
    Made,
    attribute_labels,
    claim_names,
    claim_prefix,
    select,
    true_attribute,
)
from nodeworthy.labels.settings import CpuLabels
from nodeworthy.labels.values import legal_value

_MODEL = ("vendor_id", "family", "id", "hypervisor")
_PSTATE = ("status", "turbo", "scaling_governor")

_MODEL_WORDS = ("vendor", "name")
"""What people call the model; NFD has neither."""

_WITHOUT_LABEL = frozenset(
    {"tdx.total_keys", "sgx.epc", "sev.encrypted_state_ids", "sev.asids", "sgx.capable", "sgx.usable"}
)
"""Of ``cpu.security``: numbers, of which rules make extended resources, and what NFD does not have."""


def makers(settings: CpuLabels) -> tuple[LabelMaker, ...]:
    """The makers of this source; ``cpu.rdt`` gives no labels, in NFD neither."""
    return (
        _cpuid(settings),
        _named("cpu.model", _MODEL, "model."),
        attribute_labels(
            "cpu.model",
            select(_MODEL_WORDS, "model."),
            claim_names("cpu.model", (f"model.{word}" for word in _MODEL_WORDS)),
            lambda text: legal_value(text) or None,
        ),
        _named("cpu.cstate", ("enabled",), "cstate."),
        _named("cpu.pstate", _PSTATE, "pstate."),
        attribute_labels("cpu.security", _security_name, claim_prefix("cpu.security", "security.")),
        true_attribute("cpu.sst", "power.sst_bf.enabled", "bf.enabled"),
        _named("cpu.topology", ("hardware_multithreading",), ""),
        true_attribute("cpu.coprocessor", "coprocessor.nx_gzip", "nx_gzip"),
    )


def _named(set_name: str, attributes: tuple[str, ...], prefix: str) -> LabelMaker:
    claims = claim_names(set_name, (prefix + attribute for attribute in attributes))
    return attribute_labels(set_name, select(attributes, prefix), claims)


def _cpuid(settings: CpuLabels) -> LabelMaker:
    def is_listed(flag: str) -> bool:
        if settings.cpuid_allowlist:
            return flag in settings.cpuid_allowlist
        return flag not in settings.cpuid_denylist

    def make(content: FeatureSet) -> Made:
        labels = {f"cpuid.{flag}": "true" for flag in content.flags or () if is_listed(flag)}
        # Attributes are not filtered, as in NFD: there is one, AVX10_VERSION.
        labels |= {f"cpuid.{name}": value for name, value in (content.attributes or {}).items()}
        return Made(labels, frozenset(f"cpuid.{name}" for name in content.unobserved if is_listed(name)))

    return LabelMaker("cpu.cpuid", make, claim_prefix("cpu.cpuid", "cpuid."))


def _security_name(attribute: str) -> str | None:
    return None if attribute in _WITHOUT_LABEL else f"security.{attribute}"
