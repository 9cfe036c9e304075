"""Signs in what a person gives: one row for a line, exit codes in words, and what kernel lines add."""

import pytest
from hypothesis import given, strategies
from tests.shared.diagnosis.cases import confidence, explain

from nodeworthy.diagnosis import kernel_log, load, read_signals
from nodeworthy.diagnosis.exit_codes import read_exit_code
from nodeworthy.diagnosis.syscalls import name_syscall


def codes(text: str, *exit_codes: int) -> list[str]:
    return [one.code for one in explain(text, *exit_codes).signals]


@pytest.mark.parametrize(
    "text",
    [
        "exited with code 132",
        "Status: Exited (132) 3 minutes ago",
        "Restarting (132) 5 seconds ago",
        '"exitCode": 132',
        "command terminated with exit code 132",
        "subprocess died: exit code -4",
        "exit status 132",
        "exited with code -1073741795",
        "exit code 0xC000001D",
    ],
)
def test_exit_codes_in_words_are_read(text: str) -> None:
    assert codes(text) == ["illegal-instruction"]


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (126, "not-executable"),
        (127, "command-not-found"),
        (132, "illegal-instruction"),
        (-4, "illegal-instruction"),
        (0xC000001D, "illegal-instruction"),
        (133, "trap-signal"),
        (134, "aborted"),
        (135, "bus-error"),
        (137, "killed"),
        (139, "segmentation-fault"),
        (159, "seccomp-killed"),
    ],
)
def test_an_exit_code_belongs_to_its_row(number: int, code: str) -> None:
    assert codes("", number) == [code]


@pytest.mark.parametrize("number", [0, 1, 2, 128, 143, 255, 3221225786])
def test_other_exit_codes_are_no_sign(number: int) -> None:
    assert codes("", number) == []
    assert read_exit_code(number).number == number


def test_the_same_words_of_another_speaker_are_another_row() -> None:
    assert codes("Error loading shared library libz.so: Exec format error") == ["library-exec-format-error"]
    (signal,) = explain("exec /app: exec format error").signals
    assert signal.speaker == "the kernel (ENOEXEC), told by runc"
    (signal,) = explain("fork/exec /app: exec format error").signals
    assert "Go program" in signal.speaker


def test_several_signs_combine_and_the_most_telling_comes_first() -> None:
    assert codes("Back-off restarting failed container\n<jemalloc>: Unsupported system page size", 134) == [
        "jemalloc-page-size",
        "crash-loop",
        "aborted",
    ]


def test_features_may_stand_in_the_lines_behind() -> None:
    text = "Missing required CPU features.\n\nThe following were not detected:\n    avx2, fma, bmi1, lzcnt\nContinuing"
    (signal,) = explain(text).signals
    assert signal.details["features"] == "avx2, fma, bmi1, lzcnt"


def test_colours_and_line_ends_of_windows_are_no_part_of_a_message() -> None:
    assert codes("\x1b[31mexec /app: exec format\x1b[0m error\r\n") == ["exec-format-error"]


def test_line_ends_of_windows_in_a_log_are_no_carriage_return_in_a_script() -> None:
    words = "exec /entrypoint.sh: no such file or directory"
    for text in (f"{words}\r\n", f'{{"log":"{words}\\r\\n"}}', f"{words}\nC:\\run.exe"):
        assert confidence(explain(text), "carriage-return") == "possible"
    assert confidence(explain("env: bash\r: No such file or directory\r\n"), "carriage-return") == "likely"


def test_a_forbidden_call_without_its_line_leaves_no_gap_in_the_answer() -> None:
    assert "{" not in explain("", 159).summary


def test_a_seccomp_line_names_the_call() -> None:
    line = 'audit: type=1326 audit(1.2:3): uid=0 pid=7 comm="app" exe="/app" sig=31 arch=c000003e syscall=435 code=0x0'
    (signal,) = explain(line).signals
    assert (signal.details["syscall"], signal.details["architecture"]) == ("clone3", "amd64")
    assert "clone3 on amd64" in explain(line).summary
    unknown = explain(line.replace("c000003e", "deadbeef"))
    assert "number 435 on audit architecture deadbeef" in unknown.summary


@pytest.mark.parametrize(
    ("architecture", "number", "named"),
    [
        ("c000003e", 0, ("amd64", "read")),
        ("40000003", 1, ("386", "exit")),
        ("c00000b7", 439, ("arm64", "faccessat2")),
        ("c00000f3", 439, ("riscv64", "faccessat2")),
        ("c000003e", 99999, ("amd64", "")),
        ("ffffffff", 1, ("", "")),
    ],
)
def test_calls_are_named_by_architecture(architecture: str, number: int, named: tuple[str, str]) -> None:
    assert name_syscall(architecture, number) == named


@given(strategies.text(max_size=300), strategies.lists(strategies.integers(-300, 300), max_size=3))
def test_any_text_is_read_and_says_no_more_than_it_holds(text: str, numbers: list[int]) -> None:
    lines = kernel_log.split_lines(text)
    for signal in read_signals(text, numbers, kernel_log.read_events(lines), load()):
        row = load().find(signal.code)
        assert any(signal.text.rstrip("…") in line for line in lines) or row.signals or row.exit_codes
