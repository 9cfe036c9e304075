"""The main job on this machine: what it offers, and whether two example images will run on it."""

import subprocess
import sys
import tempfile
from pathlib import Path

from build_images import build, machine_architecture

HERE = Path(__file__).parent
NODEWORTHY = Path(sys.executable).parent / "nodeworthy"


def show(*arguments: str, folder: Path, keep: int | None = None) -> None:
    """Run one command in the folder and print it as a person would have typed it, with the first lines of its output."""
    print(f"$ nodeworthy {' '.join(arguments)}", flush=True)
    done = subprocess.run([NODEWORTHY, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    print("\n".join(lines[:keep]))
    if keep is not None and len(lines) > keep:
        print(f"... {len(lines) - keep} more lines")
    if done.stderr:
        print(done.stderr, end="")
    print(f"(exit code {done.returncode})\n", flush=True)


def main() -> None:
    """Build the examples in a temporary folder and check them."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for layout in build(folder, machine_architecture()):
            spec = folder / f"{layout.name}.yaml"
            spec.write_bytes((HERE / "specs" / spec.name).read_bytes())
        show("features", folder=folder, keep=12)
        for image in ("fits", "does-not-fit"):
            show("spec", "attach", f"oci:{image}", f"{image}.yaml", folder=folder)
            show("check", f"oci:{image}", folder=folder)
    print("An image in a registry is checked in the same way: .venv/bin/nodeworthy check IMAGE")


if __name__ == "__main__":
    main()
