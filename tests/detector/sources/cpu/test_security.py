from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, SetState, SetStatus
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources.cpu.processor import Processor
from nodeworthy_detector.sources.cpu.security import find_resctrl, parse_capacity, read_rdt, read_security
from nodeworthy_detector.sources.reading import Faults

Plant = Callable[[Mapping[str, str | bytes]], Host]

ANCHOR = {"sys/devices/": ""}
AMD = "sys/module/kvm_amd/parameters"
PLAIN = Processor(flags=frozenset(), sgx_epc=0, rdt=frozenset())


def attributes(found: FeatureSet | SetStatus) -> Mapping[str, str]:
    assert isinstance(found, FeatureSet)
    assert found.attributes is not None
    return found.attributes


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, {}),
        ({f"{AMD}/sev": "N\n", f"{AMD}/sev_es": "0\n"}, {}),
        # C15: the numbers, in either order of the lines; without the file there are none, and no zeros.
        (
            {f"{AMD}/sev": "1\n", f"{AMD}/sev_es": "Y\n", "sys/fs/cgroup/misc.capacity": "sev 50\nsev_es 10\n"},
            {"sev.enabled": "true", "sev.asids": "50", "sev.es.enabled": "true", "sev.encrypted_state_ids": "10"},
        ),
        (
            {f"{AMD}/sev": "Y\n", f"{AMD}/sev_es": "Y\n", "sys/fs/cgroup/misc/misc.capacity": "sev_es 10\nsev 50\n"},
            {"sev.enabled": "true", "sev.asids": "50", "sev.es.enabled": "true", "sev.encrypted_state_ids": "10"},
        ),
        ({f"{AMD}/sev": "Y\n", f"{AMD}/sev_snp": "Y\n"}, {"sev.enabled": "true", "sev.snp.enabled": "true"}),
        ({"sys/fs/cgroup/misc.capacity": "sev 50\n"}, {}),
        (
            {"sys/module/kvm_intel/parameters/tdx": "Y\n", "sys/fs/cgroup/misc.capacity": "tdx 31\n"},
            {"tdx.enabled": "true", "tdx.total_keys": "31"},
        ),
        ({"sys/module/kvm_intel/parameters/tdx": "Y"}, {}),
        ({"sys/firmware/uv/prot_virt_host": "1\n"}, {"se.enabled": "true"}),
    ],
)
def test_c15_protections_that_are_on(plant: Plant, files: dict[str, str], expected: Mapping[str, str]) -> None:
    assert attributes(read_security(plant(ANCHOR | files), PLAIN, Faults())) == expected


def test_c14_sgx_is_on_only_with_protected_memory(plant: Plant) -> None:
    host = plant(ANCHOR)
    off = Processor(flags=frozenset({"SGX"}), sgx_epc=0)
    on = Processor(flags=frozenset({"SGX"}), sgx_epc=98_566_144)
    assert attributes(read_security(host, off, Faults())) == {"sgx.capable": "true"}
    found = read_security(host, on, Faults())
    assert attributes(found) == {"sgx.enabled": "true", "sgx.epc": "98566144", "sgx.capable": "true"}
    assert isinstance(found, FeatureSet)
    assert found.unobserved == {"sgx.usable"}  # no folder of devices, so nothing can be said of them


@pytest.mark.parametrize(("device", "usable"), [("sgx_enclave", "true"), ("null", None)])
def test_c14_programs_can_use_sgx_where_its_device_is(plant: Plant, device: str, usable: str | None) -> None:
    host = plant({**ANCHOR, f"dev/{device}": ""})
    found = read_security(host, Processor(flags=frozenset({"SGX"}), sgx_epc=4096), Faults())
    assert attributes(found).get("sgx.usable") == usable
    assert isinstance(found, FeatureSet)
    assert not found.unobserved


def test_protected_memory_is_summed_over_nodes_where_cpuid_is_not_told(plant: Plant) -> None:
    node = "sys/devices/system/node/node{}/x86/sgx_total_bytes"
    host = plant({node.format(0): "1000\n", node.format(1): "24\n"})
    assert attributes(read_security(host, Processor(), Faults())) == {"sgx.enabled": "true", "sgx.epc": "1024"}


def test_without_cpuid_and_nodes_it_is_unknown_whether_sgx_is_on(plant: Plant) -> None:
    found = read_security(plant(ANCHOR), Processor(), Faults())
    assert isinstance(found, SetStatus)
    assert found.state is SetState.UNKNOWN


def test_a_tdx_guest_is_protected(plant: Plant) -> None:
    guest = Processor(flags=frozenset({"TDX_GUEST"}), sgx_epc=0)
    assert attributes(read_security(plant(ANCHOR), guest, Faults())) == {"tdx.protected": "true"}


def test_a_file_that_cannot_be_read_harms_only_itself(plant: Plant) -> None:
    faults = Faults()
    host = plant(ANCHOR | {f"{AMD}/sev/": "", f"{AMD}/sev_es": "Y\n"})
    assert attributes(read_security(host, PLAIN, faults)) == {"sev.es.enabled": "true"}
    assert faults.listed() == (f"{AMD}/sev is no regular file",)


def test_what_cannot_be_read_is_not_off(plant: Plant) -> None:
    found = read_security(plant(ANCHOR | {f"{AMD}/sev/": "", f"{AMD}/sev_es": "Y\n"}), PLAIN, Faults())
    assert isinstance(found, FeatureSet)
    assert found.unobserved == {"sev.enabled", "sev.asids"}


@pytest.mark.parametrize(
    ("vendor", "unobserved"),
    [
        ("Intel", {"tdx.enabled", "tdx.total_keys"}),
        ("AMD", {"sev.enabled", "sev.asids", "sev.es.enabled", "sev.encrypted_state_ids", "sev.snp.enabled"}),
        ("IBM_S390", {"se.enabled"}),
        ("ARM", set()),
    ],
)
def test_a_root_without_the_modules_parameters_does_not_say_off(
    plant: Plant, vendor: str, unobserved: set[str]
) -> None:
    found = read_security(plant({"sys/devices/": ""}), Processor(vendor=vendor, sgx_epc=0), Faults())
    assert found == FeatureSet(attributes={}, unobserved=frozenset(unobserved))


def test_classes_of_service_leave_one_to_the_kernel(plant: Plant) -> None:
    mounts = "22 1 0:21 / / rw - xfs /dev/sda rw\n40 25 0:35 / /mnt/resctrl rw shared:19 - resctrl resctrl rw\n"
    host = plant({"proc/self/mountinfo": mounts, "mnt/resctrl/info/L3/num_closids": "16\n"})
    able, unable = Processor(rdt=frozenset({"RDTL3CA"})), Processor(rdt=frozenset({"RDTMON"}))
    assert attributes(read_rdt(host, able, Faults())) == {"RDTL3CA": "true", "RDTL3CA_NUM_CLOSID": "15"}
    assert attributes(read_rdt(host, unable, Faults())) == {"RDTMON": "true"}
    assert isinstance(read_rdt(host, Processor(), Faults()), SetStatus)


def test_resctrl_is_found_by_its_type_and_not_by_its_name() -> None:
    assert find_resctrl("40 25 0:35 / /sys/fs/resctrl rw - resctrl none rw\n") == "sys/fs/resctrl"
    assert find_resctrl("40 25 0:35 / /sys/fs/resctrl rw - tmpfs resctrl rw\n") is None


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert all(value.isdigit() for value in parse_capacity(text).values())
    find_resctrl(text)
