"""Which entry of a configuration file is for a repository; pure.

Docker files credentials by host; podman also by repository or a part of its path, the longest of which counts
(containers-auth.json(5)); the kubelet also by patterns of hosts (Kubernetes, "Images", "Config.json").
"""

import fnmatch
import re
from collections.abc import Iterable

_HUB = frozenset({"docker.io", "index.docker.io", "registry-1.docker.io"})
_API_PATHS = frozenset({"v1", "v2"})
"""What old engines wrote behind the host."""


def host_of(key: str) -> str:
    """``https://index.docker.io/v1/`` is ``index.docker.io``."""
    return _bare(key).partition("/")[0]


def is_narrow(key: str) -> bool:
    """Whether a key is for a part of a registry, ``quay.io/team``."""
    return bool(_path(key))


def best_key(keys: Iterable[str], key: str, repository: str) -> str | None:
    """The key whose credential is for a repository; ``None``: there is none.

    The longest path counts; of equal paths the host as it is asked for, then another name of the same host, then a pattern.

    Args:
        keys: those of the file.
        key: the one that ``docker login`` would use for the host, ``registry.example:5000`` or ``https://index.docker.io/v1/``.
        repository: ``team/app``; empty: only a credential for the whole host is meant.
    """
    ranked = [(rank, name) for name in keys if (rank := _rank(name, key, repository)) is not None]
    return max(ranked, key=lambda one: one[0])[1] if ranked else None


def _rank(name: str, key: str, repository: str) -> tuple[int, int] | None:
    host, parts = host_of(name), _path(name)
    if parts != repository.split("/")[: len(parts)]:
        return None
    wanted = host_of(key)
    if name == key:
        return len(parts), 3
    if host == wanted:
        return len(parts), 2
    if {host, wanted} <= _HUB:
        return len(parts), 1
    return (len(parts), 0) if "*" in host and _is_pattern_of(host, wanted) else None


def _path(key: str) -> list[str]:
    parts = [part for part in _bare(key).split("/")[1:] if part]
    return [] if len(parts) == 1 and parts[0] in _API_PATHS else parts


def _is_pattern_of(pattern: str, host: str) -> bool:
    """Part by part, so that a star never stands for a dot; the port must be the same."""
    (names, _, number), (labels, _, port) = pattern.partition(":"), host.partition(":")
    pairs = list(zip(names.split("."), labels.split("."), strict=False))
    is_same_length = len(names.split(".")) == len(labels.split("."))
    return number == port and is_same_length and all(fnmatch.fnmatchcase(label, name) for name, label in pairs)


def _bare(key: str) -> str:
    return re.sub(r"^https?://", "", key)
