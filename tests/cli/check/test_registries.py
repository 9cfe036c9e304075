"""``nodeworthy check`` against registries that work, refuse, or answer nonsense."""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Nodeworthy
    from tests.conftest import Oras, SecuredRegistry


@pytest.mark.usefixtures("folder")
def test_a_registry_that_is_down_is_unknown(nodeworthy: "Nodeworthy") -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    done = nodeworthy("check", f"127.0.0.1:{port}/app:1", "--plain-http", "--on", "both.json", code=3)
    assert f"127.0.0.1:{port}" in done.stdout
    assert "unknown" in done.stdout


@pytest.mark.usefixtures("folder")
def test_an_image_that_is_not_there_is_a_usage_error(registry: str, nodeworthy: "Nodeworthy") -> None:
    done = nodeworthy("check", f"{registry}/nobody/nothing:1", "--plain-http", "--on", "both.json", code=2)
    assert "not found or no permission" in done.stderr


@pytest.mark.usefixtures("folder")
def test_a_registry_that_asks_for_a_password_is_unknown_and_answers_with_one(
    folder: Path,
    distribution_basic_registry: "SecuredRegistry",
    nodeworthy: "Nodeworthy",
    oras: "Oras",
    layout: Callable[..., str],
) -> None:
    layout("app")
    secured = distribution_basic_registry
    image = f"{secured.host}/app:1"
    login = ("--to-username", secured.username, "--to-password", secured.password)
    oras("cp", "--from-oci-layout", "app:latest", "--to-plain-http", *login, image)
    assert "401" in nodeworthy("check", image, "--plain-http", "--on", "both.json", code=3).stdout
    oras(
        "login", "--plain-http", secured.host, "-u", secured.username, "-p", secured.password, "--registry-config", "c"
    )
    known = ("--plain-http", "--registry-config", "c")
    nodeworthy("spec", "attach", image, "spec.yaml", *known, code=0)
    nodeworthy("check", image, *known, "--on", "both.json", code=0)
    assert nodeworthy("spec", "attach", image, "spec.yaml", "--plain-http", code=2).stderr.startswith("error: ")
    assert (folder / "c").exists()


HTML = (200, {"Content-Type": "text/html"}, b"<html>please sign in</html>")


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ((500, {}, b"oops"), "500"),
        ((403, {}, b"{}"), "403"),
        (HTML, "web page"),
        ((200, {"Content-Type": "application/vnd.oci.image.manifest.v1+json"}, b"{"), "truncated"),
        ((200, {"Content-Type": "application/vnd.oci.image.manifest.v1+json"}, b"x" * 5_000_000), "4"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_registry_that_answers_nonsense_is_unknown(
    reply: Any, says: str, broken_registry: Callable[[Callable[[str], Any]], str], nodeworthy: "Nodeworthy"
) -> None:
    host = broken_registry(lambda path: (200, {}, b"{}") if path == "/v2/" else reply)
    done = nodeworthy("check", f"{host}/app:1", "--plain-http", "--on", "both.json", "--timeout", "5", code=3)
    assert says in done.stdout


@pytest.mark.usefixtures("folder")
def test_a_manifest_that_is_not_its_digest_is_unknown(
    broken_registry: Callable[[Callable[[str], Any]], str], nodeworthy: "Nodeworthy"
) -> None:
    manifest = (200, {"Content-Type": "application/vnd.oci.image.manifest.v1+json"}, b'{"schemaVersion": 2}')
    host = broken_registry(lambda _: manifest)
    done = nodeworthy("check", f"{host}/app@sha256:{'0' * 64}", "--plain-http", "--on", "both.json", code=3)
    assert "digest" in done.stdout
