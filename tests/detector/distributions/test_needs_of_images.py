"""What images are known to need of a host, asked of a recorded node and answered from its files."""

from pathlib import Path

import pytest

from nodeworthy import rules
from nodeworthy.features import Snapshot
from nodeworthy_detector.discovery import discover
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import KernelSource, SystemSource

HOSTS = Path(__file__).parents[2] / "data" / "hosts"

SPECIFICATION = """
version: v1alpha1
compatibilities:
- rules:
  - name: need
    matchFeatures:
    - feature: {feature}
      matchExpressions: {expressions}
"""


@pytest.fixture(scope="module")
def node() -> Snapshot:
    return discover(Host(HOSTS / "linux-ubuntu24.04-kvm_node" / "root"), (KernelSource(), SystemSource()))


@pytest.fixture(scope="module")
def thin_node() -> Snapshot:
    """A node of whose files only those of its processor were recorded."""
    return discover(Host(HOSTS / "linux-scientific7-k10" / "root"), (KernelSource(), SystemSource()))


def ask(node: Snapshot, feature: str, expressions: str) -> rules.Outcome:
    text = SPECIFICATION.format(feature=feature, expressions=expressions)
    spec = rules.read_compatibility_spec(text.encode(), "need.yaml")
    (rule,) = rules.compile_rules(spec.compatibilities[0].rules)
    assert isinstance(rule, rules.CompiledRule)
    return rules.evaluate_rule(rule, node).outcome


NEEDS = [
    # id of the case of an image, the set, what is met, what is not
    ("a02", "system.architecture", "{architecture: {op: In, value: [amd64]}}", "{bits: {op: In, value: ['32']}}"),
    (
        "b09",
        "kernel.binfmt",
        "{architecture: {op: In, value: [arm64]}, enabled: {op: IsTrue}}",
        "{architecture: {op: In, value: [s390x]}}",
    ),
    (
        "g01",
        "system.library",
        "{name: {op: In, value: [glibc]}, version: {op: Ge, value: ['2.34'], type: version}}",
        "{name: {op: In, value: [libstdc++]}, symbol_version: {op: Ge, value: ['3.4.34'], type: version}}",
    ),
    ("h02", "system.device", "{fuse: {op: Exists}}", "{sgx_enclave: {op: Exists}}"),
    (
        "h03",
        "kernel.moduleinfo",
        "{name: {op: In, value: [nfsd]}, available: {op: IsTrue}, loaded: {op: IsFalse}}",
        "{name: {op: In, value: [rbd]}, available: {op: IsTrue}}",
    ),
    ("h04", "kernel.availablemodule", "{wireguard: {op: Exists}}", "{rbd: {op: Exists}}"),
    (
        "h11",
        "kernel.sysctl",
        "{vm.max_map_count: {op: Gt, value: ['262143']}}",
        "{fs.inotify.max_user_watches: {op: Gt, value: ['524287']}}",
    ),
    ("h12", "kernel.cgroup", "{version: {op: In, value: ['2']}}", "{version: {op: In, value: ['1']}}"),
    ("h13", "kernel.cgroup", "{memory: {op: Exists}}", "{net_cls: {op: Exists}}"),
    (
        "h19",
        "kernel.sysctl",
        "{kernel.apparmor_restrict_unprivileged_userns: {op: In, value: ['1']}}",
        "{kernel.apparmor_restrict_unprivileged_userns: {op: In, value: ['0']}}",
    ),
    (
        "i01",
        "system.runtime",
        "{libseccomp: {op: Ge, value: ['2.5.0'], type: version}, containerd: {op: Exists}}",
        "{docker: {op: Exists}}",
    ),
    ("lsm", "kernel.security", "{apparmor: {op: Exists}}", "{selinux: {op: Exists}}"),
    ("init", "system.init", "{name: {op: In, value: [systemd]}}", "{name: {op: In, value: [openrc]}}"),
]


@pytest.mark.parametrize(("feature", "met", "unmet"), [need[1:] for need in NEEDS], ids=[need[0] for need in NEEDS])
def test_a_need_is_met_or_not(node: Snapshot, feature: str, met: str, unmet: str) -> None:
    assert ask(node, feature, met) is rules.Outcome.TRUE
    assert ask(node, feature, unmet) is rules.Outcome.FALSE


@pytest.mark.parametrize("feature", sorted({need[1] for need in NEEDS} - {"system.architecture"}))
def test_a_need_that_nobody_could_look_at_is_unknown(thin_node: Snapshot, feature: str) -> None:
    assert ask(thin_node, feature, "{name: {op: Exists}}") is rules.Outcome.UNKNOWN
