import os
import subprocess

import pytest

from nodeworthy_cli.embedded.errors import ServerMissingError
from nodeworthy_cli.embedded.program import find_program


def test_the_program_of_the_package_is_found_and_runs() -> None:
    done = subprocess.run([find_program(), "--version"], check=True, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("nats-server: v2.")


@pytest.mark.parametrize("package", ["no-such-package", "click"], ids=["absent", "without the program"])
def test_without_the_package_it_is_told_what_to_install(package: str) -> None:
    with pytest.raises(ServerMissingError) as caught:
        find_program(package)
    assert "nodeworthy[embedded]" in caught.value.todo


def test_the_program_can_be_executed() -> None:
    assert os.access(find_program(), os.X_OK)
