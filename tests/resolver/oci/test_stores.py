import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nodeworthy.errors import UsageError
from nodeworthy_resolver.oci import RegistryAccess, default_configs, open_store, parse_reference
from nodeworthy_resolver.oci.layout import LayoutStore
from nodeworthy_resolver.oci.registry import RegistryStore

if TYPE_CHECKING:
    from tests.resolver.conftest import Builder

CHECK = """
import asyncio, sys
from nodeworthy_resolver.oci import open_store, parse_reference, resolve_image

async def main():
    reference = parse_reference(sys.argv[1])
    async with open_store(reference) as store:
        await resolve_image(store, reference, None)

asyncio.run(main())
print(*sorted({"aiohttp", "yarl", "urllib.request", "pydantic", "yaml"} & set(sys.modules)))
"""


MISSING = Path("/nowhere/at/all/missing")


def test_a_layout_folder_is_resolved_without_loading_what_speaks_http(build: "Builder", tmp_path: Path) -> None:
    build.write_layout(tmp_path, build.tagged(build.index((build.image(), "linux/amd64")), "v1"))
    command = [sys.executable, "-c", CHECK, f"oci:{tmp_path}:v1"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout == "\n"


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [("oci:folder:v1", LayoutStore, "oci:folder"), ("nginx:1", RegistryStore, "docker.io/library/nginx")],
)
async def test_a_reference_opens_the_store_that_it_names(name: str, kind: type, says: str) -> None:
    async with open_store(parse_reference(name), RegistryAccess()) as store:
        assert isinstance(store, kind)
        assert store.name == says


@pytest.mark.parametrize("access", [RegistryAccess(config=MISSING), RegistryAccess(certificates=MISSING)])
@pytest.mark.parametrize("name", ["oci:folder:v1", "nginx:1"])
async def test_a_file_that_is_named_and_missing_is_an_error_whatever_is_opened(
    access: RegistryAccess, name: str
) -> None:
    with pytest.raises(UsageError, match="missing cannot be read"):
        async with open_store(parse_reference(name), access):
            pass


def test_credentials_are_looked_for_where_docker_login_puts_them(tmp_path: Path) -> None:
    for folder in (tmp_path / ".docker", tmp_path / "other"):
        folder.mkdir()
        (folder / "config.json").write_text("{}")
    assert default_configs({}, tmp_path) == (tmp_path / ".docker" / "config.json",)
    assert default_configs({"DOCKER_CONFIG": str(tmp_path / "other")}, tmp_path) == (
        tmp_path / "other" / "config.json",
    )
    assert default_configs({"DOCKER_CONFIG": str(tmp_path / "missing")}, tmp_path) == ()
    assert default_configs({"DOCKER_CONFIG": ""}, tmp_path / "other") == ()


def test_podmans_files_are_looked_at_after_dockers_and_the_kubelets_last(tmp_path: Path) -> None:
    session, settings, kubelet = tmp_path / "run", tmp_path / "settings", tmp_path / "kubelet.json"
    files = [tmp_path / ".docker" / "config.json", session / "containers" / "auth.json"]
    files += [settings / "containers" / "auth.json", kubelet]
    for path in files:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    environment = {"XDG_RUNTIME_DIR": str(session), "XDG_CONFIG_HOME": str(settings)}
    assert default_configs(environment, tmp_path, others=(kubelet,)) == tuple(files)


def test_registry_auth_file_counts_alone(tmp_path: Path) -> None:
    (tmp_path / ".docker").mkdir()
    for name in (".docker/config.json", "auth.json"):
        (tmp_path / name).write_text("{}")
    named = tmp_path / "auth.json"
    assert default_configs({"REGISTRY_AUTH_FILE": str(named)}, tmp_path) == (named,)
