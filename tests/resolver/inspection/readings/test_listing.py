"""The list of readings."""

import importlib
import pkgutil

from tests.resolver.inspection.elves import Made, prepared
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy_resolver.inspection import readings
from nodeworthy_resolver.inspection.readings.listing import READINGS
from nodeworthy_resolver.inspection.subject import ImageConfig, Outcome
from nodeworthy_resolver.inspection.tree import NotKeptError


class Unkept(MemoryTree):
    """A tree that kept nothing."""

    def read(self, path: str, offset: int = 0, size: int = -1) -> bytes:
        raise NotKeptError(f"{path} is too large ({offset}, {size})")


def test_every_reading_is_a_function_of_its_own_file() -> None:
    modules = {name for _, name, _ in pkgutil.iter_modules(readings.__path__)}
    for name, reading in READINGS:
        assert name
        assert reading.__module__.rpartition(".")[2] in modules
        assert getattr(importlib.import_module(reading.__module__), reading.__name__) is reading
    assert len({reading for _, reading in READINGS}) == len(READINGS)


def test_an_empty_image_asks_for_nothing() -> None:
    subject = prepared(MemoryTree({}), ImageConfig())
    assert all(reading(subject) == Outcome() for _, reading in READINGS)


def test_content_that_was_not_kept_is_said_and_nothing_is_concluded() -> None:
    files: dict[str, bytes | str] = {
        "/app": Made(kind=2).bytes(),
        "/lib/libc.so.6": Made(soname="libc.so.6").bytes(),
        "/etc/os-release": b"ID=rocky\n",
        "/usr/lib/python3.12/site-packages/numpy-2.4.0.dist-info/WHEEL": b"Tag: py3-none-any\n",
        "/var/lib/dpkg/status": b"Package: x\n",
    }
    whole = prepared(MemoryTree(files), ImageConfig(("/app",)))
    unkept = type(whole)(Unkept(files), whole.config, whole.start, whole.elves, whole.clock, whole.deadline)
    outcomes = [reading(unkept) for _, reading in READINGS]
    assert not [one for outcome in outcomes for one in outcome.requirements]
    assert {one.what for outcome in outcomes for one in outcome.unexplored} >= {"/lib/libc.so.6", "/etc/os-release"}
