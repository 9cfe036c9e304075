"""Distributions and what their packages were compiled for."""

import pytest
from tests.resolver.inspection.elves import Made, prepared
from tests.resolver.inspection.nodes import node, outcome
from tests.resolver.inspection.readings.test_libcs import LOADER, SSE2, V2, checking_loader
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy.features import FeatureSet
from nodeworthy.requirements import Sureness
from nodeworthy.rules import Outcome, Rule, compile_rule
from nodeworthy_resolver.inspection.readings.distributions import DistributionRow, read_distribution
from nodeworthy_resolver.inspection.readings.levels import BASELINES
from nodeworthy_resolver.inspection.readings.ranges import in_range
from nodeworthy_resolver.inspection.readings.tables import read_table
from nodeworthy_resolver.inspection.subject import ImageConfig
from nodeworthy_resolver.inspection.subject import Outcome as Found

ARM_LOADER = "/lib/ld-linux-aarch64.so.1"


def read(os_release: str, loader: bytes | None = None, version: str = "2.34") -> Found:
    banner = f"GNU C Library (GNU libc) stable release version {version}.\0".encode()
    files: dict[str, bytes | str] = {
        "/usr/lib/os-release": os_release.encode(),
        "/etc/os-release": "-> ../usr/lib/os-release",
        "/lib64/libc.so.6": Made(soname="libc.so.6", tail=banner).bytes(),
        "/app": Made(interpreter=LOADER if loader else "", needed=("libc.so.6",) if loader else (), kind=2).bytes(),
    }
    if loader:
        files[LOADER] = loader
    return read_distribution(prepared(MemoryTree(files), ImageConfig(("/app",))))


PLAIN = Made(soname="ld-linux-x86-64.so.2").bytes()
EL9 = 'ID="rocky"\nVERSION_ID="9.4"\nPLATFORM_ID="platform:el9"\n'
EL10 = 'ID="almalinux"\nVERSION_ID="10.0"\nPLATFORM_ID="platform:el10"\n'


def test_the_loader_s_own_check_is_not_said_twice() -> None:
    found = read(EL9, checking_loader(2))
    assert (found.requirements, found.information) == ((), ())
    assert [(one.name, one.version) for one in found.software] == [("rocky", "9.4")]


def test_a_loader_that_asks_for_less_than_its_distribution_wins() -> None:
    found = read(EL10, checking_loader(2))
    assert found.requirements == ()
    assert [one.code for one in found.information] == ["distribution-baseline"]


def test_without_a_check_in_an_old_loader_the_table_is_certain() -> None:
    (requirement,) = read(EL9, PLAIN, version="2.33").requirements
    assert (requirement.text, requirement.sureness) == ("a CPU of level x86-64-v2", Sureness.CERTAIN)
    assert outcome(requirement, node({}, cpu_cpuid=SSE2)) is Outcome.FALSE
    assert outcome(requirement, node({}, cpu_cpuid=V2)) is Outcome.TRUE


@pytest.mark.parametrize("loader", [PLAIN, None])
def test_a_loader_without_the_check_or_no_loader_leaves_it_probable(loader: bytes | None) -> None:
    (requirement,) = read(EL9, loader).requirements
    assert requirement.sureness is Sureness.PROBABLE


@pytest.mark.parametrize(
    "os_release", ["ID=debian\nVERSION_ID=12\n", "ID=fedora\nVERSION_ID=43\n", "ID=arch\n", "NAME=thing\n", ""]
)
def test_distributions_for_every_processor_ask_for_nothing(os_release: str) -> None:
    assert read(os_release, PLAIN).requirements == ()


def test_amazon_linux_2023_on_arm_needs_armv8_2() -> None:
    files: dict[str, bytes | str] = {
        "/etc/os-release": b'ID="amzn"\nVERSION_ID="2023"\n',
        ARM_LOADER: Made(machine=183, soname="ld-linux-aarch64.so.1").bytes(),
        "/app": Made(machine=183, interpreter=ARM_LOADER, kind=2).bytes(),
    }
    (requirement,) = read_distribution(prepared(MemoryTree(files), ImageConfig(("/app",)))).requirements
    assert requirement.sureness is Sureness.CERTAIN
    a72 = FeatureSet(flags=frozenset({"AES", "ASIMD", "CRC32", "PMULL", "SHA1", "SHA2", "CPUID"}))
    words = FeatureSet(flags=frozenset({flag.lower() for flag in a72.flags or ()}))
    n1 = FeatureSet(flags=frozenset({*(a72.flags or ()), "ATOMICS", "ASIMDRDM", "DCPOP"}))
    assert outcome(requirement, node({}, cpu_cpuid=a72, cpu_hwcap=words)) is Outcome.FALSE
    assert outcome(requirement, node({}, cpu_cpuid=n1)) is Outcome.TRUE


@pytest.mark.parametrize("row", read_table("distributions", DistributionRow), ids=str)
def test_every_row_names_a_baseline_a_range_and_a_source(row: DistributionRow) -> None:
    assert row.baseline in BASELINES
    assert row.ids or row.platform_ids
    assert row.source.startswith("https://")
    assert in_range("1", row.versions) is not None
    compile_rule(Rule("row", match_any=BASELINES[row.baseline].ways))
