"""The frame of the command line: help, errors and exit codes."""

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nodeworthy import errors
from nodeworthy_cli import exits
from nodeworthy_cli.main import VERBS, main
from nodeworthy_cli.output import print_table, printable

PROGRAM = Path(sys.executable).parent / "nodeworthy"

if TYPE_CHECKING:
    from tests.cli.conftest import Nodeworthy

PROGRAM = Path(sys.executable).parent / "nodeworthy"


def test_help_names_every_verb_and_loads_none(nodeworthy: "Nodeworthy") -> None:
    text = nodeworthy("--help", code=0).stdout
    for verb in VERBS:
        assert f"  {verb} " in text
    assert nodeworthy("check", "--help", code=0).stdout.startswith("Usage: nodeworthy check ")


def test_without_a_verb_the_help_is_shown(nodeworthy: "Nodeworthy") -> None:
    assert "Verbs:" in nodeworthy(code=2).stdout


@pytest.mark.parametrize("arguments", [["chekc"], ["check"], ["features", "-o", "xml"], ["check", "x", "--no-such"]])
def test_a_wrong_call_says_what_and_where_to_look(arguments: list[str], nodeworthy: "Nodeworthy") -> None:
    done = nodeworthy(*arguments, code=2)
    assert done.stderr.startswith("error: ")
    assert "--help" in done.stderr


def test_the_version_is_printed(nodeworthy: "Nodeworthy") -> None:
    assert nodeworthy("--version", code=0).stdout.startswith("nodeworthy ")


def test_an_error_of_ours_is_a_sentence_and_the_trace_only_with_debug(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "UPPER/x", "--on", "nowhere.json"]) == exits.USAGE
    assert "Traceback" not in capsys.readouterr().err
    assert main(["check", "UPPER/x", "--on", "nowhere.json", "--debug"]) == exits.USAGE
    assert "Traceback" in capsys.readouterr().err


def test_a_defect_of_ours_is_a_sentence_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("one over nothing")

    monkeypatch.setattr("nodeworthy_cli.features.read_machine", fail)
    assert main(["features"]) == exits.USAGE
    text = capsys.readouterr().err
    assert "ZeroDivisionError: one over nothing" in text
    assert "--debug" in text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("codes", "expected"),
    [([], 0), ([0, 0], 0), ([0, 3], 3), ([3, 1, 0], 1), ([3, 1, 2], 2)],
)
def test_several_answers_end_with_the_first_of_2_1_3_0(codes: list[int], expected: int) -> None:
    assert exits.combine(codes) == expected


def test_what_may_have_an_answer_is_unknown_and_the_rest_is_usage() -> None:
    assert exits.of_error(errors.RegistryDeniedError("no")) == exits.UNKNOWN
    assert exits.of_error(errors.ArtifactError("no")) == exits.UNKNOWN
    assert exits.of_error(errors.ImageNotFoundError("no")) == exits.USAGE
    assert exits.of_error(errors.DocumentError("f", ())) == exits.USAGE


def test_text_of_others_cannot_move_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    assert printable("\x1b[2Jé\n") == "\ufffd[2Jé\ufffd"
    print_table(("A", "B"), [("\x1b]0;x\x07", "y")])
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize("output", ["table", "json"])
def test_an_answer_that_nobody_reads_ends_with_no_answers_code(output: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [PROGRAM, "features", "--source", "memory", "-o", output], stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (exits.NO_READER, b"")


@pytest.mark.parametrize("output", ["/dev/full", None])
def test_an_answer_that_cannot_be_written_is_said_and_is_no_yes(output: str | None) -> None:
    closed = ">&-" if output is None else f"> {output}"
    for arguments in ("features", "features -o json", "--help"):
        done = subprocess.run(
            ["sh", "-c", f"exec '{PROGRAM}' {arguments} {closed}"], capture_output=True, text=True, check=False
        )
        assert done.returncode == exits.USAGE
        assert "the output cannot be written" in done.stderr
        assert "Traceback" not in done.stderr
        assert "bug" not in done.stderr


def test_a_terminal_without_unicode_gets_the_table_and_json_stays_utf8() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([PROGRAM, "features"], env=environment, capture_output=True, check=True)
    done.stdout.decode("ascii")
    done = subprocess.run([PROGRAM, "features", "-o", "json"], env=environment, capture_output=True, check=True)
    assert b"\\u" not in done.stdout
