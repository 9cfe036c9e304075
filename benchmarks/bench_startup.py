"""Cold starts of the command line, against a Python that does nothing."""

import sys
import tempfile
from pathlib import Path

from timing import PROGRAM, ROOT, compare_programs, run_program

RUNS = 15


def run() -> None:
    """Measure a help text, a check of a layout folder, and the features of this machine."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_program([sys.executable, ROOT / "examples" / "build_images.py", folder])
        run_program([PROGRAM, "spec", "attach", "oci:fits", ROOT / "examples" / "specs" / "fits.yaml"], folder)
        commands: dict[str, list[object]] = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "python -c 'import asyncio'": [sys.executable, "-c", "import asyncio"],
            "nodeworthy --help": [PROGRAM, "--help"],
            "nodeworthy check oci:DIR": [PROGRAM, "check", "oci:fits"],
            "nodeworthy features -o json": [PROGRAM, "features", "-o", "json"],
        }
        compare_programs(commands, runs=RUNS, folder=folder)
