from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from nodeworthy.errors import UsageError
from nodeworthy_cli.bus_options import VARIABLES, BusOptions, bus_options, connection_settings, inbox_of
from nodeworthy_cli.embedded.contexts import FILE, Context, write_context

CONTEXT = Context("nats://127.0.0.1:4223", "author", "secret", "_INBOX.author")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """One in which a bus of cluster blue was started."""
    folder = tmp_path / "nodeworthy" / "blue"
    folder.mkdir(parents=True, mode=0o700)
    write_context(folder / FILE, CONTEXT)
    return {"XDG_DATA_HOME": str(tmp_path)}


def test_options_that_stand_above_and_below_reach_the_command() -> None:
    seen: list[object] = []

    @click.command()
    @click.option("--above")
    @bus_options
    @click.option("--below")
    @click.argument("names", nargs=-1)
    def command(above: str, below: str, names: tuple[str, ...], bus: BusOptions) -> None:
        seen.extend((above, below, names, bus))

    arguments = ["x", "--above", "1", "--below", "2", "--server", "nats://a:1", "--cluster", "blue", "--user", "u"]
    result = CliRunner().invoke(command, arguments, env={VARIABLES["password"]: "p"})
    assert result.exit_code == 0, result.output
    assert seen == ["1", "2", ("x",), BusOptions(server="nats://a:1", cluster="blue", user="u", password="p")]


def test_every_option_has_its_variable() -> None:
    @click.command()
    @bus_options
    def command(bus: BusOptions) -> None:
        click.echo(repr(vars(bus)))

    given = {variable: f"/{name}" for name, variable in VARIABLES.items()}
    output = CliRunner().invoke(command, [], env=given).output
    assert all(f"/{name}" in output for name in VARIABLES)


def test_the_bus_that_was_started_here_is_the_default(environment: dict[str, str]) -> None:
    settings = connection_settings(BusOptions(cluster="blue"), "nodeworthy test", environment=environment)
    assert settings.servers == ("nats://127.0.0.1:4223",)
    assert (settings.user, settings.password, settings.inbox_prefix) == ("author", "secret", "_INBOX.author")
    assert settings.name == "nodeworthy test"


def test_no_bus_is_an_error_that_names_the_cluster(environment: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="no bus is known for cluster green"):
        connection_settings(BusOptions(cluster="green"), "test", environment=environment)


def test_a_named_bus_is_taken_as_it_is(environment: dict[str, str]) -> None:
    bus = BusOptions(
        server="tls://a:4222,tls://b:4222",
        cluster="blue",
        user="reader",
        password="p",
        server_ca=Path("ca.pem"),
        server_certificate=Path("c.pem"),
        server_key=Path("k.pem"),
    )
    settings = connection_settings(bus, "test", environment=environment)
    assert settings.servers == ("tls://a:4222", "tls://b:4222")
    assert (settings.user, settings.password, settings.inbox_prefix) == ("reader", "p", "_INBOX.reader")
    assert (settings.ca_file, settings.certificate_file, settings.key_file) == (
        Path("ca.pem"),
        Path("c.pem"),
        Path("k.pem"),
    )


@pytest.mark.parametrize(
    ("bus", "match"),
    [
        (BusOptions(user="u"), "a user was given and no bus"),
        (BusOptions(credentials=Path("a.creds")), "a user was given and no bus"),
        (BusOptions(server="nats://a", password="p"), "a password was given and no user"),
        (BusOptions(server="nats://a", server_key=Path("k")), "belong together"),
        (BusOptions(server=","), "names no server"),
        (BusOptions(server="nats://a,http://b:4222"), "http://b:4222 is no address of a bus"),
    ],
)
def test_options_that_contradict_each_other_are_errors(bus: BusOptions, match: str) -> None:
    with pytest.raises(UsageError, match=match):
        connection_settings(bus, "test", environment={})


def test_the_password_is_not_in_a_representation() -> None:
    assert "secret" not in repr(BusOptions(server="nats://a", user="u", password="secret"))


@pytest.mark.parametrize(
    ("user", "inbox"),
    [("", "_INBOX"), ("detector-a_b=2e", "_INBOX.detector-a_b=2e"), ("a b", "_INBOX"), (">", "_INBOX")],
)
def test_a_users_inbox_is_named_after_it_where_a_subject_can_be(user: str, inbox: str) -> None:
    assert inbox_of(user) == inbox
