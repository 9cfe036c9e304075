"""Certificates of single hosts, as hosts.toml and docker's folders name them."""

import json
import shutil
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nodeworthy.errors import NodeworthyError, RegistryUnreachableError, UsageError
from nodeworthy_resolver.oci.store import Content

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.resolver.conftest import Builder, FaultyRegistry, Serve, Waits
    from tests.resolver.oci.registry.conftest import Resolve

IMAGE = "registry.test/team/app:v1"


async def test_a_hosts_certificate_authority_is_trusted_for_it(
    secure: "FaultyRegistry", build: "Builder", certificate: Path, resolve: "Resolve", tmp_path: Path
) -> None:
    secure.tags["v1"] = image = build.image()
    folder = tmp_path / f"{secure.host.replace(':', '_')}_"
    folder.mkdir()
    with pytest.raises(RegistryUnreachableError, match="cannot be trusted"):
        await resolve(secure.name, plain_http=False, hosts_folder=tmp_path)
    shutil.copy(certificate, folder / "ca.crt")
    assert (await resolve(secure.name, plain_http=False, hosts_folder=tmp_path)).digest == image.digest


@pytest.mark.parametrize("skip", [True, False])
async def test_skip_verify_trusts_anybody_and_its_absence_nobody_strange(
    skip: bool, secure: "FaultyRegistry", build: "Builder", resolve: "Resolve", mirrored: "Callable[[str], Path]"
) -> None:
    secure.tags["v1"] = build.image()
    folder = mirrored(f'server = "https://{secure.host}"\nskip_verify = {json.dumps(skip)}')
    if skip:
        assert (await resolve(IMAGE, hosts_folder=folder)).images
    else:
        with pytest.raises(NodeworthyError, match="cannot be trusted"):
            await resolve(IMAGE, hosts_folder=folder)


async def test_a_client_certificate_is_shown_to_its_host_and_a_wrong_file_is_named(
    serve_faulty: "Serve", build: "Builder", certificate: Path, resolve: "Resolve", mirrored: "Callable[[str], Path]"
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(certificate)
    async with serve_faulty(context) as registry:
        registry.tags["v1"] = build.image()
        shown = f'server = "https://{registry.host}"\nca = "{certificate}"\n'
        with pytest.raises(RegistryUnreachableError):
            await resolve(IMAGE, hosts_folder=mirrored(shown), attempts=1)
        for client in (f'"{certificate}"', f'[["{certificate}", "{certificate}"]]'):
            assert (await resolve(IMAGE, hosts_folder=mirrored(f"{shown}client = {client}"))).images
        for wrong, why in ((__file__, "cannot be used"), ("/missing.pem", "cannot be read")):
            with pytest.raises(UsageError, match=why):
                await resolve(IMAGE, hosts_folder=mirrored(f'{shown}client = "{wrong}"'))


async def test_a_dial_timeout_is_for_connecting(
    faulty: "FaultyRegistry", mirrored: "Callable[[str], Path]", image: Content, resolve: "Resolve", waits: "Waits"
) -> None:
    """192.0.2.1 is for documentation, and nobody answers there (RFC 5737)."""
    folder = mirrored(f'server = "http://{faulty.host}"\n[host."http://192.0.2.1"]\ndial_timeout = "50ms"')
    assert (await resolve(IMAGE, hosts_folder=folder)).digest == image.digest
    assert sum(waits.seconds) < 10
