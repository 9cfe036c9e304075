from pathlib import Path

import pytest

from nodeworthy_cli.embedded.server_log import (
    MAX_WARNINGS,
    is_port_in_use,
    is_store_broken,
    parse_start_log,
    read_from,
    read_start_log,
)

# Written by nats-server 2.15.1.
PORT_IN_USE = """\
[26361] 2026/11/30 14:21:06.754490 [WRN] Plaintext passwords detected, use nkeys or bcrypt
[26361] 2026/11/30 14:21:06.761007 [INF] Took 6.661848ms to start JetStream
[26361] 2026/11/30 14:21:06.761379 [FTL] Error listening on port: 127.0.0.1:4999, "listen tcp 127.0.0.1:4999: \
bind: address already in use"
"""
STORE_BROKEN = """\
[26372] 2026/11/30 14:21:06.781065 [INF] Took 12.989µs to start JetStream
[26372] 2026/11/30 14:21:06.781095 [FTL] Can't start JetStream: storage directory is not a directory
"""
STREAM_LOST = """\
[26559] 2026/11/30 14:21:31.548560 [WRN]   Stream metafile "/d/meta.inf": checksums do not match "45" vs "f0"
[26559] 2026/11/30 14:21:31.560000 [INF] Server is ready
"""
REPAIRED = """\
[26589] 2026/11/30 14:21:31.633310 [WRN] Filestore [KV_nodes] Stream state outdated, last block has additional entries, \
will rebuild
"""


@pytest.mark.parametrize(
    ("text", "port", "store"), [(PORT_IN_USE, True, False), (STORE_BROKEN, False, True)], ids=["port", "store"]
)
def test_why_the_server_gave_up_is_known_from_its_log(text: str, port: bool, store: bool) -> None:
    found = parse_start_log(text)
    assert found.fatal is not None
    assert (is_port_in_use(found.fatal), is_store_broken(found.fatal)) == (port, store)
    assert found.warnings == ()


def test_a_stream_that_was_left_out_is_told_from_what_was_repaired() -> None:
    found = parse_start_log(STREAM_LOST + REPAIRED)
    assert found.lost == 'Stream metafile "/d/meta.inf": checksums do not match "45" vs "f0"'
    assert parse_start_log(REPAIRED) == (
        None,
        None,
        ("Filestore [KV_nodes] Stream state outdated, last block has additional entries, will rebuild",),
    )


def test_a_stream_that_was_left_out_is_not_lost_behind_many_warnings() -> None:
    assert parse_start_log(REPAIRED * 1000 + STREAM_LOST).lost


def test_warnings_are_bounded() -> None:
    found = parse_start_log(STREAM_LOST * 1000)
    assert len(found.warnings) == MAX_WARNINGS + 1
    assert found.warnings[-1] == "980 more"


@pytest.mark.parametrize("text", ["", "no line of it", "[1] [FTL]", "\x00\xff"])
def test_what_is_no_log_says_nothing(text: str) -> None:
    assert parse_start_log(text) == (None, None, ())


def test_only_what_this_start_wrote_counts(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(STORE_BROKEN)
    start = log.stat().st_size
    assert read_start_log(log, start).fatal is None
    log.write_text(STORE_BROKEN + PORT_IN_USE)
    assert "address already in use" in str(read_start_log(log, start).fatal)


def test_a_log_that_was_begun_anew_is_read_from_its_beginning(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("new")
    assert read_from(log, 1000) == "new"
    assert read_from(tmp_path / "absent", 0) == ""
