import asyncio
import json
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import UsageError
from nodeworthy.kubernetes.credentials import Shown
from nodeworthy.kubernetes.exec_plugin import ExecCredentials, ExecPlugin, parse_credential

V1, V1BETA1 = "client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"
PLUGIN = ExecPlugin(V1, "plugin")


def credential(version: str = V1, kind: str = "ExecCredential", **status: Any) -> bytes:
    return json.dumps({"apiVersion": version, "kind": kind, "status": status}).encode()


def test_a_token_with_its_end_is_read() -> None:
    data = credential(token="t", expirationTimestamp="2031-05-06T07:08:09Z")
    assert parse_credential(data, PLUGIN) == (Shown("Bearer t"), 1935817689.0)


def test_a_certificate_is_read_and_may_have_no_end() -> None:
    data = credential(V1BETA1, clientCertificateData="c", clientKeyData="k")
    assert parse_credential(data, ExecPlugin(V1BETA1, "plugin")) == (Shown("", b"c", b"k"), None)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"secret",
        b'"secret"',
        credential(V1BETA1, token="secret"),
        credential(kind="Secret", token="secret"),
        credential(),
        credential(token="secret\nX-Header: 1"),
        credential(clientCertificateData="secret"),
        credential(token="secret", expirationTimestamp="2031-05-06T07:08:09"),
        credential(token="secret", expirationTimestamp="soon"),
        json.dumps({"apiVersion": V1, "kind": "ExecCredential"}).encode(),
    ],
)
def test_anything_else_is_an_error_that_shows_nothing_of_it(data: bytes) -> None:
    with pytest.raises(UsageError, match="credential program plugin printed no credentials") as raised:
        parse_credential(data, PLUGIN)
    assert "secret" not in str(raised.value)


@given(st.binary())
def test_any_bytes_are_credentials_or_an_error_of_ours(data: bytes) -> None:
    with pytest.raises(UsageError):
        parse_credential(data, PLUGIN)


class Program:
    """A credential program in Python that counts how often it was started."""

    def __init__(self, folder: Path, text: str) -> None:
        self.counter = folder / "count"
        self.file = folder / "program.py"
        count = f"open({str(self.counter)!r}, 'a').write('x')\n"
        self.file.write_text("import json, os, sys, time\n" + count + textwrap.dedent(text))

    @property
    def started(self) -> int:
        return len(self.counter.read_text())

    def plugin(self, **fields: Any) -> ExecPlugin:
        return ExecPlugin(V1, sys.executable, ("-S", str(self.file), "argument"), **fields)


def is_running(pid: Path) -> bool:
    return Path(f"/proc/{pid.read_text()}").exists()


PRINTING = """
told = json.loads(os.environ['KUBERNETES_EXEC_INFO'])
token = '-'.join([sys.argv[1], os.environ['WORD'], told['apiVersion'], str(told['spec'])])
print(json.dumps({'apiVersion': told['apiVersion'], 'kind': 'ExecCredential', 'status':
    {'token': token, 'expirationTimestamp': '2001-09-09T01:46:40Z'}}))
"""
END = 1_000_000_000.0


async def test_the_program_gets_its_arguments_variables_and_the_cluster_and_no_terminal(tmp_path: Path) -> None:
    program = Program(tmp_path, PRINTING + "assert sys.stdin.read() == ''")
    plugin = program.plugin(variables={"WORD": "own"}, cluster={"server": "https://s"})
    shown = await ExecCredentials(plugin, {"WORD": "ours"}, lambda: 0).show()
    spec = "{'interactive': False, 'cluster': {'server': 'https://s'}}"
    assert shown.authorization == f"Bearer argument-own-{V1}-{spec}"


async def test_the_program_is_asked_once_by_all_and_again_shortly_before_the_end(tmp_path: Path) -> None:
    program = Program(tmp_path, PRINTING)
    now = 0.0
    credentials = ExecCredentials(program.plugin(), {"WORD": ""}, lambda: now)
    await asyncio.gather(*(credentials.show() for _ in range(3)))
    assert program.started == 1
    now = END - 11
    await credentials.show()
    assert program.started == 1
    now = END - 9
    await credentials.show()
    assert program.started == 2


async def test_refused_credentials_are_asked_for_anew(tmp_path: Path) -> None:
    program = Program(tmp_path, PRINTING)
    credentials = ExecCredentials(program.plugin(), {"WORD": ""}, lambda: 0)
    await credentials.show()
    credentials.forget()
    await credentials.show()
    assert program.started == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sys.stderr.write('log in first\\n\\x1b[1m'); sys.exit(3)", r"failed: exit code 3: log in first \[1m$"),
        ("print('x' * 300_000); time.sleep(60)", "printed too much: more than 262144 bytes"),
        ("sys.stderr.write('x' * 2_000_000); sys.exit(1)", "failed: exit code 1: x+…$"),
    ],
)
async def test_a_program_that_fails_or_says_too_much_is_one_clear_error(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        await ExecCredentials(Program(tmp_path, text).plugin(), {}, lambda: 0).show()


async def test_a_program_that_hangs_is_ended(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    text = f"open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    with pytest.raises(UsageError, match=r"did not answer: within 1 s"):
        await ExecCredentials(Program(tmp_path, text).plugin(), {}, lambda: 0, seconds=1).show()
    assert not is_running(pid)


async def test_a_program_that_is_not_installed_is_told_with_its_maker_s_hint() -> None:
    plugin = ExecPlugin(V1, "no-such-program-here", install_hint="get it\nfrom us")
    with pytest.raises(UsageError, match="credential program no-such-program-here cannot be started") as raised:
        await ExecCredentials(plugin, {}, lambda: 0).show()
    assert raised.value.todo == "get it from us"
