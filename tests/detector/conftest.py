"""What the tests of the detector share: small machines that are made on the spot, and the recorded ones."""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from nodeworthy_detector.hostfs import Host

Plant = Callable[[Mapping[str, str | bytes]], Host]


@pytest.fixture
def plant(tmp_path: Path) -> Plant:
    """Makes a host with these files below a fresh root; a name that ends with a slash is an empty folder."""

    def make(files: Mapping[str, str | bytes]) -> Host:
        for name, content in files.items():
            target = tmp_path / name
            if name.endswith("/"):
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)
        return Host(tmp_path)

    return make


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Gives up root's right to read everything, if this is root, until the test is over."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture(scope="session")
def machines() -> Path:
    """The folder of recorded machines."""
    return Path(__file__).parents[1] / "data" / "hosts"
