"""Web servers that are told to listen on IPv6."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.resolver.inspection.elves import Made, prepared
from tests.resolver.inspection.nodes import node, outcome
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy.requirements import Requirement, Sureness
from nodeworthy.rules import Outcome
from nodeworthy_resolver.inspection.readings.listeners import read_listeners
from nodeworthy_resolver.inspection.subject import ImageConfig

PROGRAM = Made(kind=2).bytes()
SETTING = "net.ipv6.conf.all.disable_ipv6"


def asked(settings: bytes, path: str = "/etc/nginx/conf.d/default.conf", start: str = "nginx") -> list[Requirement]:
    files: dict[str, bytes | str] = {"/usr/sbin/nginx": PROGRAM, "/app": PROGRAM, path: settings}
    return list(read_listeners(prepared(MemoryTree(files), ImageConfig((start,)))).requirements)


@pytest.mark.parametrize(
    ("settings", "asks"),
    [
        (b"server {\n  listen [::]:80 default_server;\n}", True),
        (b"server { listen 80; listen [::1]:8080; }", True),
        (b"server {\n  # listen [::]:80;\n  listen 80;\n}", False),
        (b"listen 80;", False),
        (b"proxy_pass http://[::1]:80;", False),
    ],
)
def test_only_addresses_of_ipv6_that_are_listened_on_count(settings: bytes, *, asks: bool) -> None:
    assert bool(asked(settings)) is asks


def test_a_kernel_without_the_family_has_none_of_its_settings() -> None:
    (found,) = asked(b"listen [::]:80;")
    assert found.sureness is Sureness.PROBABLE
    assert outcome(found, node({"kernel.sysctl": {"vm.max_map_count": "65530"}})) is Outcome.FALSE
    assert outcome(found, node({"kernel.sysctl": {SETTING: "1"}})) is Outcome.TRUE


def test_a_server_that_does_not_start_asks_for_nothing() -> None:
    assert asked(b"listen [::]:80;", start="/app") == []
    assert asked(b"listen [::]:80;", path="/srv/example.conf") == []


@given(st.binary(max_size=400))
def test_any_settings_are_read_to_their_end(settings: bytes) -> None:
    assert len(asked(settings)) <= 1
