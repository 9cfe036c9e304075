"""The detector's pod sees the host: its mount and its user, taken from the manifest, in a mount namespace of their own."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from tests.deploy.conftest import templates
from tests.detector.test_unprivileged import why_impossible
from tests.kubernetes.api import Object

SCRIPT = """
set -e
source=$1 target=$2; shift 2
mount --make-rslave /
mount --rbind "$source" "$target"
mount -o remount,bind,ro "$target"
exec "$@"
"""
"""What a container runtime does for a host path that is read only, with HostToContainer."""

PROGRAM = """
import ctypes, encodings.idna, os, sys
import nodeworthy_cli.features, nodeworthy_detector.detection, nodeworthy_detector.sources.cpu.execution
from nodeworthy_cli import main
root, user = sys.argv[1], int(sys.argv[2])
if user:
    os.setgroups([]); os.setresgid(*3 * [user]); os.setresuid(*3 * [user])
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: as it is for a process that was started by this user
sys.exit(main.main(["features", "--host-root", root, "-o", "json"]))
"""
"""Everything is imported before the user changes, who may not read the interpreter's folders on every machine."""

STEADY = (
    "cpu.cpuid",
    "cpu.hwcap",
    "kernel.config",
    "memory.page",
    "pci.device",
    "storage.block",
    "system.library",
    "system.osrelease",
    "system.runtime",
)
"""Sets that do not change while tests run, and that are read below folders of every kind."""


def look(*command: str | Path) -> dict[str, Any]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(bool(why_impossible()), reason=why_impossible())
def test_the_user_of_the_pod_sees_below_its_mount_what_root_sees_on_the_machine(manifests: list[Object]) -> None:
    spec = templates(manifests)["detector"]["spec"]
    (path,) = (volume["hostPath"]["path"] for volume in spec["volumes"] if "hostPath" in volume)
    user = str(spec["securityContext"]["runAsUser"])
    python = [sys.executable, "-c", PROGRAM]
    with tempfile.TemporaryDirectory() as root:  # pytest keeps its own folders for its user
        Path(root).chmod(0o755)
        below = look("unshare", "--mount", "sh", "-c", SCRIPT, "sh", path, root, *python, root, user)
    here = look(*python, "/", "0")
    states = {name: (here["sets"][name]["state"], below["sets"][name]["state"]) for name in STEADY}
    assert all(one == other for one, other in states.values()), states
    digests = {name: here["sets"][name].get("digest") == below["sets"][name].get("digest") for name in STEADY}
    assert all(digests.values()), digests
