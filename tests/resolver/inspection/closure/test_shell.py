"""What a shell executes, as far as its text tells."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy_resolver.inspection.closure.shell import Call, find_command, parse_call


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("-c", "app -x"), Call(text="app -x")),
        (("-ec", "app", "name", "one"), Call(text="app", arguments=("one",))),
        (("-euo", "pipefail", "-c", "app"), Call(text="app")),
        (("-l", "-c", "app"), Call(text="app", is_login=True)),
        (("/entry.sh", "a"), Call(script="/entry.sh", arguments=("a",))),
        (("--", "-odd"), Call(script="-odd")),
        (("-", "/entry.sh"), Call(script="/entry.sh")),
        (("-e", "-", "-odd"), Call(script="-odd")),
        ((), Call()),
    ],
)
def test_the_arguments_of_a_shell_are_told_apart(arguments: tuple[str, ...], expected: Call) -> None:
    assert parse_call(arguments) == expected


@pytest.mark.parametrize(
    ("text", "words", "is_only"),
    [
        ("app --flag 'two words'", ("app", "--flag", "two words"), True),
        ("exec app", ("app",), True),
        ("$HOME/bin/app -x", ("/home/bin/app", "-x"), True),
        ("A=1 exec app", ("app",), True),
        ("app > /dev/null 2>&1", ("app",), True),
        ("#!/bin/sh\nset -e\nexport A=1\n\n# go\nexec app \\\n  -x\n", ("app", "-x"), True),
        ("cd /app && ./server", ("./server",), False),
        ("migrate; exec app", ("app",), False),
        ("if [ -z x ]; then\n  exit 1\nfi\nexec app", ("app",), False),
        ("migrate\nexec app", ("app",), False),
        ("cat <<-'END'\n  exec other\n  END\nexec app", ("app",), False),
        ("cat <<END\nexec other\nEND", ("cat",), True),
        ('exec "$@"', ("nginx", "-g"), True),
        ('exec gosu app "$@"', ("gosu", "app", "nginx", "-g"), True),
    ],
)
def test_the_last_command_is_what_runs(text: str, words: tuple[str, ...], is_only: bool) -> None:
    found = find_command(text, ("nginx", "-g"), {"HOME": "/home"})
    assert found is not None
    assert found.words[: len(words)] == words
    assert found.is_only is is_only


@pytest.mark.parametrize(
    "text",
    [
        "",
        "echo hello",
        "cd /app",
        "$UNSET -x",
        "$(which app)",
        "while true; do app; done",
        "if x; then\n  exec app\nfi",
        "app | tee log",
        "app &",
        "(app)",
        "app 'open",
        "PATH=/x app",
        "~/bin/app",
        "/opt/*/app",
        "$SPACED",
        "LD_PRELOAD=/x.so app",
        "main() {\n app\n}\nmain() { app; }",
        'main() {\n app\n}\nmain "$@"',
        "function main {\n app\n}\nA=1 main",
    ],
)
def test_what_cannot_be_told_is_not_told(text: str) -> None:
    assert find_command(text, (), {"SPACED": "/app -x"}) is None


@pytest.mark.parametrize(
    ("text", "may_be"),
    [
        (". /lib/functions.sh\nstart", True),
        ("if x; then source functions.sh; fi\nstart", True),
        (". /lib/functions.sh\nexec start", False),
        (". /lib/functions.sh\n./start", False),
        ("./prepare\nstart", False),
    ],
)
def test_a_sourced_file_may_define_the_command(text: str, may_be: bool) -> None:
    found = find_command(text, (), {})
    assert found is not None
    assert found.may_be_function is may_be


def test_a_script_that_hands_on_inside_a_function_most_likely_gets_there() -> None:
    function = '_main() {\n  if root; then\n    exec gosu app "$0" "$@"\n  fi\n  exec "$@"\n}\n'
    text = function + 'if ! sourced; then\n  _main "$@"\nfi\n'
    found = find_command(text, ("postgres",), {})
    assert found is not None
    assert (found.words, found.is_only) == (("postgres",), False)
    assert find_command(text, (), {}) is None


@pytest.mark.parametrize(
    "text",
    ["set -- other\nexec app", "ulimit -n 9\nexec app", "PATH=/x\nexec app", "export A=$B\nexec app", "x\nexec app"],
)
def test_what_stands_before_may_change_or_end_it(text: str) -> None:
    found = find_command(text, (), {})
    assert found is not None
    assert not found.is_only


@pytest.mark.parametrize(
    ("line", "loading"),
    [
        ("export LD_PRELOAD=/usr/lib/libjemalloc.so.2", {"LD_PRELOAD": "/usr/lib/libjemalloc.so.2"}),
        ("export A=1 LD_LIBRARY_PATH=$HOME/lib", {"LD_LIBRARY_PATH": "/root/lib"}),
        ('export LD_PRELOAD="$(echo /usr/lib/*/libjemalloc.so.2)"', {}),
        ("  export LD_PRELOAD=/in/a/block.so", {}),
        ("LD_PRELOAD=/not/handed/on.so", {}),
    ],
)
def test_what_a_script_sets_for_the_loader_goes_to_the_command(line: str, loading: dict[str, str]) -> None:
    found = find_command(f"{line}\nexec /app\n", (), {"HOME": "/root"})
    assert found is not None
    assert (found.loading, found.is_only) == (loading, False)


def test_a_variable_that_the_script_sets_is_not_taken_for_the_environments() -> None:
    found = find_command("APP=/other\nexec $APP", (), {"APP": "/app"})
    assert found is not None
    assert not found.is_only


@given(st.text(max_size=200))
def test_no_text_breaks_it(text: str) -> None:
    found = find_command(text, ("a",), {"HOME": "/"})
    assert found is None or found.words
