"""What restricts programs on this kernel: SELinux, and the other security modules."""

from nodeworthy.features import FeatureSet
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.sources.reading import Answer, Faults, attributes

_FOLDER = "sys/kernel/security"
_LOCKDOWN_LEVEL = "lockdown.level"
"""Not ``lockdown``, which is the flag of the module."""


def read_selinux(host: Host, _faults: Faults) -> Answer:
    """Whether SELinux enforces its policy."""
    host.require("sys/fs")
    enforce = host.read_text("sys/fs/selinux/enforce")
    return attributes({"enabled": "true" if (enforce or "").startswith("1") else "false"})


def read_security(host: Host, faults: Faults) -> Answer:
    """The security modules that are active, and the kernel's lockdown.

    Linux, Documentation/admin-guide/LSM/index.rst. What the kernel could do is ``kernel.config`` (``SECURITY_*``).
    """
    modules = host.read_text(f"{_FOLDER}/lsm")
    if modules is None:
        raise HostReadError(f"{_FOLDER}/lsm", "is not there: securityfs is not mounted, or Linux is older than 4.13")
    flags = frozenset(filter(None, modules.strip().split(","))) - {_LOCKDOWN_LEVEL}
    try:
        lockdown = host.read_text(f"{_FOLDER}/lockdown")
    except HostReadError as error:
        faults.add(error)
        return FeatureSet(flags, {}, unobserved=frozenset({_LOCKDOWN_LEVEL}))
    level = parse_lockdown(lockdown or "")
    return FeatureSet(flags, {} if level is None else {_LOCKDOWN_LEVEL: level})


def parse_lockdown(text: str) -> str | None:
    """The level in brackets: ``none [integrity] confidentiality`` (kernel_lockdown(7)); ``None`` if there is none."""
    levels = [word[1:-1] for word in text.split() if word.startswith("[") and word.endswith("]")]
    return levels[0] if len(levels) == 1 else None
