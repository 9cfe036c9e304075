"""Host roots of distributions, each of which keeps its kernel's files in places of its own."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from nodeworthy_detector.hostfs import Host


class System(NamedTuple):
    """One release of a distribution, as far as a rule may ask for it."""

    os_release: str
    """The lines ID and VERSION_ID as they are written, and others that matter."""
    release: str
    """The kernel's, as ``uname -r`` says it."""
    config: str
    """Where the kernel's configuration is; ``{}`` stands for the release."""
    modules: str = "usr/lib/modules"
    """The folder of the kernel's modules; where it is below ``usr``, ``lib`` is a link to ``usr/lib``."""
    suffix: str = ".ko"
    """How files of modules end in modules.dep; in modules.builtin they always end in ``.ko``."""
    os_release_place: str = "etc/os-release"
    built_in: str = ""
    """A module that is a part of this kernel and not loaded."""


# What these stand for: os-release files of https://github.com/chef/os_release, of photon-release.spec (vmware/photon) and of
# public bug reports; kernel releases in the form that each system gives them, most of them quoted in bug reports. Where a
# system keeps its configuration: the files that its kernel is built with, named with each group. The suffixes of modules are
# the four that kmod knows; which release of a system began with which is not what is tested here.
SYSTEMS = {
    # rpm-ostree moves /boot there (ostree, "Bootloader data"); os-release of OpenShift, whose version VERSION_ID is.
    "rhcos-4.13": System(
        'ID="rhcos"\nVERSION_ID="4.13"\nPLATFORM_ID="platform:el9"\nRHEL_VERSION="9.2"\nOPENSHIFT_VERSION="4.13"',
        "5.14.0-284.36.1.el9_2.x86_64",
        "usr/lib/ostree-boot/config-{}",
        suffix=".ko.xz",
    ),
    # kernel.spec of RHEL: the file ``config`` beside the modules; rebuilds do the same.
    "rhel-8": System(
        'ID="rhel"\nVERSION_ID="8.10"', "4.18.0-553.el8_10.x86_64", "usr/lib/modules/{}/config", suffix=".ko.xz"
    ),
    "rocky-8": System(
        'ID="rocky"\nVERSION_ID="8.9"', "4.18.0-513.5.1.el8_9.x86_64", "usr/lib/modules/{}/config", suffix=".ko.xz"
    ),
    "rhel-9": System(
        'ID="rhel"\nVERSION_ID="9.4"', "5.14.0-427.13.1.el9_4.x86_64", "usr/lib/modules/{}/config", suffix=".ko.xz"
    ),
    "rocky-9": System(
        'ID="rocky"\nVERSION_ID="9.3"', "5.14.0-362.8.1.el9_3.x86_64", "usr/lib/modules/{}/config", suffix=".ko.xz"
    ),
    "rhel-10": System(
        'ID="rhel"\nVERSION_ID="10.0"', "6.12.0-55.33.1.el10_0.x86_64", "usr/lib/modules/{}/config", suffix=".ko.xz"
    ),
    "rocky-10": System(
        'ID="rocky"\nVERSION_ID="10.0"', "6.12.0-55.34.1.el10_0.x86_64", "usr/lib/modules/{}/config", suffix=".ko.xz"
    ),
    # linux.spec and linux-esx.spec of vmware/photon: ``cp .config /boot/config-%{uname_r}``; os-release is a link.
    "photon-3": System(
        "ID=photon\nVERSION_ID=3.0", "4.19.79-1.ph3-esx", "boot/config-{}", os_release_place="usr/lib/os-release"
    ),
    "photon-4": System(
        "ID=photon\nVERSION_ID=4.0", "5.10.132-1.ph4-esx", "boot/config-{}", os_release_place="usr/lib/os-release"
    ),
    "photon-5": System(
        "ID=photon\nVERSION_ID=5.0", "6.1.41-1.ph5-esx", "boot/config-{}", os_release_place="usr/lib/os-release"
    ),
    # Amazon's kernel.spec comes from Fedora's.
    "amazon-2": System('ID="amzn"\nVERSION_ID="2"', "5.10.235-227.919.amzn2.x86_64", "boot/config-{}"),
    "amazon-2023": System('ID="amzn"\nVERSION_ID="2023"', "6.1.161-183.298.amzn2023.x86_64", "boot/config-{}"),
    # kernel.spec of microsoft/azurelinux: ``install .config /boot/config-%{uname_r}``. Azure Linux 2 still says mariner.
    "azure-2": System('ID=mariner\nVERSION_ID="2.0"', "5.15.153.1-2.cm2", "boot/config-{}", suffix=".ko.xz"),
    "azure-3": System('ID=azurelinux\nVERSION_ID="3.0"', "6.6.85.1-2.azl3", "boot/config-{}", suffix=".ko.xz"),
    # Debian's and Ubuntu's packages linux-image-* and linux-modules-*.
    "debian-12": System('ID=debian\nVERSION_ID="12"', "6.1.0-13-amd64", "boot/config-{}"),
    "debian-13": System('ID=debian\nVERSION_ID="13"', "6.12.43+deb13-amd64", "boot/config-{}", suffix=".ko.xz"),
    "ubuntu-22.04": System('ID=ubuntu\nVERSION_ID="22.04"', "5.15.0-100-generic", "boot/config-{}"),
    "ubuntu-24.04": System('ID=ubuntu\nVERSION_ID="24.04"', "6.8.0-31-generic", "boot/config-{}", suffix=".ko.zst"),
    # siderolabs/pkgs, kernel/build/config-amd64: IKCONFIG_PROC; no file of it is in the image. overlay is built in.
    "talos-1.6": System(
        "ID=talos\nVERSION_ID=v1.6.6", "6.1.78-talos", "proc/config.gz", modules="lib/modules", built_in="overlay"
    ),
    # coreos/coreos-overlay, pull request 9: IKCONFIG_PROC; Flatcar's documents: modules are below usr/lib.
    "flatcar": System(
        "ID=flatcar\nVERSION_ID=4459.0.0",
        "6.12.46-flatcar",
        "proc/config.gz",
        suffix=".ko.xz",
        os_release_place="usr/lib/os-release",
    ),
    # main/linux-lts/APKBUILD of Alpine: named after the flavour, not the release; lib is no link.
    "alpine-3.22": System(
        "ID=alpine\nVERSION_ID=3.22.1", "6.12.51-0-lts", "boot/config-lts", modules="lib/modules", suffix=".ko.gz"
    ),
    # SUSE's kernel-default; lib is no link.
    "sles-15": System(
        'ID="sles"\nVERSION_ID="15.7"',
        "6.4.0-150700.53.25-default",
        "boot/config-{}",
        modules="lib/modules",
        suffix=".ko.zst",
    ),
}


@pytest.fixture(scope="session")
def systems() -> dict[str, System]:
    """The systems by their names."""
    return SYSTEMS


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that asks for ``system`` once for each."""
    if "system" in metafunc.fixturenames:
        metafunc.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)


@pytest.fixture
def install(tmp_path: Path) -> Callable[[System], Host]:
    """``install(system)`` makes the root of a machine that runs it."""

    def make(system: System) -> Host:
        for place, content in _files(system).items():
            path = tmp_path / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        _link(tmp_path, "etc/os-release", "../usr/lib/os-release")
        _link(tmp_path, "lib", "usr/lib")
        return Host(tmp_path)

    return make


def _files(system: System) -> dict[str, bytes]:
    version = system.release.partition("-")[0]
    config = f"#\n# Linux/x86 {version} Kernel Configuration\n#\nCONFIG_NO_HZ=y\nCONFIG_OVERLAY_FS=m\n".encode()
    loaded = [name for name in ("overlay", "vfio_pci") if name != system.built_in]
    folder = f"{system.modules}/{system.release}"
    return {
        "proc/sys/kernel/arch": b"x86_64\n",
        "proc/sys/kernel/osrelease": f"{system.release}\n".encode(),
        "proc/sys/vm/swappiness": b"60\n",
        "proc/modules": "".join(f"{name} 16384 0 - Live 0x0000000000000000\n" for name in loaded).encode(),
        "sys/module/overlay/refcnt": b"0\n",
        system.os_release_place: f"NAME=x\n{system.os_release}\n".encode(),
        system.config.format(system.release): gzip.compress(config) if system.config.endswith(".gz") else config,
        f"{folder}/modules.builtin": f"kernel/fs/{system.built_in or 'ext4'}.ko\n".encode(),
        f"{folder}/modules.dep": "".join(
            f"kernel/{name}{system.suffix}: kernel/other{system.suffix}\n"
            for name in ("drivers/vfio-pci", "fs/nfsd/nfsd")
        ).encode(),
    }


def _link(root: Path, place: str, target: str) -> None:
    if not (root / place).exists():
        (root / place).parent.mkdir(exist_ok=True)
        (root / place).symlink_to(target)
