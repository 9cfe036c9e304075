import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.detector.conftest import Plant

from nodeworthy.features import FeatureSet, SetStatus
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import MemorySource
from nodeworthy_detector.sources.page_size import read_page
from nodeworthy_detector.sources.reading import Faults

ARCH = "proc/sys/kernel/arch"
CONFIG = "usr/src/linux/.config"
HUGE = "sys/kernel/mm/transparent_hugepage/hpage_pmd_size"


@pytest.mark.parametrize(
    ("files", "size"),
    [
        ({ARCH: "x86_64"}, "4096"),
        ({ARCH: "s390x"}, "4096"),
        ({ARCH: "riscv64"}, "4096"),
        ({ARCH: "armv7l"}, "4096"),
        ({ARCH: "aarch64", CONFIG: "CONFIG_ARM64_64K_PAGES=y\n"}, "65536"),
        ({ARCH: "aarch64", CONFIG: "CONFIG_ARM64_16K_PAGES=y\n"}, "16384"),
        ({ARCH: "aarch64", HUGE: "2097152\n"}, "4096"),
        ({ARCH: "aarch64", HUGE: "33554432\n"}, "16384"),
        ({ARCH: "aarch64", HUGE: "536870912\n"}, "65536"),
        ({ARCH: "aarch64", HUGE: "7\n", CONFIG: "CONFIG_ARM64_4K_PAGES=y\n"}, "4096"),
        ({ARCH: "ppc64le", CONFIG: "CONFIG_PPC_64K_PAGES=y\n"}, "65536"),
        ({ARCH: "loongarch64", CONFIG: "CONFIG_PAGE_SIZE_16KB=y\n"}, "16384"),
        ({ARCH: "ppc64le"}, None),
        ({ARCH: "aarch64"}, None),
        ({"etc/hostname": "node"}, None),
    ],
)
def test_the_size_is_what_the_kernel_was_built_for(plant: Plant, files: Mapping[str, str], size: str | None) -> None:
    found = read_page(plant(files), Faults())
    if size is None:
        assert isinstance(found, SetStatus)
    else:
        assert found == FeatureSet(attributes={"size": size})


def test_this_machine_says_it_itself() -> None:
    found = MemorySource().read(Host(Path("/"))).sets["memory.page"]
    assert found == FeatureSet(attributes={"size": str(os.sysconf("SC_PAGE_SIZE"))})


def test_a_file_that_cannot_be_read_is_a_fault_and_the_next_is_looked_at(plant: Plant) -> None:
    faults = Faults()
    host = plant({ARCH: "aarch64", f"{HUGE}/": "", CONFIG: "CONFIG_ARM64_4K_PAGES=y\n"})
    assert read_page(host, faults) == FeatureSet(attributes={"size": "4096"})
    assert faults.listed() == (f"{HUGE} is no regular file",)
