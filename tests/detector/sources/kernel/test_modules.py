from collections.abc import Callable, Mapping

from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.features import FeatureSet, SetState, SetStatus, encode
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import KernelSource
from nodeworthy_detector.sources.kernel.modules import parse_built_in, parse_dependencies, parse_loaded

Plant = Callable[[Mapping[str, str | bytes]], Host]

ANCHOR = {"proc/sys/vm/swappiness": "60"}
RELEASE = {"proc/sys/kernel/osrelease": "6.1.0-13-amd64\n"}
FOLDER = "lib/modules/6.1.0-13-amd64"


def read(host: Host, name: str, source: KernelSource = KernelSource()) -> FeatureSet | SetStatus:  # noqa: B008 # a record
    return source.read(host).sets[f"kernel.{name}"]


def status(host: Host, name: str) -> SetStatus:
    found = read(host, name)
    assert isinstance(found, SetStatus)
    return found


def test_k1_a_built_in_module_is_enabled_and_not_loaded(plant: Plant) -> None:
    host = plant(
        ANCHOR
        | RELEASE
        | {
            "proc/modules": "snd 147456 1 snd_hda_intel, Live 0x0000000000000000\n",
            "lib/modules/6.1.0-13-amd64/modules.builtin": "kernel/drivers/gpu/drm/i915/i915.ko\n",
        }
    )
    assert read(host, "loadedmodule") == FeatureSet(flags=frozenset({"snd"}))
    assert read(host, "enabledmodule") == FeatureSet(flags=frozenset({"snd", "i915"}))
    assert read(host, "module") == FeatureSet(flags=frozenset({"snd", "i915"}))


def test_k2_module_names_come_in_the_spelling_of_the_kernel(plant: Plant) -> None:
    host = plant(
        ANCHOR
        | RELEASE
        | {
            "proc/modules": "vfio_pci 16384 0 - Live 0x0\n",
            "usr/lib/modules/6.1.0-13-amd64/modules.builtin": "kernel/crypto/aesni-intel.ko\n",
        }
    )
    assert read(host, "module") == FeatureSet(flags=frozenset({"vfio_pci", "aesni_intel"}))
    assert read(host, "enabledmodule") == FeatureSet(flags=frozenset({"vfio_pci", "aesni-intel"}))


def test_without_the_list_of_built_in_modules_the_union_is_unknown(plant: Plant) -> None:
    host = plant(ANCHOR | RELEASE | {"proc/modules": "kvm 1 0 - Live 0x0\n"})
    assert read(host, "loadedmodule") == FeatureSet(flags=frozenset({"kvm"}))
    for name in ("module", "enabledmodule"):
        assert status(host, name).state is SetState.UNKNOWN
        assert "modules.builtin is not there" in status(host, name).reason


def test_a_list_of_modules_counts_wherever_it_is_all_that_is_there(plant: Plant) -> None:
    host = plant(RELEASE | {"proc/modules": "xe 1 0 - Live 0x0\n", f"{FOLDER}/modules.builtin": "kernel/fs/ext4.ko\n"})
    assert read(host, "loadedmodule") == FeatureSet(flags=frozenset({"xe"}))
    assert read(host, "module") == FeatureSet(flags=frozenset({"xe", "ext4"}))


def test_a_kernel_without_loadable_modules_is_no_recording_without_them(plant: Plant) -> None:
    assert status(plant(RELEASE), "loadedmodule").state is SetState.UNKNOWN
    assert status(plant(RELEASE | ANCHOR), "loadedmodule").state is SetState.ABSENT


def instances(host: Host, source: KernelSource) -> dict[str, dict[str, str]]:
    found = read(host, "moduleinfo", source)
    assert isinstance(found, FeatureSet)
    return {one["name"]: {key: one[key] for key in one if key != "name"} for one in found.instances or ()}


INSTALLED = (
    ANCHOR
    | RELEASE
    | {
        "proc/modules": "nvidia 56 2 nvidia_uvm, Live 0x0 (POE)\nnf_tables 1 0 - Live 0x0\n",
        "sys/module/nvidia/version": "550.54.15\n",
        "sys/module/nf_tables/refcnt": "0\n",
        "sys/module/tcp_cubic/version": "2.3\n",
        "sys/module/printk/parameters/time": "Y\n",
        f"{FOLDER}/modules.builtin": "kernel/net/ipv4/tcp_cubic.ko\nkernel/crypto/aesni-intel.ko\n",
        f"{FOLDER}/modules.dep": (
            "kernel/fs/nfsd/nfsd.ko.xz: kernel/fs/lockd/lockd.ko.xz kernel/net/sunrpc/sunrpc.ko.xz\n"
            "kernel/drivers/vfio/pci/vfio-pci.ko: kernel/drivers/vfio/vfio.ko\n"
            "updates/dkms/nvidia.ko:\n"
            "kernel/drivers/rare-one.ko.zst:\n"
        ),
    }
)


def test_modules_are_told_with_version_and_as_loaded_built_in_or_available(plant: Plant) -> None:
    source = KernelSource(modules=frozenset({"nfsd", "vfio-pci", "zfs"}))
    assert instances(plant(INSTALLED), source) == {
        "nvidia": {"loaded": "true", "builtin": "false", "available": "true", "version": "550.54.15"},
        "nf_tables": {"loaded": "true", "builtin": "false", "available": "true"},
        "tcp_cubic": {"loaded": "false", "builtin": "true", "available": "true", "version": "2.3"},
        "aesni_intel": {"loaded": "false", "builtin": "true", "available": "true"},
        "nfsd": {"loaded": "false", "builtin": "false", "available": "true"},
        "vfio_pci": {"loaded": "false", "builtin": "false", "available": "true"},
    }


def test_whatever_could_be_loaded_is_available_also_what_no_image_asks_for(plant: Plant) -> None:
    names = {"nvidia", "nf_tables", "tcp_cubic", "aesni_intel", "nfsd", "vfio_pci", "rare_one"}
    assert read(plant(INSTALLED), "availablemodule") == FeatureSet(flags=frozenset(names))


def test_what_could_be_loaded_is_never_called_loaded_or_enabled(plant: Plant) -> None:
    host = plant(INSTALLED)
    for name in ("loadedmodule", "enabledmodule", "module"):
        found = read(host, name)
        assert isinstance(found, FeatureSet)
        assert "nfsd" not in (found.flags or ())


def test_without_the_list_of_installed_modules_it_is_unknown_what_could_be_loaded(plant: Plant) -> None:
    host = plant({name: text for name, text in INSTALLED.items() if not name.endswith("modules.dep")})
    for name in ("availablemodule", "moduleinfo"):
        assert status(host, name).state is SetState.UNKNOWN
        assert "modules.dep is not there" in status(host, name).reason
    assert isinstance(read(host, "module"), FeatureSet)


def test_a_kernel_that_loads_no_modules_needs_no_list_of_their_files(plant: Plant) -> None:
    host = plant(ANCHOR | RELEASE | {f"{FOLDER}/modules.builtin": "kernel/fs/fuse/fuse.ko\n", "sys/module/": ""})
    assert read(host, "availablemodule") == FeatureSet(flags=frozenset({"fuse"}))
    assert instances(host, KernelSource()) == {"fuse": {"loaded": "false", "builtin": "true", "available": "true"}}


def test_a_version_that_cannot_be_read_is_a_fault_of_its_module_only(plant: Plant) -> None:
    host = plant(INSTALLED | {"sys/module/nf_tables/version/": ""})
    reading = KernelSource().read(host)
    assert reading.faults == ("sys/module/nf_tables/version is no regular file",)
    assert instances(host, KernelSource())["nvidia"]["version"] == "550.54.15"


def test_without_sysfs_versions_are_unknown_and_not_absent(plant: Plant) -> None:
    host = plant({name: text for name, text in INSTALLED.items() if not name.startswith("sys/")})
    assert status(host, "moduleinfo").state is SetState.UNKNOWN


def test_six_thousand_modules_are_far_below_the_limit_of_a_set(plant: Plant) -> None:
    lines = "".join(f"kernel/drivers/net/ethernet/vendor/some-module-{number}.ko.zst:\n" for number in range(6000))
    host = plant(INSTALLED | {f"{FOLDER}/modules.dep": lines})
    for name in ("availablemodule", "moduleinfo"):
        found = read(host, name)
        assert isinstance(found, FeatureSet)
        assert len(encode(found)) < 160_000


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert all(parse_loaded(text))
    assert all("/" not in name for name in parse_built_in(text))
    assert all(name and not set(name) & set("/:\n") for name in parse_dependencies(text))
