from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.formats.go_builds import HEADER_BYTES, MAGIC, parse_list, read_texts

FRAME = bytes(16)


def test_replaced_modules_count_as_what_replaces_them() -> None:
    text = "dep\tgolang.org/x/sys\tv0.1.0\th1:\n=>\texample.com/fork\tv0.9.0\th1:\ndep\ta\tv1\t\n"
    found = parse_list(FRAME + text.encode() + FRAME)
    assert found.dependencies == {"example.com/fork": "v0.9.0", "a": "v1"}


def test_settings_are_read_with_and_without_quotes() -> None:
    text = 'path\tx/cmd\nmod\tx\t(devel)\t\nbuild\t-ldflags="-X main.version=1.1.12"\nbuild\tGOAMD64=v3\n'
    found = parse_list(FRAME + text.encode() + FRAME)
    assert (found.path, found.module, found.version) == ("x/cmd", "x", "(devel)")
    assert found.settings == {"-ldflags": "-X main.version=1.1.12", "GOAMD64": "v3"}


def test_texts_stand_behind_their_lengths() -> None:
    header = bytes(7) + MAGIC + b"\x08\x02" + bytes(HEADER_BYTES - 16)
    data = header + b"\x08go1.22.3" + b"\xac\x02" + b"x" * 300 + b"rest"
    assert read_texts(data, 7) == (b"go1.22.3", b"x" * 300)


@given(st.binary(max_size=100))
def test_any_bytes_are_read(data: bytes) -> None:
    version, listing = read_texts(MAGIC + b"\x08\x02" + data)
    assert len(version) + len(listing) <= len(data)
    parse_list(data)
