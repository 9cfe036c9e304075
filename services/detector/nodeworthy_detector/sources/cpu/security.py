"""Protected execution: SGX, TDX and SEV of x86, Secure Execution of IBM Z, and resource control."""

from collections.abc import Mapping
from typing import NamedTuple

from nodeworthy.features import FeatureSet
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.cpu.compat import has_device
from nodeworthy_detector.sources.cpu.processor import Processor
from nodeworthy_detector.sources.reading import Answer, Faults, attributes, unknown

_CAPACITY_FILES = ("sys/fs/cgroup/misc.capacity", "sys/fs/cgroup/misc/misc.capacity")
"""Root of the unified hierarchy, and of version 1's controller ``misc``."""


class _Switch(NamedTuple):
    """A file in which the kernel says whether a protection is on, and the attributes that follow from it."""

    enabled: str
    home: str
    """A folder that every machine has: without it, not finding the file says nothing."""
    file: str
    vendors: frozenset[str]
    """Processors that can have it."""
    marks: tuple[str, ...] = ("1", "Y")
    """How the file begins when it is on: older modules say 1, newer ones Y."""
    amount: str = ""
    resource: str = ""
    """The attribute that says how many there may be, and its line in misc.capacity."""

    @property
    def path(self) -> str:
        """The file below the host root."""
        return f"{self.home}/{self.file}"


_AMD = frozenset({"AMD", "Hygon"})
_SWITCHES = (
    _Switch(
        "tdx.enabled",
        "sys/module",
        "kvm_intel/parameters/tdx",
        frozenset({"Intel"}),
        marks=("Y\n",),
        amount="tdx.total_keys",
        resource="tdx",
    ),
    _Switch("sev.enabled", "sys/module", "kvm_amd/parameters/sev", _AMD, amount="sev.asids", resource="sev"),
    _Switch(
        "sev.es.enabled",
        "sys/module",
        "kvm_amd/parameters/sev_es",
        _AMD,
        amount="sev.encrypted_state_ids",
        resource="sev_es",
    ),
    _Switch("sev.snp.enabled", "sys/module", "kvm_amd/parameters/sev_snp", _AMD),
    _Switch("se.enabled", "sys/firmware", "uv/prot_virt_host", frozenset({"IBM_S390"}), marks=("1\n",)),
)

_MAX_MOUNTS_BYTES = 8 * 1024 * 1024
"""A node with 10,000 mounts, 300 bytes each, has 3 MB."""


def read_security(host: Host, processor: Processor, faults: Faults) -> Answer:
    """Each attribute is there only when the protection is on: a flag of the processor alone does not say so.

    That flag is ``sgx.capable``; ``sgx.usable`` says that the kernel's device for programs is there too. Where the kernel's
    word cannot be read, its attributes are unobserved.
    """
    host.require("sys/devices")
    epc = _sgx_bytes_of_nodes(host, faults) if processor.sgx_epc is None else processor.sgx_epc
    if epc is None:
        return unknown("only CPUID tells whether firmware set memory aside for SGX")
    values: dict[str, str | None] = {"sgx.enabled": "true", "sgx.epc": str(epc)} if epc else {}
    if "TDX_GUEST" in (processor.flags or ()):
        values["tdx.protected"] = "true"
    unobserved: list[str] = []
    if "SGX" in (processor.flags or ()):
        is_usable = has_device(host, "sgx_enclave", faults)
        values |= {"sgx.capable": "true", "sgx.usable": "true" if is_usable else None}
        unobserved += ["sgx.usable"] if is_usable is None else []
    capacity = _read_capacity(host, faults)
    for switch in _SWITCHES:
        is_on = _read_switch(host, switch, processor, faults)
        if is_on is None:
            unobserved += filter(None, (switch.enabled, switch.amount))
        elif is_on:
            values[switch.enabled] = "true"
            if switch.amount:
                values[switch.amount] = capacity.get(switch.resource)
    return attributes(values, unobserved)


def _read_switch(host: Host, switch: _Switch, processor: Processor, faults: Faults) -> bool | None:
    """Whether a protection is on; ``None``: it cannot be found out."""
    try:
        text = host.read_text(switch.path)
        if text is None and processor.vendor in switch.vendors and not host.is_folder(switch.home):
            faults.add(f"{switch.home} is not there, so nothing can be said of what it would hold")
            return None
    except HostReadError as error:
        faults.add(error)
        return None
    return text is not None and text.startswith(switch.marks)


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
