"""The programs that scripts call by name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.resolver.inspection.elves import Made, prepared
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy_resolver.inspection.readings.findings import Findings
from nodeworthy_resolver.inspection.readings.scripts import called_programs
from nodeworthy_resolver.inspection.subject import ImageConfig

PROGRAM = Made(kind=2).bytes()


def called(script: bytes, **environment: str) -> frozenset[str]:
    files: dict[str, bytes | str] = {
        "/bin/sh": PROGRAM,
        "/usr/sbin/real": PROGRAM,
        "/usr/sbin/tool": "-> real",
        "/opt/own/helper": PROGRAM,
        "/start": b"#!/bin/sh\n" + script,
    }
    subject = prepared(MemoryTree(files), ImageConfig(("/start",), environment=environment))
    return called_programs(subject, Findings()) - {"/bin/sh"}


@pytest.mark.parametrize(
    ("script", "found"),
    [
        (b"tool -x", {"/usr/sbin/real"}),
        (b"if true; then /usr/sbin/tool; fi", {"/usr/sbin/real"}),
        (b"x=$(tool)", {"/usr/sbin/real"}),
        (b"/opt/own/helper", {"/opt/own/helper"}),
        (b"helper", set()),
        (b"# tool", set()),
        (b"echo $tool", set()),
        (b"mytool; tool-x", set()),
    ],
)
def test_names_are_looked_up_as_a_shell_does(script: bytes, found: set[str]) -> None:
    assert called(script) == found


def test_the_image_s_own_path_counts() -> None:
    assert called(b"helper", PATH="/opt/own") == {"/opt/own/helper"}


@given(st.binary(max_size=400))
def test_any_script_is_read_to_its_end(script: bytes) -> None:
    assert called(script) <= {"/usr/sbin/real", "/opt/own/helper", "/start"}
