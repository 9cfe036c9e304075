"""The command line as a user runs it: the installed program, in an empty folder, with a home of its own."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Protocol

import msgspec
import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).parent / "nodeworthy"

Done = subprocess.CompletedProcess[str]


class Nodeworthy(Protocol):
    """Run ``nodeworthy`` with these arguments; what it prints and its exit code."""

    def __call__(self, *arguments: str | Path, input: str | None = None, code: int | None = None) -> Done: ...  # noqa: A002 # as subprocess


@pytest.fixture
def nodeworthy(tmp_path: Path) -> Nodeworthy:
    home = tmp_path / "home"
    home.mkdir()
    keep = ("PATH", "LANG", "VIRTUAL_ENV")
    environment = {**{k: v for k, v in os.environ.items() if k in keep}, "HOME": str(home)}

    def run(*arguments: str | Path, input: str | None = None, code: int | None = None) -> Done:  # noqa: A002 # as subprocess
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)],
            cwd=tmp_path,
            env=environment,
            input=input,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert "Traceback" not in done.stderr
        if code is not None:
            assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return run


def load(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def builder() -> ModuleType:
    """The program of examples/ that builds images."""
    return load(ROOT / "examples" / "build_images.py")


@pytest.fixture
def layout(tmp_path: Path, builder: ModuleType) -> Callable[..., str]:
    """Build ``oci:NAME`` in the test's folder, an image for one architecture or an index for several."""

    def build(name: str, *architectures: str) -> str:
        made = builder.Layout(tmp_path / name)
        images = [(made.add_image(f"{name} {a}\n", a), a) for a in architectures or ("amd64",)]
        if len(images) == 1:
            made.finish(images[0][0], "latest")
            return f"oci:{name}"
        children = [{**image, "platform": {"os": "linux", "architecture": a}} for image, a in images]
        media_type = "application/vnd.oci.image.index.v1+json"
        index = {"schemaVersion": 2, "mediaType": media_type, "manifests": children}
        made.finish(made.add(media_type, msgspec.json.encode(index)), "latest")
        return f"oci:{name}"

    return build


Reply = tuple[int, Mapping[str, str], bytes]


@pytest.fixture
def broken_registry() -> Iterator[Callable[[Callable[[str], Reply]], str]]:
    """Start a server on this machine that answers each path as the test says; gives its ``host:port``."""
    servers: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def start(answer: Callable[[str], Reply]) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, headers, body = answer(self.path)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command == "GET":
                    self.wfile.write(body)

            do_HEAD = do_GET  # noqa: N815 # the name that http.server looks up

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        servers.append((server, thread))
        return f"127.0.0.1:{server.server_address[1]}"

    yield start
    for server, thread in servers:
        server.shutdown()
        server.server_close()
        thread.join()
