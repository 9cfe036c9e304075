"""Real files of other projects, fetched once by name, version and digest, and kept below the user's cache.

They come from PyPI, and from the pool of the Debian archive that this machine's apt is set up for.
"""

import hashlib
import io
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from functools import cache
from pathlib import Path

import pytest

_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "nodeworthy" / "test-files"
_AR_MAGIC, _AR_HEADER = b"!<arch>\n", 60


def pypi(name: str, version: str, filename: str, sha256: str) -> zipfile.ZipFile:
    """A wheel of PyPI: ``pypi("numpy", "2.4.0", "numpy-2.4.0-….whl", "…")``."""
    kept = _CACHE / filename
    if not _is(kept, sha256):
        tag = filename.removesuffix(".whl").split("-")[-1]
        platforms = [part for one in tag.split(".") for part in ("--platform", one)]
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", *platforms]
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([*command, "--dest", folder, f"{name}=={version}"], check=True, capture_output=True)
            _keep(kept, (Path(folder) / filename).read_bytes(), sha256)
    return zipfile.ZipFile(kept)


def debian(path: str, sha256: str) -> dict[str, bytes]:
    """The files of a package in Debian's pool: ``debian("pool/main/m/musl/musl_1.2.3-1_amd64.deb", "…")``."""
    return {name: data for name, data in debian_tree(path, sha256).items() if isinstance(data, bytes)}


def debian_tree(path: str, sha256: str) -> dict[str, bytes | str]:
    """The files and links of a package, as :class:`~tests.resolver.inspection.trees.MemoryTree` takes them."""
    kept = _CACHE / path.rpartition("/")[2]
    if not _is(kept, sha256):
        with urllib.request.urlopen(archive() + path, timeout=60) as answer:
            _keep(kept, answer.read(), sha256)
    found: dict[str, bytes | str] = {}
    with tarfile.open(fileobj=io.BytesIO(_data_of(kept.read_bytes()))) as package:
        for member in package:
            name = member.name.removeprefix(".")
            if member.issym():
                found[name] = f"-> {member.linkname}"
            elif file := package.extractfile(member) if member.isfile() or member.islnk() else None:
                found[name] = file.read()
    return found


@cache
def archive() -> str:
    """Where the archive is that apt installs from; packages of every architecture lie in one pool."""
    if shutil.which("apt-get") is None:
        pytest.skip("Debian's packages are fetched from where apt finds them, and there is no apt here")
    asked = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    told = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split()
    found = next((one for one in told if one.rstrip("/").endswith("/debian")), None)
    if found is None:
        pytest.skip("apt is set up for no archive of Debian itself")
    return found


def _data_of(deb: bytes) -> bytes:
    """Member ``data.tar`` of a Debian package: deb(5), ar(5)."""
    assert deb.startswith(_AR_MAGIC)
    position = len(_AR_MAGIC)
    while position < len(deb):
        header = deb[position : position + _AR_HEADER]
        size = int(header[48:58])
        content = deb[position + _AR_HEADER : position + _AR_HEADER + size]
        if header.startswith(b"data.tar"):
            return lzma.decompress(content) if header.startswith(b"data.tar.xz") else content
        position += _AR_HEADER + size + size % 2
    raise AssertionError("the package has no data")


def _is(path: Path, sha256: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256


def _keep(path: Path, content: bytes, sha256: str) -> None:
    assert hashlib.sha256(content).hexdigest() == sha256, f"{path.name} is another file than the one meant"
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    Path(file.name).replace(path)
