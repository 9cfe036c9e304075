"""``NVIDIA_REQUIRE_*``: what NVIDIA's container runtime tests before it starts an image.

Grammar (libnvidia-container, src/dsl.c; NVIDIA container toolkit, "Constraints"): blanks mean OR, commas AND, several
variables AND; keys ``cuda``, ``driver``, ``arch`` and ``brand``; operators ``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=``.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import NamedTuple

from nodeworthy.requirements import Effect, Evidence, Information, Layer, Requirement, Sureness, Unexplored
from nodeworthy.requirements.conditions import has_value
from nodeworthy.rules import Operator, Term
from nodeworthy_resolver.inspection.readings.findings import Findings
from nodeworthy_resolver.inspection.readings.levels import Ways
from nodeworthy_resolver.inspection.readings.nvidia_facts import (
    WITHOUT_DRIVER,
    brand_terms,
    cuda_rows,
    driver_term,
    first_driver,
    has_driver,
    has_gpu,
    known_capabilities,
    runtime_driver,
    with_capability,
)
from nodeworthy_resolver.inspection.readings.ranges import in_range, numbers_of
from nodeworthy_resolver.inspection.subject import Outcome, Subject

_PREFIX, _DISABLED, _DEVICES, _CUDA_VERSION = (
    "NVIDIA_REQUIRE_",
    "NVIDIA_DISABLE_REQUIRE",
    "NVIDIA_VISIBLE_DEVICES",
    "CUDA_VERSION",
)
_TRUE = frozenset({"1", "t", "true", "on", "yes"})
_CONDITION = re.compile(r"([a-z]+)\s*(=|!=|<=|>=|<|>)\s*([A-Za-z0-9._-]+)")
_COMPARISONS = {"<": Operator.LT, "<=": Operator.LE, ">": Operator.GT, ">=": Operator.GE}
_MAX_WAYS = 256
"""Alternatives after several variables were multiplied out; NVIDIA's own have some 30."""


class Condition(NamedTuple):
    """One comparison, as ``cuda>=12.8``."""

    key: str
    sign: str
    value: str

    def __str__(self) -> str:
        return f"{self.key}{self.sign}{self.value}"


Clauses = tuple[tuple[Condition, ...], ...]
"""Alternatives of conditions that hold together."""


def read_nvidia_requirements(subject: Subject) -> Outcome:
    """What the variables of the image ask of driver and GPU."""
    findings = Findings()
    environment = subject.config.environment
    written = requirement_variables(environment)
    devices = environment.get(_DEVICES)
    if devices is not None and devices not in {"", "void", "none"}:
        findings.requirements += [_gpu(devices), _loaded_driver(devices), _toolkit(devices)]
    if not written:
        return findings.outcome()
    seen = ", ".join(f"{name}={text}" for name, text in written.items())
    evidence = (Evidence(seen=seen[:1000], rule="NVIDIA container toolkit, Constraints"),)
    if environment.get(_DISABLED, "").lower() in _TRUE:
        text = f"{_DISABLED} is set: nobody tests {', '.join(written)}"
        findings.information.append(Information("nvidia-require-disabled", text, evidence))
        return findings.outcome()
    try:
        parsed = {name: parse_requirement(text) for name, text in written.items()}
        ways = _multiplied(ways_of(clauses) for clauses in parsed.values())
    except ValueError as error:
        findings.unexplored.append(Unexplored(", ".join(written), f"cannot be judged: {error}"))
        return findings.outcome()
    findings.requirements.append(_requirement(written, ways, _sureness(environment), evidence))
    findings.information.extend(_stricter(parsed, evidence))
    return findings.outcome()


def requirement_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that count; images from before them have ``CUDA_VERSION`` alone, which then stands for one.

    >>> requirement_variables({"CUDA_VERSION": "9.0.176"})
    {'CUDA_VERSION': 'cuda>=9.0'}
    """
    found = {name: text for name, text in sorted(environment.items()) if name.startswith(_PREFIX) and text.strip()}
    numbers = numbers_of(environment.get(_CUDA_VERSION, ""))
    if f"{_PREFIX}CUDA" not in environment and numbers:
        major, minor = (*numbers, 0)[:2]
        found[_CUDA_VERSION] = f"cuda>={major}.{minor}"
    return found


def parse_requirement(text: str) -> Clauses:
    """The alternatives of one variable.

    >>> [[str(one) for one in clause] for clause in parse_requirement("cuda>=12.8 brand=tesla,driver>=535,driver<536")]
    [['cuda>=12.8'], ['brand=tesla', 'driver>=535', 'driver<536']]

    Raises:
        ValueError: something in it is no comparison.
    """
    return tuple(tuple(map(_condition, clause.split(","))) for clause in text.split())


def _condition(text: str) -> Condition:
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:80]!r} is no comparison")
    return Condition(found[1], found[2], found[3])


def ways_of(clauses: Clauses) -> Ways:
    """The alternatives as conditions on a node.

    Raises:
        ValueError: a key or a value is not known.
    """
    return tuple(way for clause in clauses for way in _multiplied(map(_ways_of_condition, clause)))


def _ways_of_condition(condition: Condition) -> Ways:
    if condition.key == "cuda":
        return _cuda(condition.sign, condition.value)
    if condition.key == "driver":
        return _driver(condition.sign, condition.value)
    if condition.key == "arch":
        return with_capability(_capabilities(condition), others=condition.sign in {">", ">=", "!="})
    terms = brand_terms(condition.value) if condition.key == "brand" and condition.sign == "=" else None
    if terms is None:
        raise ValueError(f"{str(condition)!r} asks for something that no fact tells")
    return tuple((term,) for term in terms)


def _cuda(sign: str, value: str) -> Ways:
    """Drivers by the CUDA that they have themselves: from the first with it to before the first with a later one."""
    wanted = numbers_of(value) or ()
    first = first_driver(wanted)
    later = next((row.driver for row in cuda_rows() if (numbers_of(row.cuda) or ()) > wanted), None)
    if first is None or (later is None and sign in {">", "<=", "!="}):
        raise ValueError(f"CUDA {value} is newer than the table of drivers")
    below, from_there = driver_term(Operator.LT, first), driver_term(Operator.GE, first)
    before, behind = driver_term(Operator.LT, later or first), driver_term(Operator.GE, later or first)
    ways: Mapping[str, Ways] = {
        "<": ((below,),),
        "<=": ((before,),),
        ">": ((behind,),),
        ">=": ((from_there,),),
        "=": ((from_there, before) if later else (from_there,),),
        "!=": ((below,), (behind,)),
    }
    return ways[sign]


def _driver(sign: str, value: str) -> Ways:
    if sign in _COMPARISONS:
        return ((driver_term(_COMPARISONS[sign], value),),)
    if sign == "=":
        return ((driver_term(Operator.GE, value), driver_term(Operator.LE, value)),)
    return ((driver_term(Operator.LT, value),), (driver_term(Operator.GT, value),))


def _capabilities(condition: Condition) -> list[str]:
    sign = "==" if condition.sign == "=" else condition.sign
    return [one for one in known_capabilities() if in_range(one, f"{sign}{condition.value}")]


def _multiplied(parts: Iterable[Ways]) -> Ways:
    """One of each, together.

    Raises:
        ValueError: there are too many.
    """
    ways: list[tuple[Term, ...]] = [()]
    for part in parts:
        ways = [(*one, *two) for one, two in product(ways, part)]
        if len(ways) > _MAX_WAYS:
            raise ValueError(f"it has more than {_MAX_WAYS} alternatives")
    return tuple(ways)


def _sureness(environment: Mapping[str, str]) -> Sureness:
    """The runtime tests it wherever it gives a GPU: always where the image itself asks for one."""
    is_old = f"{_PREFIX}CUDA" not in environment
    devices = environment.get(_DEVICES, "all" if is_old else "")
    return Sureness.PROBABLE if devices in {"", "void", "none"} else Sureness.CERTAIN


def _requirement(
    written: Mapping[str, str], ways: Ways, sureness: Sureness, evidence: tuple[Evidence, ...]
) -> Requirement:
    first = next(iter(written.values())).split()[0]
    others = "" if len(" ".join(written.values()).split()) == 1 else ", or one of the alternatives beside it"
    return Requirement(
        code="nvidia-require",
        text=f"an NVIDIA driver with {first.replace(',', ' and ')}{others}, wherever NVIDIA's driver is loaded",
        layer=Layer.ACCELERATOR,
        effect=Effect.DOES_NOT_START,
        sureness=sureness,
        match_any=(*ways, *WITHOUT_DRIVER),
        evidence=evidence,
        remedy="a newer driver on the node, an image with an older CUDA, or NVIDIA_DISABLE_REQUIRE=1 at your own risk",
    )


def _gpu(devices: str) -> Requirement:
    return Requirement(
        code="nvidia-gpu",
        text="an NVIDIA GPU",
        layer=Layer.ACCELERATOR,
        effect=Effect.CRASHES,
        sureness=Sureness.PROBABLE,
        match_any=has_gpu(),
        evidence=(Evidence(seen=f"{_DEVICES}={devices}", rule="NVIDIA container toolkit, GPU enumeration"),),
        remedy="a node with an NVIDIA GPU, and a limit of nvidia.com/gpu on the pod",
    )


def _loaded_driver(devices: str) -> Requirement:
    return Requirement(
        code="nvidia-driver",
        text="NVIDIA's driver, loaded",
        layer=Layer.ACCELERATOR,
        effect=Effect.DOES_NOT_START,
        sureness=Sureness.PROBABLE,
        match_any=has_driver(),
        evidence=(Evidence(seen=f"{_DEVICES}={devices}", rule="NVIDIA container toolkit, GPU enumeration"),),
        remedy="install NVIDIA's driver on the node",
    )


def _toolkit(devices: str) -> Requirement:
    """Advice: operators and CDI give a GPU to a container without a program that is in its place."""
    docker = has_value("system.runtime", "docker", Operator.DOES_NOT_EXIST)
    toolkit = has_value("system.runtime", "nvidia-container-runtime", Operator.EXISTS)
    return Requirement(
        code="nvidia-toolkit",
        text="NVIDIA's container toolkit, where Docker runs containers",
        layer=Layer.ACCELERATOR,
        effect=Effect.DOES_NOT_START,
        sureness=Sureness.ADVISORY,
        match_any=((toolkit,), (docker,)),
        evidence=(Evidence(seen=f"{_DEVICES}={devices}", rule="NVIDIA container toolkit, installation guide"),),
        remedy="install nvidia-container-toolkit on the node",
    )


def _stricter(parsed: Mapping[str, Clauses], evidence: tuple[Evidence, ...]) -> Iterator[Information]:
    """A bare ``cuda>=12.5`` refuses drivers on which CUDA 12 runs: a derived image has replaced the base's expression."""
    for clauses in parsed.values():
        if len(clauses) != 1 or len(clauses[0]) != 1 or clauses[0][0].key != "cuda":
            continue
        wanted = clauses[0][0].value
        oldest = runtime_driver(numbers_of(wanted) or (0,))
        first = first_driver(numbers_of(wanted) or ())
        if oldest and first and (numbers_of(oldest) or ()) < (numbers_of(first) or ()):
            text = (
                f"cuda>={wanted} asks for driver {first}, stricter than needed: "
                f"CUDA {wanted.partition('.')[0]} runs from driver {oldest} on"
            )
            yield Information("nvidia-require-strict", text, evidence)
