import os
import socket
from pathlib import Path

import pytest

from nodeworthy.errors import UsageError
from nodeworthy_resolver.inspection.contents import MAX_COPIED, MAX_READ, map_at, read_at
from nodeworthy_resolver.inspection.folders import FileTree, FolderTree
from nodeworthy_resolver.inspection.tree import Entry, Kind, NotKeptError, find_file, resolve

IS_ROOT = os.geteuid() == 0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root folder beside a secret that is outside."""
    (tmp_path / "secret").write_bytes(b"secret")
    folder = tmp_path / "root"
    (folder / "usr/bin").mkdir(parents=True)
    (folder / "usr/bin/sh").write_bytes(b"\x7fELF sh")
    (folder / "usr/bin/sh").chmod(0o750)
    (folder / "bin").symlink_to("usr/bin")
    return folder


def test_a_folder_is_told_in_order(root: Path) -> None:
    (root / "usr.old").mkdir()
    (root / "empty").write_bytes(b"")

    assert list(FolderTree(root).walk()) == [
        ("/bin", Entry(Kind.LINK, 0o777, 0, "usr/bin")),
        ("/empty", Entry(Kind.FILE, 0o644, 0)),
        ("/usr", Entry(Kind.FOLDER, 0o755)),
        ("/usr/bin", Entry(Kind.FOLDER, 0o755)),
        ("/usr/bin/sh", Entry(Kind.FILE, 0o750, 7)),
        ("/usr.old", Entry(Kind.FOLDER, 0o755)),
    ]


def test_paths_are_followed_inside_the_folder_alone(root: Path) -> None:
    (root / "out").symlink_to("../secret")
    (root / "abs").symlink_to("/usr/bin/sh")
    tree = FolderTree(root)

    assert find_file(tree, "/bin/sh") == "/usr/bin/sh"
    assert find_file(tree, "/abs") == "/usr/bin/sh"
    assert resolve(tree, "/out") is None
    assert tree.entry("/") == Entry(Kind.FOLDER, root.stat().st_mode & 0o7777)


def test_what_became_a_link_meanwhile_is_not_followed(root: Path, tmp_path: Path) -> None:
    """As a path that was resolved a moment ago would, were its parts opened as one."""
    tree = FolderTree(root)
    assert tree.read("/usr/bin/sh") == b"\x7fELF sh"
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/sh").write_bytes(b"secret")
    (root / "usr/bin/sh").unlink()
    (root / "usr/bin").rmdir()
    (root / "usr/bin").symlink_to(tmp_path / "elsewhere")
    (root / "file").symlink_to(tmp_path / "secret")

    assert tree.entry("/usr/bin/sh") is None
    assert not tree.names("/usr/bin")
    for path in ("/usr/bin/sh", "/file"):
        with pytest.raises(NotKeptError):
            tree.read(path)
        with pytest.raises(NotKeptError), tree.map(path):
            pass


def test_bytes_are_read_at_any_place_and_mapped(root: Path) -> None:
    large = b"\x7fELF" + os.urandom(MAX_COPIED)
    (root / "large").write_bytes(large)
    (root / "empty").write_bytes(b"")
    tree = FolderTree(root)

    assert tree.read("/usr/bin/sh", 5) == b"sh"
    assert tree.read("/usr/bin/sh", 5, 1) == b"s"
    assert tree.read("/usr/bin/sh", 50, 10) == b""
    assert tree.read("/large", 4) == large[4:]
    with tree.map("/large") as view:
        assert view == large
    with tree.map("/empty") as view:
        assert len(view) == 0


def test_a_file_that_is_too_large_to_copy_can_be_mapped(root: Path) -> None:
    with (root / "huge").open("wb") as file:
        file.truncate(MAX_READ + 1)
    tree = FolderTree(root)

    with pytest.raises(NotKeptError, match="are not read at once"):
        tree.read("/huge")
    with tree.map("/huge") as view:
        assert len(view) == MAX_READ + 1


def test_a_slice_that_somebody_kept_does_no_harm(root: Path) -> None:
    (root / "large").write_bytes(bytes(MAX_COPIED + 1))
    with FolderTree(root).map("/large") as view:
        kept = view[:4]
    assert kept == bytes(4)


def test_pipes_sockets_and_folders_are_not_opened(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
    tree = FolderTree(root)

    for path in ("/pipe", "/socket", "/usr", "/missing", "/", "/zero\0byte", "/\ud800", f"/{'x' * 300}"):
        with pytest.raises(NotKeptError):
            tree.read(path)
    assert tree.entry("/zero\0byte") is None
    assert tree.names(f"/{'x' * 300}") == ()
    assert tree.unexplored() == ()
    assert tree.entry("/pipe") == Entry(Kind.OTHER, (root / "pipe").stat().st_mode & 0o7777)


def test_what_a_runtime_mounts_over_is_not_walked(root: Path) -> None:
    for name in ("proc", "sys", "dev"):
        (root / name).mkdir()
        (root / name / "inside").write_bytes(b"x")

    assert not [path for path, _ in FolderTree(root).walk() if path.endswith("inside")]


@pytest.mark.skipif(IS_ROOT, reason="root may read everything")
def test_a_folder_that_may_not_be_read_is_told(root: Path) -> None:
    (root / "usr/bin").chmod(0)
    tree = FolderTree(root)

    assert [path for path, _ in tree.walk()] == ["/bin", "/usr", "/usr/bin"]
    assert [one.what for one in tree.unexplored()] == ["/usr/bin"]
    (root / "usr/bin").chmod(0o755)


def test_names_of_other_encodings_are_kept(root: Path) -> None:
    (root / os.fsdecode(b"caf\xe9")).write_bytes(b"x")

    assert "caf\udce9" in FolderTree(root).names("/")


@pytest.mark.parametrize("name", ["missing", "file", "circle"])
def test_what_is_no_folder_is_no_root(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "circle").symlink_to("circle")

    with pytest.raises(UsageError, match="cannot be read as a root folder") as refused:
        FolderTree(tmp_path / name)
    assert refused.value.why


def test_a_file_alone_is_an_image_with_it(root: Path) -> None:
    (root / "program").symlink_to("usr/bin/sh")
    tree = FileTree(root / "program")

    assert list(tree.walk()) == [("/program", Entry(Kind.FILE, 0o750, 7))]
    assert (tree.entry("/"), tree.names("/"), tree.names("/usr")) == (Entry(Kind.FOLDER), ("program",), ())
    assert tree.entry("/sh") is None
    assert tree.read("/program", 1, 3) == b"ELF"
    with tree.map("/program") as view:
        assert bytes(view) == b"\x7fELF sh"
    with pytest.raises(NotKeptError):
        tree.read("/sh")


@pytest.mark.parametrize("name", ["missing", "usr", "pipe"])
def test_what_is_no_file_is_no_image(root: Path, name: str) -> None:
    os.mkfifo(root / "pipe")

    with pytest.raises(UsageError, match="cannot be read"):
        FileTree(root / name)


def test_a_file_that_fails_while_it_is_read_was_not_kept(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(NotKeptError, match="it cannot be read"):
            read_at(folder, "it", 0, 10)
        with pytest.raises(NotKeptError, match="it cannot be mapped"), map_at(folder, "it", 0, MAX_COPIED + 1):
            pass
    finally:
        os.close(folder)
