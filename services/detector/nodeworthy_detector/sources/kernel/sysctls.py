"""Settings of the running kernel (sysctls) that images depend on."""

from collections.abc import Collection

from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.reading import Answer, Faults, attributes

_SYSCTLS = (
    # Documentation/admin-guide/sysctl/vm.rst: search engines, databases, emulators. None that only root may read.
    "vm.max_map_count vm.memfd_noexec vm.mmap_min_addr vm.overcommit_memory"
    " vm.overcommit_ratio vm.unprivileged_userfaultfd"
    # Documentation/admin-guide/sysctl/fs.rst, inotify(7).
    " fs.aio-max-nr fs.file-max fs.inotify.max_queued_events fs.inotify.max_user_instances fs.inotify.max_user_watches"
    " fs.nr_open fs.pipe-max-size"
    # Documentation/admin-guide/sysctl/kernel.rst and LSM/Yama.rst beside it; the two for unprivileged user
    # namespaces are Debian's and Ubuntu's own.
    " kernel.apparmor_restrict_unprivileged_userns kernel.cap_last_cap kernel.dmesg_restrict kernel.io_uring_disabled"
    " kernel.kptr_restrict kernel.modules_disabled kernel.numa_balancing kernel.perf_event_paranoid kernel.pid_max"
    " kernel.randomize_va_space kernel.sched_rt_runtime_us kernel.seccomp.actions_avail kernel.unprivileged_bpf_disabled"
    " kernel.unprivileged_userns_clone kernel.yama.ptrace_scope"
    " user.max_user_namespaces"
    # arch/arm64/kernel/armv8_deprecated.c: instructions of old 32-bit Arm programs.
    " abi.cp15_barrier abi.setend abi.swp"
    " crypto.fips_enabled"
    # Documentation/networking/ip-sysctl.rst and Documentation/admin-guide/sysctl/net.rst.
    " net.bridge.bridge-nf-call-iptables net.core.bpf_jit_enable net.core.rmem_max net.core.somaxconn net.core.wmem_max"
    " net.ipv4.ip_forward net.ipv4.ip_local_port_range net.ipv4.ip_unprivileged_port_start net.ipv4.ping_group_range"
    " net.ipv4.tcp_available_congestion_control net.ipv4.tcp_congestion_control net.ipv6.conf.all.disable_ipv6"
)
SYSCTLS = tuple(_SYSCTLS.split())
"""Names as sysctl(8) writes them. nodeworthy/rules/known_sets.py has them too, so that who asks for another one is told."""

_ALWAYS_THERE = "proc/sys/vm/overcommit_memory"
"""A recording without it is too thin for what is missing to say anything."""

_INITIAL_NETWORK = "proc/sys/net/core/netdev_max_backlog"
"""The kernel shows it in the initial network namespace only (Linux, net/core/sysctl_net_core.c, ``net_core_table``)."""

_USER_IDS = "proc/self/uid_map"
_ALL_USER_IDS = ["0", "0", "4294967295"]
"""The one line that the initial user namespace has there: user_namespaces(7)."""


def read_sysctls(host: Host, names: Collection[str], faults: Faults) -> Answer:
    """The value of each setting; one that this kernel does not have is not there.

    What a process reads below ``net`` and ``user`` are the settings of its own namespaces, not the machine's. A detector in
    a container with a network or user namespace of its own cannot observe them.
    """
    is_whole = host.exists(_ALWAYS_THERE)
    hidden = _find_hidden(host)
    values: dict[str, str | None] = {}
    unobserved: set[str] = set()
    for name in names:
        try:
            if name.partition(".")[0] in hidden:
                unobserved.add(name)
            else:
                values[name] = _read(host, name)
                if values[name] is None and not is_whole:
                    unobserved.add(name)
        except HostReadError as error:
            faults.add(error)
            unobserved.add(name)
    if not is_whole and all(value is None for value in values.values()):
        raise HostReadError(_ALWAYS_THERE, "is not there, which every Linux has")
    return attributes(values, unobserved)


def _read(host: Host, name: str) -> str | None:
    value = host.read_value(f"proc/sys/{path_of(name)}")
    return None if value is None else " ".join(value.split())


def path_of(name: str) -> str:
    """Where a setting is below /proc/sys; as in sysctl(8), ``/`` in a name is a dot of a file's name (``eth0/1``)."""
    return name.translate({ord("."): "/", ord("/"): "."})


def _find_hidden(host: Host) -> frozenset[str]:
    hidden = set()
    if not host.exists(_INITIAL_NETWORK):
        hidden.add("net")
    user_ids = host.read_value(_USER_IDS)
    if user_ids is not None and user_ids.split() != _ALL_USER_IDS:
        hidden.add("user")
    return frozenset(hidden)
