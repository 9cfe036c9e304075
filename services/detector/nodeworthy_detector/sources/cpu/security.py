"""Protected execution: SGX, TDX and SEV of x86, Secure Execution of IBM Z, and resource control."""

from collections.abc import Mapping

from nodeworthy.features import FeatureSet
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.cpu.processor import Processor
from nodeworthy_detector.sources.reading import Answer, Faults, attributes, unknown

_CAPACITY_FILES = ("sys/fs/cgroup/misc.capacity", "sys/fs/cgroup/misc/misc.capacity")
"""Root of the unified hierarchy, and of version 1's controller ``misc``."""

_MAX_MOUNTS_BYTES = 8 * 1024 * 1024
"""A node with 10,000 mounts, 300 bytes each, has 3 MB."""


def read_security(host: Host, processor: Processor, faults: Faults) -> Answer:
    """Each attribute is there only when the protection is on: a flag of the processor alone does not say so."""
    host.require("sys/devices")
    epc = _sgx_bytes_of_nodes(host, faults) if processor.sgx_epc is None else processor.sgx_epc
    if epc is None:
        return unknown("only CPUID tells whether firmware set memory aside for SGX")
    capacity = _read_capacity(host, faults)
    values: dict[str, str | None] = {"sgx.enabled": "true", "sgx.epc": str(epc)} if epc else {}
    if _read(host, "sys/module/kvm_intel/parameters/tdx", faults) == "Y\n":
        values |= {"tdx.enabled": "true", "tdx.total_keys": capacity.get("tdx")}
    if "TDX_GUEST" in (processor.flags or ()):
        values["tdx.protected"] = "true"
    if _is_on(host, "sys/module/kvm_amd/parameters/sev", faults):
        values |= {"sev.enabled": "true", "sev.asids": capacity.get("sev")}
    if _is_on(host, "sys/module/kvm_amd/parameters/sev_es", faults):
        values |= {"sev.es.enabled": "true", "sev.encrypted_state_ids": capacity.get("sev_es")}
    if _is_on(host, "sys/module/kvm_amd/parameters/sev_snp", faults):
        values["sev.snp.enabled"] = "true"
    if _read(host, "sys/firmware/uv/prot_virt_host", faults) == "1\n":
        values["se.enabled"] = "true"
    return attributes(values)


def _sgx_bytes_of_nodes(host: Host, faults: Faults) -> int | None:
    """Protected memory as Linux counts it per NUMA node (x86/sgx_total_bytes, since Linux 5.17)."""
    total: int | None = None
    for name in host.list_names("sys/devices/system/node") or ():
        if name.startswith("node"):
            text = (_read(host, f"sys/devices/system/node/{name}/x86/sgx_total_bytes", faults) or "").strip()
            if text.isascii() and text.isdigit():
                total = (total or 0) + int(text)
    return total


def _read_capacity(host: Host, faults: Faults) -> Mapping[str, str]:
    for path in _CAPACITY_FILES:
        text = _read(host, path, faults)
        if text is not None:
            return parse_capacity(text)
    return {}


def parse_capacity(text: str) -> dict[str, str]:
    """The numbers of the cgroup file ``misc.capacity``.

    The text::

        sev 50
        sev_es 10

    NFD takes the first line that starts with the name, so that ``sev_es`` can be taken for ``sev``; here names are whole.
    """
    fields = (line.split() for line in text.splitlines())
    # A name and a number, as Linux's Documentation/admin-guide/cgroup-v2.rst has it under "Misc".
    return {line[0]: line[1] for line in fields if len(line) == 2 and line[1].isdigit()}  # noqa: PLR2004


def _is_on(host: Host, path: str, faults: Faults) -> bool:
    """Whether a boolean parameter of a module is on: older modules say 1, newer ones Y."""
    return (_read(host, path, faults) or "").startswith(("1", "Y"))


def _read(host: Host, path: str, faults: Faults) -> str | None:
    try:
        return host.read_text(path)
    except HostReadError as error:
        if not error.has_no_value:
            faults.add(error)
        return None


def read_rdt(host: Host, processor: Processor, faults: Faults) -> Answer:
    """Resource Director Technology, and how many classes of service its cache allocation has left for use."""
    if processor.rdt is None:
        return unknown("neither CPUID nor proc/cpuinfo tells it")
    values = dict.fromkeys(processor.rdt, "true")
    if "RDTL3CA" in processor.rdt:
        classes = _read_closids(host, faults)
        values |= {} if classes is None else {"RDTL3CA_NUM_CLOSID": str(classes - 1)}  # one is the kernel's own
    return FeatureSet(attributes=values)


def _read_closids(host: Host, faults: Faults) -> int | None:
    try:
        mounts = host.read_text("proc/self/mountinfo", _MAX_MOUNTS_BYTES)
        mount = find_resctrl(mounts or "")
        number = None if mount is None else host.read_value(f"{mount}/info/L3/num_closids")
    except HostReadError as error:
        faults.add(error)
        return None
    return int(number) if number and number.isascii() and number.isdigit() and len(number) < 10 else None  # noqa: PLR2004


def find_resctrl(mounts: str) -> str | None:
    """Where the file system ``resctrl`` is mounted.

    The text is that of proc_pid_mountinfo(5)::

        40 25 0:35 / /sys/fs/resctrl rw,relatime shared:19 - resctrl resctrl rw

    The mount point is the fifth field; the type is the first after the dash.
    """
    for line in mounts.splitlines():
        before, dash, after = line.partition(" - ")
        fields = before.split()
        if dash and after.split()[:1] == ["resctrl"] and len(fields) > 4:  # noqa: PLR2004 # docstring
            return fields[4].lstrip("/")
    return None
