from collections.abc import Callable, Mapping

import pytest

from nodeworthy.features import FeatureSet, SetState, SetStatus
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.cpu.power import read_cstate, read_pstate, read_sst
from nodeworthy_detector.sources.cpu.processor import Processor
from nodeworthy_detector.sources.reading import Faults

Plant = Callable[[Mapping[str, str | bytes]], Host]

CPUS = "sys/devices/system/cpu"
IDLE = {f"{CPUS}/cpuidle/current_driver": "intel_idle\n"}
MAX_CSTATE = "sys/module/intel_idle/parameters/max_cstate"
PSTATE = {f"{CPUS}/intel_pstate/status": "active\n", f"{CPUS}/intel_pstate/no_turbo": "0\n"}


def policy(number: int, governor: str, cpus: str = "0\n") -> dict[str, str]:
    folder = f"{CPUS}/cpufreq/policy{number}"
    return {f"{folder}/scaling_governor": f"{governor}\n", f"{folder}/affected_cpus": cpus}


def attributes(found: FeatureSet | SetStatus) -> Mapping[str, str]:
    assert isinstance(found, FeatureSet)
    assert found.attributes is not None
    return found.attributes


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({f"{CPUS}/online": "0"}, {}),
        ({f"{CPUS}/cpuidle/current_driver": "acpi_idle\n"}, {}),
        (IDLE | {MAX_CSTATE: "9\n"}, {"enabled": "true"}),
        (IDLE | {MAX_CSTATE: "0\n"}, {"enabled": "false"}),
    ],
)
def test_idle_states(plant: Plant, files: Mapping[str, str], expected: Mapping[str, str]) -> None:
    assert attributes(read_cstate(plant(files), Faults())) == expected


@pytest.mark.parametrize("files", [IDLE, IDLE | {MAX_CSTATE: "many\n"}])
def test_idle_states_that_cannot_be_read_are_unknown(plant: Plant, files: Mapping[str, str]) -> None:
    found = read_cstate(plant(files), Faults())
    assert isinstance(found, SetStatus)
    assert found.state is SetState.UNKNOWN


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({f"{CPUS}/online": "0"}, {}),
        ({f"{CPUS}/intel_pstate/status": "off\n"}, {}),
        (PSTATE, {"status": "active", "turbo": "true"}),
        (PSTATE | {f"{CPUS}/intel_pstate/no_turbo": "1\n"}, {"status": "active", "turbo": "false"}),
        (
            PSTATE | policy(0, "powersave") | policy(1, "powersave"),
            {"status": "active", "turbo": "true", "scaling_governor": "powersave"},
        ),
        (PSTATE | policy(0, "powersave") | policy(1, "performance"), {"status": "active", "turbo": "true"}),
        (
            PSTATE | policy(0, "powersave") | policy(1, "performance", cpus="\n"),
            {"status": "active", "turbo": "true", "scaling_governor": "powersave"},
        ),
        (
            PSTATE | {f"{CPUS}/intel_pstate/status": "passive\n"} | policy(0, "powersave"),
            {"status": "passive", "turbo": "true"},
        ),
    ],
)
def test_frequency_driver(plant: Plant, files: Mapping[str, str], expected: Mapping[str, str]) -> None:
    assert attributes(read_pstate(plant(files), Faults())) == expected


def test_speed_select_needs_a_guarantee_above_the_nominal_frequency(plant: Plant) -> None:
    host = plant({f"{CPUS}/cpu0/cpufreq/base_frequency": "2300000", f"{CPUS}/cpu1/cpufreq/base_frequency": "2800000"})
    assert attributes(read_sst(host, Processor(nominal_mhz=2300), Faults())) == {"bf.enabled": "true"}
    assert attributes(read_sst(host, Processor(nominal_mhz=2800), Faults())) == {}


def test_speed_select_is_unknown_without_the_nominal_frequency(plant: Plant) -> None:
    host = plant({f"{CPUS}/cpu0/cpufreq/base_frequency": "2300000"})
    for nominal in (None, 0):
        found = read_sst(host, Processor(nominal_mhz=nominal), Faults())
        assert isinstance(found, SetStatus)
        assert found.state is SetState.UNKNOWN


def test_speed_select_is_absent_where_no_cpu_has_a_guarantee(plant: Plant) -> None:
    assert attributes(read_sst(plant({f"{CPUS}/cpu0/online": "1"}), Processor(), Faults())) == {}
