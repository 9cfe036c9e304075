import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import UsageError
from nodeworthy_detector import hostfs
from nodeworthy_detector.hostfs import Host, HostReadError, open_root

Plant = Callable[[Mapping[str, str | bytes]], Host]


def test_a_file_that_is_not_there_is_none(plant: Plant) -> None:
    host = plant({"etc/os-release": "ID=x\n"})
    assert host.read_text("etc/machine-id") is None
    assert host.read_text("etc/os-release/below-a-file") is None
    assert host.list_names("sys/class/net") is None
    assert not host.exists("proc")


def test_bytes_that_are_not_utf_8_are_replaced(plant: Plant) -> None:
    assert plant({"a": b"x\xe9\n"}).read_value("a") == "x\ufffd"


def test_a_file_may_have_as_many_bytes_as_the_limit_and_not_one_more(plant: Plant) -> None:
    host = plant({"exact": b"x" * 100, "more": b"x" * 101})
    assert host.read_bytes("exact", 100) == b"x" * 100
    with pytest.raises(HostReadError, match="more than 100 bytes"):
        host.read_bytes("more", 100)


def test_a_huge_sparse_file_is_refused_after_its_limit(plant: Plant, tmp_path: Path) -> None:
    host = plant({"proc/cpuinfo": ""})
    with (tmp_path / "proc/cpuinfo").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(HostReadError, match="more than 65,536 bytes"):
        host.read_text("proc/cpuinfo")


def test_a_fifo_is_refused_at_once(plant: Plant, tmp_path: Path) -> None:
    host = plant({})
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(HostReadError, match="no regular file"):
        host.read_text("fifo")


def test_a_device_is_never_opened() -> None:
    with pytest.raises(HostReadError, match="no regular file"):
        Host(Path("/")).read_text("dev/zero")


def test_a_folder_is_no_file_and_a_file_is_no_folder(plant: Plant) -> None:
    host = plant({"etc/os-release": "ID=x"})
    with pytest.raises(HostReadError, match="no regular file"):
        host.read_text("etc")
    with pytest.raises(HostReadError, match="no folder"):
        host.list_names("etc/os-release")


def test_a_file_without_permission_could_not_be_found_out(
    plant: Plant, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    host = plant({"etc/secret": "x"})
    (tmp_path / "etc/secret").chmod(0)
    request.getfixturevalue("unprivileged")
    with pytest.raises(HostReadError, match="permission denied") as caught:
        host.read_text("etc/secret")
    assert not caught.value.has_no_value


def test_a_value_that_the_kernel_does_not_have_is_told_apart() -> None:
    with pytest.raises(HostReadError) as caught:
        Host(Path("/")).read_text("sys/class/net/lo/speed")
    assert caught.value.has_no_value


def test_an_absolute_link_starts_again_at_the_root_of_the_host(plant: Plant, tmp_path: Path) -> None:
    host = plant({"usr/lib/os-release": "ID=inside", "etc/": ""})
    (tmp_path / "etc/os-release").symlink_to("/usr/lib/os-release")
    assert host.read_value("etc/os-release") == "ID=inside"


def test_a_link_never_leads_out_of_the_root(plant: Plant, tmp_path: Path) -> None:
    host = plant({"root/etc/": "", "outside": "secret"})
    inner = Host(tmp_path / "root")
    (tmp_path / "root/etc/up").symlink_to("../../../../../../../../outside")
    (tmp_path / "root/etc/absolute").symlink_to(tmp_path / "outside")
    (tmp_path / "root/folder").symlink_to("../..")
    assert host.read_value("outside") == "secret"
    assert inner.read_text("etc/up") is None
    assert inner.read_text("etc/absolute") is None
    assert inner.list_names("folder") == ("etc", "folder")


def test_links_to_folders_are_followed_on_the_way(plant: Plant, tmp_path: Path) -> None:
    host = plant({"sys/devices/pci0000:00/0000:00:1f.0/class": "0x060100", "sys/bus/pci/devices/": ""})
    target = "../../../devices/pci0000:00/0000:00:1f.0"
    (tmp_path / "sys/bus/pci/devices/0000:00:1f.0").symlink_to(target)
    assert host.read_value("sys/bus/pci/devices/0000:00:1f.0/class") == "0x060100"
    assert host.is_folder("sys/bus/pci/devices/0000:00:1f.0")


def test_a_loop_of_links_is_an_error_below_any_root(plant: Plant, tmp_path: Path) -> None:
    host = plant({"a/": ""})
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "a/b").symlink_to("../a/b/c")
    for path in ("loop", "a/b"):
        with pytest.raises(HostReadError, match="too many"):
            host.read_text(path)
    with pytest.raises(HostReadError, match="too many"):
        Host(Path("/")).read_text(str(tmp_path / "loop").lstrip("/"))


def test_what_a_link_names_needs_not_be_there(plant: Plant, tmp_path: Path) -> None:
    host = plant({"dev/real": "x", "a/": ""})
    (tmp_path / "a/driver").symlink_to("../../bus/pci/drivers/nvidia")
    (tmp_path / "b").symlink_to("a")
    assert (host.link_name("a/driver"), host.link_name("b/driver")) == ("nvidia", "nvidia")
    assert (host.link_name("dev/real"), host.link_name("dev/none"), host.link_name("none/none")) == (None, None, None)
    with pytest.raises(HostReadError, match="is no path"):
        host.link_name("a\0/b")


def test_names_are_sorted_and_bounded(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    host = plant({"d/c": "", "d/a": "", "d/b": ""})
    assert host.list_names("d") == ("a", "b", "c")
    monkeypatch.setattr(hostfs, "MAX_NAMES", 2)
    with pytest.raises(HostReadError, match="more than 2 names"):
        host.list_names("d")


def test_a_part_of_a_file_ends_where_the_file_does(plant: Plant) -> None:
    host = plant({"library": b"0123456789"})
    assert host.read_part("library", 4, 3) == b"456"
    assert host.read_part("library", 8, 100) == b"89"
    for offset in (10, 1 << 40, 1 << 64):
        assert host.read_part("library", offset, 100) == b""
    assert host.read_part("missing", 4, 3) is None


def test_what_is_required_and_not_there_is_named(plant: Plant) -> None:
    with pytest.raises(HostReadError, match="sys/bus is not there"):
        plant({"sys/class/": ""}).require("sys/bus")


def test_the_real_root_is_this_machine_by_any_name_and_another_folder_is_not(tmp_path: Path) -> None:
    assert Host(Path("/")).is_this_machine
    assert Host(Path("/proc/..")).is_this_machine
    assert not Host(tmp_path).is_this_machine
    assert Host(tmp_path, is_this_machine=True).is_this_machine


def test_a_root_with_the_running_kernels_procfs_is_this_machine_and_a_copy_of_its_files_is_not(tmp_path: Path) -> None:
    assert Host(Path("/proc/self/root")).is_this_machine
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "proc").symlink_to("/proc")
    assert not Host(tmp_path / "linked").is_this_machine
    copy = tmp_path / "copied" / "proc/sys/kernel/random"
    copy.mkdir(parents=True)
    (copy / "boot_id").write_bytes(Path("/proc/sys/kernel/random/boot_id").read_bytes())
    assert not Host(tmp_path / "copied").is_this_machine


def test_a_root_that_was_named_has_to_be_there(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert str(open_root(tmp_path)) == str(tmp_path)
    with pytest.raises(UsageError, match="it is not there"):
        open_root(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="no folder"):
        open_root(tmp_path / "file")


@given(path=st.text(max_size=300))
def test_any_path_is_answered_without_leaving_the_tree_of_errors(path: str) -> None:
    for root in (Path("/"), Path("/nowhere")):
        with suppress(HostReadError):
            Host(root).read_start("proc/self/" + path, 1)
