"""Images made to mislead or to hold up whoever looks: texts that readings take apart, names, links and loops."""

import posixpath
import random
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
from tests.resolver.inspection.elves import Made
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy.platforms import Platform
from nodeworthy.requirements import Inspection
from nodeworthy_resolver.inspection.folders import FolderTree
from nodeworthy_resolver.inspection.inspecting import inspect_tree
from nodeworthy_resolver.inspection.legible import make_legible
from nodeworthy_resolver.inspection.limits import InspectingLimits
from nodeworthy_resolver.inspection.subject import ImageConfig
from nodeworthy_resolver.inspection.timing import OutOfTimeError
from nodeworthy_resolver.inspection.tree import Tree

LOADER = "/lib64/ld-linux-x86-64.so.2"
SITE = "/usr/lib/python3/dist-packages"
TEXTS = {
    "/etc/os-release": b'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    "/etc/ld.so.conf": b"include /etc/ld.so.conf.d/*.conf\n/opt/lib\n",
    "/etc/ld.so.conf.d/x.conf": b"/usr/local/lib\n",
    "/etc/ld.so.preload": b"/usr/lib/preloaded.so\n",
    "/etc/ld.so.cache": b"glibc-ld.so.cache1.1" + bytes(200),
    "/var/lib/dpkg/status": b"Package: libc6\nStatus: install ok installed\nVersion: 2.36-9\nArchitecture: amd64\n\n"
    * 3,
    "/lib/apk/db/installed": b"P:musl\nV:1.2.4-r2\nA:x86_64\n\n",
    f"{SITE}/numpy-2.4.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: numpy\nVersion: 2.4.0\n\ntext\n",
    f"{SITE}/numpy-2.4.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nTag: cp311-cp311-manylinux_2_28_x86_64\n",
    f"{SITE}/numpy-2.4.0.dist-info/RECORD": b"numpy/__init__.py,sha256=x,10\n",
    "/opt/venv/pyvenv.cfg": b"home = /usr/bin\nversion = 3.11.2\n",
    "/opt/java/release": b'JAVA_VERSION="21.0.2"\nOS_ARCH="x86_64"\nIMPLEMENTOR="X"\n',
    "/opt/rocm/.info/version": b"6.0.0-91\n",
    "/entry.sh": b'#!/bin/sh\nset -e\n. /lib/functions.sh\nif [ "$1" ]; then\n  exec "$@"\nfi\nexec python3 -m app\n',
}
MANY: dict[str, bytes | str] = {
    **TEXTS,
    "/bin/sh": Made(interpreter=LOADER, needed=("libc.so.6",), kind=2).bytes(),
    "/usr/bin/python3": Made(interpreter=LOADER, needed=("libc.so.6",), kind=2).bytes(),
    LOADER: Made(soname="ld-linux-x86-64.so.2", tail=b"/lib/x86_64-linux-gnu/\0/usr/lib/\0").bytes(),
    "/usr/lib/libc.so.6": Made(soname="libc.so.6", tail=b"GNU C Library stable release version 2.36.\0").bytes(),
    "/usr/lib/preloaded.so": Made(soname="preloaded.so").bytes(),
}
BITS = (b"", b"\0", b"\n", b"\r\n", b"\xff\xfe", b"9" * 5000, b'"', b"../" * 50, b"*" * 200, b"(" * 300, b"=", b": ")


def inspect(tree: Tree, *entrypoint: str) -> Inspection:
    config = ImageConfig(entrypoint or ("/entry.sh",), platform=Platform("linux", "amd64"))
    found = make_legible(inspect_tree(tree, config, InspectingLimits(seconds=30)))
    failed = [one for one in found.unexplored if "failed" in one.why or one.why == str(OutOfTimeError())]
    assert not failed
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(found), type=Inspection) == found
    return found


def damaged(texts: Mapping[str, bytes], number: int) -> dict[str, bytes]:
    """The texts, each with something strange in one place, or none at all from there on."""
    chance = random.Random(number)
    found = {}
    for path, text in texts.items():
        at = chance.randrange(len(text))
        after = text[at + chance.choice((0, 0, 1, 5)) :] if chance.random() < 0.8 else b""
        found[path] = text[:at] + chance.choice(BITS) + after
    return found


def test_damaged_texts_are_answered_for() -> None:
    for number in range(300):
        inspect(MemoryTree({**MANY, **damaged(TEXTS, number)}))


@pytest.mark.parametrize("path", sorted(MANY))
def test_a_folder_a_loop_or_nothing_in_the_place_of_a_file_is_answered_for(path: str) -> None:
    rest = {name: data for name, data in MANY.items() if name != path}
    for instead in ({}, {f"{path}/inside": b"x"}, {path: f"-> {path}"}, {path: "-> /"}, {path: "-> /proc/self/exe"}):
        inspect(MemoryTree({**rest, **instead}))


def test_names_that_no_terminal_should_see_are_carried_through() -> None:
    strange = "/opt/\x1b[2J\n\udcff" + "n" * 200
    found = inspect(MemoryTree({**MANY, strange: Made(machine=183, kind=2).bytes()}), strange)

    assert found.start == (make_legible(Inspection(0, start=(strange,))).start[0],)
    assert "\udcff" not in found.start[0]


def test_libraries_that_need_each_other_in_a_circle_are_loaded_once() -> None:
    libraries = {
        f"/usr/lib/lib{number}.so": Made(soname=f"lib{number}.so", needed=(f"lib{(number + 1) % 50}.so",)).bytes()
        for number in range(50)
    }
    app = Made(interpreter=LOADER, needed=("lib0.so", "lib0.so"), kind=2).bytes()
    found = inspect(MemoryTree({**MANY, **libraries, "/app": app}), "/app")

    assert not found.defects


def test_a_chain_of_scripts_without_an_end_is_given_up() -> None:
    chain = {f"/{number}.sh": f"#!/bin/sh\nexec /{number + 1}.sh\n".encode() for number in range(200)}
    found = inspect(MemoryTree({**MANY, **chain}), "/0.sh")

    assert [one.decides for one in found.unexplored if one.what == "what is started in the end"] == [True]


@pytest.mark.parametrize(
    "text",
    [
        b" " * 250_000 + b"x",
        b"<<" * 100_000 + b"\nexec x",
        b"a=b;" * 60_000,
        b"a\\\n" * 80_000,
        b'"' * 250_000,
        b"if (a; then $(b) && ;\n" * 10_000,
        b"x() {\n" * 40_000 + b"x",
        b". " * 100_000 + b"\nx",
        b"$@" * 100_000,
    ],
    ids=range(9),
)
def test_scripts_that_are_made_to_be_slow_are_read_in_time(text: bytes) -> None:
    inspect(MemoryTree({**MANY, "/slow.sh": b"#!/bin/sh\n" + text}), "/slow.sh")


def test_a_folder_that_leads_out_of_itself_is_read_inside(tmp_path: Path) -> None:
    """Whatever is linked: the root ends at the root."""
    (tmp_path / "secret").write_bytes(Made(kind=2, machine=183).bytes())
    root = tmp_path / "root"
    for path, data in MANY.items():
        place = root / path[1:]
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(data, bytes):
            place.write_bytes(data)
            place.chmod(0o755)
    (root / "app").symlink_to(posixpath.join("..", "secret"))
    found = inspect(FolderTree(root), "/app")

    assert [one.code for one in found.defects] == ["program-missing"]
    assert not found.machine
