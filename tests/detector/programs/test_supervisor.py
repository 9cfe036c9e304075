import os
import subprocess
import sys

from nodeworthy_detector.programs import supervisor


def test_children_are_found_whatever_their_names_are() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, executable="/bin/cat") as child:  # by its full path
        assert child.pid in supervisor.find_children(os.getpid())
    assert child.pid not in supervisor.find_children(os.getpid())


def test_nobody_runs_a_program_for_a_detector_that_is_gone() -> None:
    command = [sys.executable, "-I", "-S", supervisor.__file__, "/bin/echo", "1"]
    done = subprocess.run(command, capture_output=True, check=False, timeout=30)
    assert (done.returncode, done.stdout) == (-15, b"")
