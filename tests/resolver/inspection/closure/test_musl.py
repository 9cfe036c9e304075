"""The real loader of musl, as Debian packages it."""

import pytest
from tests.resolver.inspection.elves import Made, index
from tests.resolver.inspection.real_files import debian
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy_resolver.inspection.closure import find_start
from nodeworthy_resolver.inspection.subject import ImageConfig

_PACKAGE = "pool/main/m/musl/musl_1.2.3-1_amd64.deb"
_SHA256 = "4fc1e3d9b579f5c682ca99a4d45aec08d72a2e6b82b4c2e1bbcb7095466ae96d"


@pytest.mark.parametrize(
    ("imports", "codes"),
    [
        (("snprintf", "puts", "?__gmon_start__"), []),
        # Seen with this loader: Error relocating: __snprintf_chk: symbol not found, exit 127.
        (("__snprintf_chk", "puts"), ["symbol-missing"]),
    ],
)
def test_a_glibc_program_runs_if_musl_has_all_its_symbols(imports: tuple[str, ...], codes: list[str]) -> None:
    interpreter = "/lib64/ld-linux-x86-64.so.2"
    tree = MemoryTree(
        {
            "/lib/ld-musl-x86_64.so.1": debian(_PACKAGE, _SHA256)["/lib/x86_64-linux-musl/libc.so"],
            interpreter: "-> /lib/ld-musl-x86_64.so.1",
            "/app": Made(interpreter=interpreter, needed=("libc.so.6",), imports=imports).bytes(),
        }
    )
    start = find_start(tree, index(tree), ImageConfig(("/app",)))
    assert [defect.code for defect in start.defects] == codes
