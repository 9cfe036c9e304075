"""Images of known kinds: a Python with its packages, a Java, a script as entrypoint, a program built by gcc."""

from collections.abc import Mapping

from tests.cases.images.parts import MACHINES, Files, app, glibc
from tests.cases.images.records import Child, Image
from tests.resolver.inspection.elves import Made
from tests.resolver.inspection.instructions.programs import built
from tests.resolver.inspection.readings.sections import with_sections
from tests.resolver.inspection.readings.test_go_programs import FRAME

SITE = "/usr/local/lib/python3.12/site-packages"
VENV = "/opt/venv/lib/python3.12/site-packages"
_FOLDERS = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def image(
    files: Mapping[str, bytes | str], *entrypoint: str, platform: str = "linux/amd64", environment: tuple[str, ...] = ()
) -> Image:
    """An image of one child."""
    return Image((Child(files, entrypoint or ("/app",), platform, environment=(_FOLDERS, *environment)),))


def machine_of(platform: str) -> str:
    """The key of :data:`parts.MACHINES` of a platform."""
    return platform.split("/")[1]


def program(name: str = "/app", *, platform: str = "linux/amd64", version: str = "2.31") -> Files:
    """A program on Debian's glibc."""
    machine = machine_of(platform)
    return {**glibc(machine, version), name: app(machine)}


def python(
    *packages: Files,
    platform: str = "linux/amd64",
    entrypoint: tuple[str, ...] = ("python3", "/app.py"),
    environment: tuple[str, ...] = (),
    libc: str = "2.31",
) -> Image:
    """The official image of Python with packages or other files, and a program of it."""
    machine = machine_of(platform)
    whole: Files = {
        **glibc(machine, libc),
        "/usr/local/bin/python3.12": app(machine),
        "/usr/local/bin/python3": "-> python3.12",
        "/app.py": b"import sys\n",
    }
    for one in packages:
        whole |= one
    return image(whole, *entrypoint, platform=platform, environment=environment)


def wheel(
    name: str,
    version: str,
    tag: str = "manylinux_2_28_x86_64",
    *,
    site: str = SITE,
    extensions: Mapping[str, bytes] | None = None,
) -> Files:
    """An installed package as PyPI's wheels leave it, with extension modules as ``fast/core``."""
    folder = f"{site}/{name.replace('-', '_')}"
    more = {f"{site}/{path}.so": content for path, content in (extensions or {}).items()}
    return {
        f"{folder}-{version}.dist-info/WHEEL": f"Wheel-Version: 1.0\nTag: cp312-cp312-{tag}\n".encode(),
        f"{folder}-{version}.dist-info/METADATA": f"Name: {name}\nVersion: {version}\n".encode(),
        f"{folder}/__init__.py": b"",
        **more,
    }


def numpy(version: str, baseline: str, *, site: str = SITE, tag: str = "manylinux_2_28_x86_64") -> Files:
    """numpy, whose core has its baseline as a text; empty: it has none."""
    text = f"NumPy was built with baseline optimizations: \n({baseline}) but your machine doesn't support:\n(%s).\0"
    core = Made(tail=text.encode() if baseline else b"").bytes()
    return wheel("numpy", version, tag, site=site) | {f"{site}/numpy/_core/_multiarray_umath.cpython-312.so": core}


def go(*settings: str, machine: str = "amd64", modules: Mapping[str, str] | None = None) -> bytes:
    """A static program of Go, by the information that its build leaves."""
    lines = ["path\texample.com/tool", "mod\texample.com/tool\tv1.2.0"]
    lines += [f"dep\t{name}\t{version}\th1:" for name, version in (modules or {}).items()]
    lines += [f"build\t{one}" for one in (f"GOARCH={machine}", *settings)]
    listing = FRAME + "\n".join(lines).encode() + b"\n" + FRAME
    info = (
        b"\xff Go buildinf:\x08\x02"
        + bytes(16)
        + b"\x08go1.22.3"
        + bytes([len(listing) & 0x7F | 0x80, len(listing) >> 7])
    )
    one = MACHINES[machine]
    return with_sections(Made(one.number, one.bits, kind=2), {".go.buildinfo": info + listing})


def compiled(source: str, options: str = "-O2", *, name: str = "/app") -> Files:
    """A program that gcc builds here, on a glibc that is new enough for it."""
    return {**glibc("amd64", "2.36"), name: built(source, options)}
