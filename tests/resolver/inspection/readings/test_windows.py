"""Builds of Windows."""

import pytest
from tests.resolver.inspection.elves import prepared
from tests.resolver.inspection.nodes import node, outcome
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy import platforms
from nodeworthy.requirements import Sureness
from nodeworthy.rules import Outcome
from nodeworthy_resolver.inspection.readings.windows import read_windows
from nodeworthy_resolver.inspection.subject import ImageConfig
from nodeworthy_resolver.inspection.subject import Outcome as Found


def read(platform: str) -> Found:
    return read_windows(prepared(MemoryTree({}), ImageConfig(platform=platforms.parse(platform))))


@pytest.mark.parametrize(
    ("image", "host", "met"),
    [
        ("10.0.17763.5329", "10.0.17763.1", True),
        ("10.0.17763.5329", "10.0.17134.1304", False),
        ("10.0.17763.5329", "10.0.20348.2113", False),
        ("10.0.20348.2113", "10.0.20348.1", True),
        ("10.0.20348.2113", "10.0.26100.32230", True),
        ("10.0.26100.1742", "10.0.20348.2113", False),
    ],
)
def test_old_hosts_run_their_own_build_and_new_ones_earlier_ones_too(image: str, host: str, *, met: bool) -> None:
    (requirement,) = read(f"windows/amd64:{image}").requirements
    assert requirement.sureness is Sureness.CERTAIN
    facts = node({"kernel.version": {"full": host}})
    assert outcome(requirement, facts) is (Outcome.TRUE if met else Outcome.FALSE)


@pytest.mark.parametrize("platform", ["linux/amd64", "windows/amd64", "windows/amd64:next"])
def test_other_systems_and_unknown_builds_ask_for_nothing(platform: str) -> None:
    assert read(platform).requirements == ()
