"""Programs that execute the rest of their arguments."""

import pytest

from nodeworthy_resolver.inspection.closure.wrappers import Environment, parse_env, unwrapped


@pytest.mark.parametrize(
    ("name", "arguments", "command"),
    [
        ("tini", ("--", "app", "-x"), ("app", "-x")),
        ("tini", ("-g", "-e", "143", "app"), ("app",)),
        ("dumb-init", ("--rewrite", "15:2", "app"), ("app",)),
        ("gosu", ("user:group", "app"), ("app",)),
        ("timeout", ("-k", "5", "60", "app"), ("app",)),
        ("nice", ("-n", "5", "app"), ("app",)),
        ("tini", ("-v",), ()),
    ],
)
def test_the_command_stands_behind_options_and_words_of_its_own(
    name: str, arguments: tuple[str, ...], command: tuple[str, ...]
) -> None:
    found = unwrapped(name, arguments)
    assert found is not None
    assert found[1] == command


def test_other_programs_execute_nothing_that_is_known() -> None:
    assert unwrapped("nginx", ("-g", "daemon off;")) is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("python3", "a"), Environment(("python3", "a"), {}, is_cleared=False)),
        (("-i", "A=1", "app"), Environment(("app",), {"A": "1"}, is_cleared=True)),
        (("-S", "python3 -u", "/x"), Environment(("python3", "-u", "/x"), {}, is_cleared=False)),
        (("-S python3 -u", "/x"), Environment(("python3", "-u", "/x"), {}, is_cleared=False)),
        (("-u", "A", "app"), Environment(("app",), {}, is_cleared=False)),
        (("-S", 'python3 "a b"'), None),
        (("--strange", "app"), None),
    ],
)
def test_env_is_read_with_its_options_and_assignments(arguments: tuple[str, ...], expected: Environment | None) -> None:
    assert parse_env(arguments) == expected
