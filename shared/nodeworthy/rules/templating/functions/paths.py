"""Paths with slashes, by the rules of Go's package path. ``osBase`` and its relatives are the same on Linux."""

from collections.abc import Mapping

from nodeworthy.rules.templating.signatures import Function


def clean(path: str) -> str:
    """The shortest path that means the same: without ``.``, ``//`` and names that ``..`` takes back."""
    is_absolute = path.startswith("/")
    kept: list[str] = []
    for name in path.split("/"):
        if name in ("", "."):
            continue
        if name == ".." and kept and kept[-1] != "..":
            kept.pop()
        elif name != ".." or not is_absolute:
            kept.append(name)
    return ("/" if is_absolute else "") + "/".join(kept) or "."


def base(path: str) -> str:
    """The last name."""
    if not path:
        return "."
    stripped = path.rstrip("/")
    return stripped.rpartition("/")[2] if stripped else "/"


def directory(path: str) -> str:
    """``dir``: all but the last name."""
    head, slash, _ = path.rpartition("/")
    return clean(head + slash)


def extension(path: str) -> str:
    """``ext``: from the last dot of the last name on."""
    _, dot, after = path.rpartition("/")[2].rpartition(".")
    return dot + after if dot else ""


def is_absolute(path: str) -> bool:
    """Whether the path begins with a slash."""
    return path.startswith("/")


FUNCTIONS: Mapping[str, Function] = {
    "clean": clean,
    "base": base,
    "dir": directory,
    "ext": extension,
    "isAbs": is_absolute,
    "osClean": clean,
    "osBase": base,
    "osDir": directory,
    "osExt": extension,
    "osIsAbs": is_absolute,
}
