"""Images of the shapes that most cases have."""

from tests.cases.images.parts import Files
from tests.cases.images.records import Child, Image
from tests.resolver.inspection.instructions.programs import built

_HELLO = '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }'
_CHECKED = (
    "#include <stdio.h>\n#include <string.h>\nint main(int c, char **v) { char b[64]; strcpy(b, v[0]);"
    ' printf("%s %d\\n", b, c); return 0; }'
)


def one(files: Files, platform: str = "linux/amd64", *entrypoint: str, environment: tuple[str, ...] = ()) -> Image:
    """A single image; without an entrypoint ``/app`` is."""
    return Image((Child(files, entrypoint or ("/app",), platform, environment=environment),))


def two(first: Files, second: Files, *, pinned: int | None = None, with_attestation: bool = False) -> Image:
    """An index of a child for amd64 and one for arm64."""
    children = (Child(first), Child(second, platform="linux/arm64"))
    return Image(children, is_index=True, pinned=pinned, with_attestation=with_attestation)


def hello() -> bytes:
    """A real program of this machine's compiler."""
    return built(_HELLO)


def checked_hello() -> bytes:
    """A real program that calls functions that musl does not have: ``__strcpy_chk``, ``__printf_chk``."""
    return built(_CHECKED, "-O2 -D_FORTIFY_SOURCE=2 -Wl,-z,lazy")
