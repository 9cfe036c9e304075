"""Power management: idle states, frequency driver, Speed Select."""

from nodeworthy.features import FeatureSet
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.cpu.processor import Processor
from nodeworthy_detector.sources.reading import Answer, Faults, attributes, unknown

_CPUS = "sys/devices/system/cpu"


def read_cstate(host: Host, _faults: Faults) -> Answer:
    """Whether the driver ``intel_idle`` may use idle states; nothing on machines with another driver."""
    host.require(_CPUS)
    if host.read_value(f"{_CPUS}/cpuidle/current_driver") != "intel_idle":
        return attributes({})
    parameter = "sys/module/intel_idle/parameters/max_cstate"
    highest = host.read_value(parameter)
    if highest is None or not _is_number(highest):
        return unknown(f"{parameter} is {'not there' if highest is None else 'no number'}")
    return attributes({"enabled": _truth(int(highest) > 0)})


def read_pstate(host: Host, faults: Faults) -> Answer:
    """Mode, turbo and frequency governor of the driver ``intel_pstate``; nothing on machines without it."""
    host.require(_CPUS)
    status = host.read_value(f"{_CPUS}/intel_pstate/status")
    if status is None and host.is_folder(f"{_CPUS}/intel_pstate"):
        return unknown(f"{_CPUS}/intel_pstate/status is not there")
    if status in {None, "off"}:
        return attributes({})
    no_turbo = host.read_value(f"{_CPUS}/intel_pstate/no_turbo")
    turbo = None if no_turbo is None else _truth(no_turbo.startswith("0"))
    governor = _common_governor(host, faults) if status == "active" else None
    return attributes({"status": status, "turbo": turbo, "scaling_governor": governor})


def _common_governor(host: Host, faults: Faults) -> str | None:
    """The governor that all policies share; policies without a running CPU do not count."""
    found: set[str] = set()
    for policy in host.list_names(f"{_CPUS}/cpufreq") or ():
        try:
            if host.read_value(f"{_CPUS}/cpufreq/{policy}/affected_cpus"):
                governor = host.read_value(f"{_CPUS}/cpufreq/{policy}/scaling_governor")
                found |= {governor} if governor else set()
        except HostReadError as error:
            faults.add(error)
    return found.pop() if len(found) == 1 else None


def read_sst(host: Host, processor: Processor, faults: Faults) -> Answer:
    """Speed Select base frequency: some CPU's guaranteed frequency is above the nominal one of CPUID leaf 0x16."""
    host.require(_CPUS)
    frequencies = _base_frequencies(host, faults)
    if not frequencies:
        return attributes({})
    if not processor.nominal_mhz:
        return unknown("the nominal frequency is not known: CPUID leaf 0x16 tells it")
    above = any(frequency // 1000 > processor.nominal_mhz for frequency in frequencies)
    return FeatureSet(attributes={"bf.enabled": "true"} if above else {})


def _base_frequencies(host: Host, faults: Faults) -> set[int]:
    found: set[int] = set()
    for name in host.list_names(_CPUS) or ():
        if not name.removeprefix("cpu").isdigit():
            continue
        try:
            value = host.read_value(f"{_CPUS}/{name}/cpufreq/base_frequency")
        except HostReadError as error:
            if not error.has_no_value:
                faults.add(error)
            continue
        if value is not None and _is_number(value):
            found.add(int(value))
    return found


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 18  # noqa: PLR2004 # digits of a 64-bit number


def _truth(value: bool) -> str:
    return "true" if value else "false"
