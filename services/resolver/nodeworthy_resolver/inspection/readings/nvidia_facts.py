"""Conditions on NVIDIA's GPUs and drivers, and the tables behind them.

``data/cuda.json`` has the first driver that brings each CUDA and the oldest that runs what was built with it,
``data/nvidia_gpus.json`` the compute capability of each chip, ``data/nvidia_brands.json`` the brands that NVML tells.
"""

import re
from collections.abc import Iterable

import msgspec

from nodeworthy.requirements.conditions import Wanted, has_flags, has_instance
from nodeworthy.rules import Operator, Term
from nodeworthy_resolver.inspection.readings.levels import Ways, without_module
from nodeworthy_resolver.inspection.readings.ranges import Version, numbers_of
from nodeworthy_resolver.inspection.readings.tables import read_table

_DIGITS = "0123456789abcdef"


class CudaRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One release of CUDA."""

    cuda: str
    driver: str
    """The first driver that has this CUDA itself."""
    runtime: str
    """The oldest driver that runs what was built with it (minor-version compatibility from 11 on)."""
    source: str


class GpuRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The chips of one compute capability."""

    chips: str
    capability: str
    device_ids: tuple[str, ...]
    """Ranges of the first three (or of all four) digits of PCI device numbers, which NVIDIA gives by chip: ``2b8-2bf``."""
    models: tuple[str, ...]
    """Patterns of the driver's names of products; a name that fits none is of no known chip."""
    source: str


class BrandRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Brands that are told apart by the same patterns."""

    brands: tuple[str, ...]
    """The words of ``brand=`` in a requirement."""
    models: tuple[str, ...]
    device_ids: tuple[str, ...]
    """Patterns of PCI device numbers, for nodes whose driver does not name the product."""
    source: str


WITHOUT_DRIVER = without_module("nvidia")
"""A node without NVIDIA's driver: nothing checks or uses a GPU there; whether one is wanted is asked apart."""


def driver_term(operator: Operator, version: str) -> Term:
    """NVIDIA's kernel module of this version, or as the operator says."""
    return has_instance(
        "accel.driver",
        {
            "vendor": (Operator.IN, "nvidia"),
            "where": (Operator.IN, "module"),
            "version": (operator, version),
        },
        {"version": "version"},
    )


def gpu_term(name: str, pattern: str) -> Term:
    """An NVIDIA GPU with an attribute that a pattern fits."""
    return has_instance("accel.device", {"vendor": (Operator.IN, "nvidia"), name: (Operator.IN_REGEXP, pattern)})


def has_gpu() -> Ways:
    """An NVIDIA GPU, by our facts or by NFD's."""
    display = "^03"
    return (
        (has_instance("accel.device", {"vendor": (Operator.IN, "nvidia"), "kind": (Operator.IN, "gpu")}),),
        (has_instance("pci.device", {"vendor": (Operator.IN, "10de"), "class": (Operator.IN_REGEXP, display)}),),
    )


def has_driver() -> Ways:
    """NVIDIA's kernel module, or the one of Jetsons; also where the driver is part of the kernel."""
    named = has_instance("accel.driver", {"vendor": (Operator.IN, "nvidia"), "where": (Operator.IN, "module")})
    return ((named,), (has_flags("kernel.loadedmodule", ["nvidia"]),), (has_flags("kernel.loadedmodule", ["nvgpu"]),))


def cuda_rows() -> tuple[CudaRow, ...]:
    """Every release of CUDA, the oldest first."""
    return read_table("cuda", CudaRow)


def first_driver(cuda: Version) -> str | None:
    """The first driver whose own CUDA is this or a later one; ``None`` for one later than the table."""
    return next((row.driver for row in cuda_rows() if (numbers_of(row.cuda) or ()) >= cuda), None)


def runtime_driver(cuda: Version) -> str | None:
    """The oldest driver that runs what was built with a CUDA; ``None`` where the table does not have it."""
    rows = [row for row in cuda_rows() if (numbers_of(row.cuda) or ()) <= cuda]
    if not rows or (numbers_of(rows[-1].cuda) or (0,))[0] != cuda[0]:
        return None
    return rows[-1].runtime


def brand_terms(brand: str) -> tuple[Term, ...] | None:
    """Ways in which a node has a GPU of a brand, none for one that cannot be told; ``None`` for an unknown word."""
    row = next((row for row in read_table("nvidia_brands", BrandRow) if brand in row.brands), None)
    if row is None:
        return None
    models = (gpu_term("model", "|".join(row.models)),) if row.models else ()
    numbers = (gpu_term("device_id", f"^({'|'.join(row.device_ids)})"),) if row.device_ids else ()
    return (*models, *numbers)


def known_capabilities() -> tuple[str, ...]:
    """Every compute capability of the table, the oldest first."""
    return tuple(row.capability for row in read_table("nvidia_gpus", GpuRow))


def with_capability(supported: Iterable[str], *, others: bool) -> Ways:
    """A GPU of one of these compute capabilities; ``others``: or of a chip that the table does not have.

    By the device number, and where a device has none (a Jetson), by the model's name.
    """
    wanted = set(supported)
    rows = read_table("nvidia_gpus", GpuRow)
    numbers = _numbers(rows, wanted, others=others)
    ways: Ways = ((gpu_term("device_id", numbers),),) if numbers else ()
    unnumbered: dict[str, Wanted] = {"vendor": (Operator.IN, "nvidia"), "device_id": (Operator.DOES_NOT_EXIST,)}
    models = [pattern for row in rows if row.capability in wanted for pattern in row.models]
    if models:
        named: Wanted = (Operator.IN_REGEXP, "|".join(models))
        ways = (*ways, (has_instance("accel.device", {**unnumbered, "model": named}),))
    if others:
        ways = (*ways, (has_instance("accel.device", {**unnumbered, "model": (Operator.DOES_NOT_EXIST,)}),))
    return ways


def _numbers(rows: Iterable[GpuRow], wanted: set[str], *, others: bool) -> str:
    """A pattern of the device numbers: of the wanted chips, or of all but the known others."""
    capabilities = {prefix: row.capability for row in rows for one in row.device_ids for prefix in _prefixes(one)}
    prefixes = {f"{number:03x}" for number in range(0x1000)} if others else set()
    for prefix in sorted(capabilities, key=len):  # a single number (GK210 among those of GK110) is behind its range
        if capabilities[prefix] in wanted:
            prefixes.add(prefix)
        elif prefix in prefixes:
            prefixes.remove(prefix)
        elif prefix[:-1] in prefixes:
            prefixes = prefixes - {prefix[:-1]} | {prefix[:-1] + digit for digit in _DIGITS if prefix[-1] != digit}
    return f"^({'|'.join(_grouped(prefixes))})" if prefixes else ""


def _prefixes(text: str) -> list[str]:
    low, _, high = text.partition("-")
    return [f"{number:0{len(low)}x}" for number in range(int(low, 16), int(high, 16) + 1)]


def _grouped(prefixes: Iterable[str]) -> list[str]:
    """Prefixes that differ in their last digit alone, written as one; those with all sixteen, without it."""
    left = set(prefixes)
    while True:
        folders: dict[str, str] = {}
        for prefix in sorted(left):
            folders[prefix[:-1]] = folders.get(prefix[:-1], "") + prefix[-1]
        full = {folder for folder, digits in folders.items() if digits == _DIGITS and folder}
        if not full:
            break
        left = {prefix for prefix in left if prefix[:-1] not in full} | full
    return [
        folder + (digits if len(digits) == 1 else f"[{_ranges(digits)}]") for folder, digits in sorted(folders.items())
    ]


def _ranges(digits: str) -> str:
    """``0123456`` as ``0-6``; a run over 9 and a is written as two."""
    return re.sub(r"(\w)\w+(\w)", r"\1-\2", re.sub(r"(?<=.)(?=.)", _gap, digits)).replace(" ", "")


def _gap(match: re.Match[str]) -> str:
    before, after = match.string[match.start() - 1], match.string[match.start()]
    follows = before != "9" and _DIGITS.index(after) == _DIGITS.index(before) + 1
    return "" if follows else " "
