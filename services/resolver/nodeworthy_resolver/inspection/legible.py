"""Names of files that are not UTF-8, in words that everybody can read and every format can hold."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

_Record = TypeVar("_Record", bound=msgspec.Struct)


def make_legible(record: _Record) -> _Record:
    r"""The record, with bytes of names that are not UTF-8 written as ``\udcff``; mostly it is the same one."""
    try:
        msgspec.msgpack.encode(record)
    except UnicodeEncodeError:
        cleaned: _Record = _clean(record)
        return cleaned
    return record


def _clean(value: Any) -> Any:  # noqa: ANN401 # whatever a record holds
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, tuple):
        return tuple(map(_clean, value))
    if isinstance(value, Mapping):
        return {_clean(name): _clean(one) for name, one in value.items()}
    if isinstance(value, msgspec.Struct):
        fields = {name: _clean(getattr(value, name)) for name in value.__struct_fields__}
        return type(value)(**fields)
    return value
