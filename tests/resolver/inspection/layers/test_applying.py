import tarfile
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from nodeworthy.errors import InspectionError
from nodeworthy_resolver.inspection.layers import Bounds, LayeredTree
from nodeworthy_resolver.inspection.tree import Entry, Kind, NotKeptError, find_file, resolve

if TYPE_CHECKING:
    from tests.resolver.inspection.layers.conftest import MakeTar, ReadLayers, ReadStored

ELF = b"\x7fELF" + bytes(60)


def paths(tree: LayeredTree) -> list[str]:
    return [path for path, _ in tree.walk()]


def test_later_layers_lie_over_earlier_ones(read: "ReadLayers") -> None:
    tree = read([("bin/a", ELF + b"old"), ("bin/b", ELF)], [("./bin/a", ELF + b"new")])

    assert tree.read("/bin/a") == ELF + b"new"
    assert tree.read("/bin/b") == ELF
    assert list(tree.walk()) == [
        ("/bin", Entry(Kind.FOLDER, 0o755)),
        ("/bin/a", Entry(Kind.FILE, 0o644, 67)),
        ("/bin/b", Entry(Kind.FILE, 0o644, 64)),
    ]


def test_a_whiteout_removes_a_file_and_a_folder_of_layers_below(read: "ReadLayers") -> None:
    tree = read([("a/b/c", b"1"), ("a/d", b"2"), ("e", b"3")], [("a/.wh.b", b""), (".wh.e", b"")])

    assert paths(tree) == ["/a", "/a/d"]


def test_a_whiteout_hides_nothing_of_its_own_layer_in_whatever_order(read: "ReadLayers") -> None:
    lower = [("a/old", b""), ("b/old", b"")]

    tree = read(lower, [("a/new", b""), (".wh.a", b""), (".wh.b", b""), ("b/new", b"")])

    assert paths(tree) == ["/a", "/a/new", "/b", "/b/new"]


def test_an_opaque_whiteout_leaves_what_its_layer_puts_in_before_and_after(read: "ReadLayers") -> None:
    lower = [("a/old", b""), ("a/in/old", b""), ("a/gone/old", b""), ("b", b"")]

    tree = read(lower, [("a/in/new", b""), ("a/.wh..wh..opq", b""), ("a/late", b"")])

    assert paths(tree) == ["/a", "/a/in", "/a/in/new", "/a/late", "/b"]


def test_an_opaque_root_hides_everything_below(read: "ReadLayers") -> None:
    assert paths(read([("a", b"")], [(".wh..wh..opq", b""), ("b", b"")])) == ["/b"]


def test_what_aufs_kept_for_itself_is_passed_over(read: "ReadLayers") -> None:
    assert paths(read([("a", b"")], [(".wh..wh.aufs", b""), (".wh..wh.plnk/1", b"")])) == [
        "/.wh..wh.plnk",
        "/.wh..wh.plnk/1",
        "/a",
    ]


def test_a_whiteout_of_what_is_not_there_leaves_its_folder(read: "ReadLayers") -> None:
    """As in containerd, which makes the way to it first."""
    tree = read([("a", b"")], [("x/.wh.y", b""), (".wh.z", b""), ("a/.wh.b", b"")])

    assert paths(tree) == ["/a", "/x"]
    assert [one.what for one in tree.unexplored()] == ["a/.wh.b"]


def test_a_file_replaces_a_folder_and_a_folder_a_file(read: "ReadLayers") -> None:
    tree = read([("a/b", b"1"), ("c", b"2")], [("a", b"3"), ("c", None), ("c/d", b"4")])

    assert paths(tree) == ["/a", "/c", "/c/d"]


def test_a_folder_over_a_folder_keeps_its_content(read: "ReadLayers") -> None:
    tree = read([("a/b", b"1")], [("a", None)])

    assert paths(tree) == ["/a", "/a/b"]


def test_members_reach_their_place_through_links_of_layers_below(read: "ReadLayers") -> None:
    tree = read(
        [("usr/lib/x", b""), ("lib", "usr/lib"), ("abs", "/usr"), ("up", "usr/../usr/lib/..")],
        [("lib/y", b""), ("abs/z", b""), ("up/w", b""), ("lib/.wh.x", b"")],
    )

    assert paths(tree) == ["/abs", "/lib", "/up", "/usr", "/usr/lib", "/usr/lib/y", "/usr/w", "/usr/z"]


def test_a_link_that_is_replaced_no_longer_leads_anywhere(read: "ReadLayers") -> None:
    tree = read([("usr/lib/x", b""), ("lib", "usr/lib"), ("lib/y", b""), ("lib", None), ("lib/z", b"")])

    assert paths(tree) == ["/lib", "/lib/z", "/usr", "/usr/lib", "/usr/lib/x", "/usr/lib/y"]


def test_links_out_of_the_root_stay_in_it(read: "ReadLayers") -> None:
    tree = read([("etc/os-release", b"ID=x"), ("out", "../../../.."), ("out/a", b""), ("../b", b""), ("/c/../d", b"")])

    assert paths(tree) == ["/a", "/b", "/d", "/etc", "/etc/os-release", "/out"]
    found = resolve(tree, "/out/../etc/os-release")
    assert found == "/etc/os-release"


def test_links_in_a_circle_and_through_files_lose_their_entry_alone(read: "ReadLayers") -> None:
    tree = read([("a", "b"), ("b", "a"), ("a/x", b""), ("file", b""), ("file/y", b""), ("z", b"")])

    assert paths(tree) == ["/a", "/b", "/file", "/z"]
    assert [one.what for one in tree.unexplored()] == ["a/x", "file/y"]
    assert "an entry in something that is no folder" in tree.unexplored()[0].why


def test_a_hard_link_is_the_same_file_and_lives_on_without_the_first_name(
    read: "ReadLayers", hard_link: Callable[[str], tarfile.TarInfo]
) -> None:
    tree = read([("a/x", ELF)], [("b", hard_link("a/x")), ("a/.wh.x", b""), ("c", hard_link("/b"))])

    assert paths(tree) == ["/a", "/b", "/c"]
    assert tree.read("/b") == tree.read("/c") == ELF


def test_a_hard_link_to_what_is_outside_or_a_folder_is_passed_over_and_told(
    read: "ReadLayers", hard_link: Callable[[str], tarfile.TarInfo]
) -> None:
    tree = read([("a/x", b""), ("b", hard_link("../../etc/passwd")), ("c", hard_link("a"))])

    assert paths(tree) == ["/a", "/a/x"]
    assert [one.what for one in tree.unexplored()] == ["b", "c"]


def test_devices_are_entries_and_nothing_more(read: "ReadLayers", device: tarfile.TarInfo) -> None:
    tree = read([("dev/null", device)])

    assert tree.entry("/dev/null") == Entry(Kind.OTHER, 0o644)
    with pytest.raises(NotKeptError, match="no file"):
        tree.read("/dev/null")


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_and_targets_of_every_format_are_read(
    make_tar: "MakeTar", read_stored: "ReadStored", form: int
) -> None:  # tarfile's word
    folder = "/".join(["folder"] * 20)
    target = "t" * 90 if form == tarfile.USTAR_FORMAT else "t" * 200

    tree = read_stored(make_tar((f"{folder}/{'n' * 90}", b"#!x"), ("link", target), form=form))

    assert tree.read(f"/{folder}/{'n' * 90}") == b"#!x"
    assert tree.entry("/link") == Entry(Kind.LINK, 0o777, 0, target)


def test_names_may_hold_anything_but_zero_and_slash(read: "ReadLayers") -> None:
    strange = "a\n\x1b[31m\udcff"

    tree = read([(strange, b"#!1"), ("x" * 256, b""), (f"y/{'z' * 5000}", b"")])

    assert tree.names("/") == [strange]
    assert tree.read(f"/{strange}") == b"#!1"
    assert all(one.what.isprintable() for one in tree.unexplored())
    assert len(tree.unexplored()) == 2


def test_an_entry_twice_in_a_layer_is_the_later_one(read: "ReadLayers") -> None:
    assert read([("a", b"#!1"), ("a", b"#!2")]).read("/a") == b"#!2"


def test_a_folder_in_the_way_of_old_archives_is_one(make_tar: "MakeTar", read_stored: "ReadStored") -> None:
    data = bytearray(make_tar(("abcd", b""), form=tarfile.USTAR_FORMAT))
    data[3:4] = b"/"
    data[148:156] = b"%06o\0 " % (sum(data[:148]) + sum(data[156:512]) + 8 * 32)

    assert read_stored(bytes(data)).entry("/abc") == Entry(Kind.FOLDER, 0o644)


def test_unknown_kinds_of_members_are_told(make_tar: "MakeTar", read_stored: "ReadStored") -> None:
    data = bytearray(make_tar(("a", b"")))
    data[156:157] = b"V"
    data[148:156] = b"%06o\0 " % (sum(data[:148]) + sum(data[156:512]) + 8 * 32)

    tree = read_stored(bytes(data))

    assert paths(tree) == []
    assert "unknown type b'V'" in tree.unexplored()[0].why


def test_many_bad_entries_are_counted(read: "ReadLayers") -> None:
    tree = read([("f", b""), *((f"f/{number}", b"") for number in range(50))])

    told = tree.unexplored()

    assert len(told) == 21
    assert told[-1].what == "30 more files or entries"


def test_layers_of_windows_have_their_files_in_a_folder(read: "ReadLayers") -> None:
    tree = read(
        [("Files/Windows/a.exe", b"MZ"), ("Hives/System", b"x"), ("UtilityVM/Files/b", b"")],
        [("Files/.wh.Windows", b""), ("Files/new.exe", b"MZ")],
        is_windows=True,
    )

    assert paths(tree) == ["/new.exe"]


@pytest.mark.parametrize(
    ("bounds", "why"),
    [
        (Bounds(layers=1), "more than 1 layers"),
        (Bounds(entries=2), "more than 2 entries"),
        (Bounds(name_bytes=5), "more than 5 bytes"),
        (Bounds(unpacked_bytes=1000), "more than 1,000 bytes"),
        (Bounds(steps=2), "more ways round"),
    ],
)
def test_beyond_a_bound_nothing_is_concluded(read: "ReadLayers", bounds: Bounds, why: str) -> None:
    layers = [("a/b/c", b"x"), ("a/d", b"x")], [("e/f", b"x"), ("g", b"x")]
    assert paths(read(*layers)) == ["/a", "/a/b", "/a/b/c", "/a/d", "/e", "/e/f", "/g"]

    with pytest.raises(InspectionError, match=why):
        read(*layers, bounds=bounds)


def test_folders_that_no_member_names_count_as_entries(read: "ReadLayers") -> None:
    with pytest.raises(InspectionError, match="more than 20 entries"):
        read([(f"{number}/a/a/a/a/a", b"") for number in range(5)], bounds=Bounds(entries=20))


def test_folders_deeper_than_any_image_has_them_are_passed_over(read: "ReadLayers") -> None:
    tree = read([("/".join("a" * 300), b""), ("b", b"")])

    assert len(tree.unexplored()) == 1
    assert tree.entry("/b") is not None


def test_links_that_grow_at_every_step_end(read: "ReadLayers") -> None:
    """Each of 40 links would lead through the next one twice."""
    links = [(f"l{number}", f"l{number + 1}/../l{number + 1}") for number in range(60)]

    tree = read([*links, ("l60", None), ("l0/x", b""), ("l59/y", b"")])

    assert tree.entry("/l60/y") is not None
    assert [one.what for one in tree.unexplored()] == ["l0/x"]


def test_a_file_beyond_its_bound_is_lost_alone(read: "ReadLayers") -> None:
    tree = read([("a", ELF + bytes(100)), ("b", ELF)], bounds=Bounds(file_bytes=100))

    assert tree.read("/b") == ELF
    assert tree.read("/a", 0, 4) == b"\x7fELF"
    with pytest.raises(NotKeptError, match="larger than the files that are kept"), tree.map("/a"):
        pass
    assert [one.what for one in tree.unexplored()] == ["/a"]


def test_files_beyond_what_is_kept_together_are_lost(read: "ReadLayers") -> None:
    tree = read([("a", ELF), ("b", ELF)], bounds=Bounds(kept_bytes=100))

    assert tree.read("/a") == ELF
    with pytest.raises(NotKeptError, match="as much as is kept"):
        tree.read("/b")


def test_of_large_files_that_nobody_reads_the_first_bytes_are_known(read: "ReadLayers") -> None:
    tree = read([("a.txt", b"some text" * 2000), ("empty", b"")])

    assert tree.read("/a.txt", 0, 4) == b"some"
    assert tree.read("/a.txt", 18_000, 4) == b""
    assert tree.read("/empty") == b""
    with tree.map("/empty") as view:
        assert bytes(view) == b""
    with pytest.raises(NotKeptError, match="no kind that is kept"):
        tree.read("/a.txt")


def test_small_files_are_kept_while_there_is_room_for_them(read: "ReadLayers") -> None:
    tree = read(
        [("a.txt", b"some text"), ("b.txt", b"more text"), ("c.sh", b"#!/bin/sh")], bounds=Bounds(spare_bytes=10)
    )

    assert tree.read("/a.txt") == b"some text"
    assert tree.read("/c.sh") == b"#!/bin/sh"
    with pytest.raises(NotKeptError, match="no kind that is kept"):
        tree.read("/b.txt")
    assert tree.unexplored() == ()


def test_of_large_scripts_the_beginning_is_kept(read: "ReadLayers") -> None:
    script = b"#!/bin/sh\n" + b"x" * (5 * 1024 * 1024)

    tree = read([("run", script)])

    assert tree.read("/run", 0, 60_000) == script[:60_000]
    with pytest.raises(NotKeptError, match="only its first 65,536 bytes"):
        tree.read("/run")
    with pytest.raises(NotKeptError, match="only its first"), tree.map("/run"):
        pass


def test_large_files_are_mapped_at_any_place(read: "ReadLayers") -> None:
    large = ELF + bytes(range(256)) * 20_000

    tree = read([("first", ELF + b"odd"), ("large", large)])

    with tree.map("/large") as view:
        assert view[:64] == ELF
        assert bytes(view[-256:]) == bytes(range(256))
        assert len(view) == len(large)
    assert tree.read("/large", 64, 3) == b"\0\1\2"
    assert find_file(tree, "large") == "/large"
