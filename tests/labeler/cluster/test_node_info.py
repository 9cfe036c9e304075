"""Facts from what a kubelet says."""

import pytest

from nodeworthy.features import SetState
from nodeworthy_labeler.cluster.node_info import NodeInfo, make_node_facts


@pytest.mark.parametrize(
    ("release", "full", "numbers"),
    [
        ("6.12.43+deb13-amd64", "6.12.43_deb13-amd64", ("6", "12", "43")),
        ("5.14.0-427.13.1.el9_4.x86_64", "5.14.0-427.13.1.el9_4.x86_64", ("5", "14", "0")),
        ("6.8", "6.8", ("6", "8", "")),
    ],
)
def test_a_kernel_is_told_as_a_detector_tells_it(release: str, full: str, numbers: tuple[str, ...]) -> None:
    facts = make_node_facts(NodeInfo("linux", "amd64", release))
    major, minor, revision = numbers
    assert facts.contents["kernel.version"].attributes == {
        "full": full,
        "raw": release,
        "major": major,
        "minor": minor,
        "revision": revision,
    }
    assert facts.contents["system.architecture"].unobserved == {"machine", "bits", "endianness"}


def test_of_other_systems_nothing_is_said_under_the_names_that_mean_linux() -> None:
    facts = make_node_facts(NodeInfo("windows", "amd64", "10.0.20348"))
    assert facts.lookup("kernel.version").state is SetState.UNKNOWN
    assert facts.lookup("system.architecture").state is SetState.UNKNOWN
    assert facts.contents["kubernetes.node"].attributes == {
        "os": "windows",
        "architecture": "amd64",
        "kernel_version": "10.0.20348",
    }


def test_a_kubelet_that_says_nothing_makes_no_facts_up() -> None:
    facts = make_node_facts(NodeInfo())
    assert {name: content.attributes for name, content in facts.contents.items()} == {"kubernetes.node": {}}
