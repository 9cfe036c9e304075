"""What the kernel makes of the first line of a script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy_resolver.inspection.closure.executables import Shebang, parse_shebang


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (b"#!/bin/sh\necho", Shebang("/bin/sh", "")),
        (b"#! \t/bin/sh  -e  \n", Shebang("/bin/sh", "-e")),
        (b"#!/usr/bin/env -S python3 -u\n", Shebang("/usr/bin/env", "-S python3 -u")),
        (b"#!/bin/sh\r\n", Shebang("/bin/sh\r", "")),
        (b"#!/bin/sh -e\r\n", Shebang("/bin/sh", "-e\r")),
        (b"#!/bin/sh", Shebang("/bin/sh", "")),
        (b"#!/bin/" + b"x" * 260 + b"\n", None),
        (b"#!/bin/sh " + b"x" * 260 + b"\n", Shebang("/bin/sh", "x" * 245)),
        (b"#!\n", None),
        (b"#!   ", None),
        (b"# /bin/sh\n", None),
        (b"", None),
    ],
)
def test_the_line_is_read_as_the_kernel_reads_it(start: bytes, expected: Shebang | None) -> None:
    assert parse_shebang(start) == expected


@given(st.binary(max_size=300))
def test_no_bytes_break_it(data: bytes) -> None:
    found = parse_shebang(b"#!" + data)
    assert found is None or found.interpreter
