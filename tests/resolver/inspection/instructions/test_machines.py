"""Which decoders there are, and what is said where one is not installed."""

import sys
from collections.abc import Iterator

import pytest
from tests.resolver.inspection.elves import Made
from tests.resolver.inspection.instructions.programs import read_program

from nodeworthy_resolver.inspection.instructions import NoDecoderError
from nodeworthy_resolver.inspection.instructions.machines import find_machine


@pytest.fixture
def without_iced(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "nodeworthy_resolver.inspection.instructions.x86", None)
    find_machine.cache_clear()
    yield
    find_machine.cache_clear()


@pytest.mark.parametrize("architecture", ["amd64", "arm64"])
def test_amd64_and_arm64_are_decoded(architecture: str) -> None:
    machine = find_machine(architecture)

    assert machine is not None
    assert machine.architecture == architecture


@pytest.mark.parametrize("architecture", ["386", "arm", "ppc64le", "s390x", "riscv64", ""])
def test_others_are_not(architecture: str) -> None:
    assert find_machine(architecture) is None


@pytest.mark.usefixtures("without_iced")
def test_a_missing_decoder_is_named() -> None:
    with pytest.raises(NoDecoderError, match="iced-x86"):
        find_machine("amd64")


@pytest.mark.usefixtures("without_iced")
def test_what_a_missing_decoder_leaves_open_decides() -> None:
    (told,) = read_program(Made(machine=62, kind=2).bytes()).unexplored

    assert told.decides
    assert "iced-x86 is not installed" in told.why
