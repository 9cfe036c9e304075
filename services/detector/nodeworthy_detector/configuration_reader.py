"""Reads a configuration file; it runs in a short-lived process of its own, since YAML would cost the detector 10 MB.

``python -m nodeworthy_detector.configuration_reader NAME`` takes the text from standard input and writes an
:class:`~nodeworthy_detector.configuration.Outcome` as JSON. A file that is wrong is an outcome too; its problems name NAME.
"""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from nodeworthy.errors import DocumentError, Problem
from nodeworthy.rules.fields import join, read_fields, read_items, read_text
from nodeworthy.rules.findings import Findings
from nodeworthy.rules.scalars import Kind
from nodeworthy.rules.trees import MappingNode, Node, ScalarNode, SequenceNode
from nodeworthy.rules.yaml_reader import read_yaml
from nodeworthy_detector.configuration import MAX_INTERVAL, MIN_INTERVAL, Configuration, Outcome, disabled_by
from nodeworthy_detector.programs.settings import OneProgram, ProgramSettings
from nodeworthy_detector.sources import SOURCES

_PROGRAMS = "programs"
SOURCE_NAMES = tuple(sorted({source.name for source in SOURCES} | {"custom", "local", _PROGRAMS}))

_OF_LABELS = {
    "core": ("labelSources", "labelWhiteList", "sources"),
    "cpu": ("cpuid",),
    "kernel": ("configOpts",),
    "pci": ("deviceClassWhitelist", "deviceLabelFields"),
    "usb": ("deviceClassWhitelist", "deviceLabelFields"),
}
"""Keys of nfd-worker.conf about labels, which are made by the labeler."""

_ELSEWHERE = {
    "klog": "the log's format is the option --log-format",
    "noOwnerRefs": "facts are kept on the bus, in no object that could have an owner",
    "noPublish": "`nodeworthy features` looks at a machine and publishes nothing",
    "noPublishFeatures": "every fact is published; what nobody needs is switched off with core.featureSources",
    "ownerRefs": "facts are kept on the bus, in no object that could have an owner",
    "sleepInterval": "each source has its own sources.<name>.interval, and changes are noticed at once",
}
"""Keys of nfd-worker.conf's ``core`` that have no meaning here, and why."""

_OF_TESTS = "fake"
"""NFD's source of made-up features: its own tests use it."""

_HOOKS = "hooksEnabled"
"""Of NFD's source ``local`` until 0.17: whether it runs the programs of source.d."""

_OWN_KEYS: Mapping[str, tuple[str, ...]] = {
    "custom": ("folder", "rules"),
    "kernel": ("kconfigFile",),
    "local": ("folder",),
    "system": ("libraries", "libraryFolders"),
}

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)")
_TIMES = ("interval", "timeout")


@dataclass
class _Draft:
    """What has been read so far."""

    disabled: frozenset[str] = frozenset()
    intervals: dict[str, float] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    programs: ProgramSettings = field(default_factory=ProgramSettings)
    libraries: dict[str, tuple[str, ...]] = field(default_factory=dict)
    library_folders: tuple[str, ...] = ()


def read_configuration(text: bytes, source: str) -> Outcome:
    """The configuration of a file's bytes, or everything that is wrong with it."""
    findings = Findings(source)
    draft = _Draft()
    try:
        root = read_yaml(text, findings)
        fields = read_fields(root, "", ("core", "sources"), findings)
        _read_core(fields.get("core"), draft, findings)
        _read_sources(fields.get("sources"), text, draft, findings)
        findings.refuse(strict=True)
    except DocumentError as error:
        return Outcome(problems=error.problems)
    made = Configuration(
        disabled=draft.disabled,
        intervals=draft.intervals,
        programs=draft.programs,
        libraries=draft.libraries,
        library_folders=draft.library_folders,
        **draft.texts,
    )
    return Outcome(made, notices=findings.notices)


def _read_core(node: Node | None, draft: _Draft, findings: Findings) -> None:
    known = ("featureSources", *_OF_LABELS["core"], *_ELSEWHERE)
    fields = read_fields(node, "core", known, findings)
    for name, why in _ELSEWHERE.items():
        if name in fields:
            findings.notice(fields[name].line, f"core.{name}", "this has no effect here", why)
    _notice_labels("core", "core", fields, findings)
    if "featureSources" in fields:
        draft.disabled = _read_chosen(fields["featureSources"], findings)


def _read_chosen(node: Node, findings: Findings) -> frozenset[str]:
    path = "core.featureSources"
    chosen = []
    for item, where in read_items(node, path, findings):
        entry = read_text(item, where, findings)
        if entry.removeprefix("-") == _OF_TESTS:
            findings.notice(item.line, where, "there is no source of made-up features here", "remove it")
        elif entry.removeprefix("-") not in (*SOURCE_NAMES, "all"):
            findings.problem(item.line, where, f"there is no source {entry[:80]!r}", _near(entry, SOURCE_NAMES))
        chosen.append(entry)
    disabled = disabled_by(chosen, SOURCE_NAMES)
    if disabled == frozenset(SOURCE_NAMES):
        findings.problem(node.line, path, "no source is left", "write [all, -usb] to leave one out")
    return disabled


def _read_sources(node: Node | None, text: bytes, draft: _Draft, findings: Findings) -> None:
    for name, value in read_fields(node, "sources", (*SOURCE_NAMES, _OF_TESTS), findings).items():
        path = f"sources.{name}"
        if name == _OF_TESTS:
            findings.notice(value.line, path, "there is no source of made-up features here", "remove it")
        elif name == _PROGRAMS:
            draft.programs = _read_programs(value, path, findings)
        elif name == "custom" and isinstance(value, SequenceNode):  # as in nfd-worker.conf
            draft.texts["custom_rules"] = _cut(text, ("sources", "custom"))
        else:
            _read_source(name, value, text, draft, findings)


def _read_source(name: str, node: Node, text: bytes, draft: _Draft, findings: Findings) -> None:
    path = f"sources.{name}"
    known = ("interval", *_OWN_KEYS.get(name, ()), *_OF_LABELS.get(name, ()))
    fields = read_fields(node, path, (*known, _HOOKS) if name == "local" else known, findings)
    if _HOOKS in fields:
        hint = "programs are put into sources.d, see docs/custom-detectors.md"
        findings.notice(fields[_HOOKS].line, f"{path}.{_HOOKS}", "this has no effect here", hint)
    _notice_labels(name, path, fields, findings)
    if "interval" in fields:
        draft.intervals[name] = _read_interval(fields["interval"], f"{path}.interval", findings)
    for key, target in (("kconfigFile", "kernel_config"), ("folder", "features_d" if name == "local" else "custom_d")):
        if key in fields:
            draft.texts[target] = read_text(fields[key], f"{path}.{key}", findings).strip("/")
    if "rules" in fields and list(read_items(fields["rules"], f"{path}.rules", findings)):
        draft.texts["custom_rules"] = _cut(text, ("sources", "custom", "rules"))
    if "libraries" in fields:
        draft.libraries = _read_libraries(fields["libraries"], f"{path}.libraries", findings)
    draft.library_folders += _read_texts(fields.get("libraryFolders"), f"{path}.libraryFolders", findings)


def _notice_labels(group: str, path: str, fields: Mapping[str, Node], findings: Findings) -> None:
    for name in _OF_LABELS.get(group, ()):
        if name in fields:
            hint = "labels are the labeler's; set it there"
            findings.notice(fields[name].line, f"{path}.{name}", "this is about labels and has no effect here", hint)


def _read_interval(node: Node, path: str, findings: Findings) -> float:
    seconds = _read_seconds(node)
    if seconds is None or not MIN_INTERVAL <= seconds <= MAX_INTERVAL:
        shown = node.scalar.text[:40] if isinstance(node, ScalarNode) else "this"
        findings.problem(node.line, path, f"{shown!r} is no time from 1 s to 24 h", "write it as 30s, 10m or 1h30m")
        return MIN_INTERVAL
    return seconds


def _read_seconds(node: Node) -> float | None:
    """Seconds as a number, or as Go's time package writes a duration; ``None`` if it is neither."""
    if not isinstance(node, ScalarNode):
        return None
    if node.scalar.number is not None:
        return float(node.scalar.number)
    return parse_duration(node.scalar.text)


def parse_duration(text: str) -> float | None:
    """The seconds of ``1h30m``, ``1.5s`` (Go, time.ParseDuration); ``None`` if it is no such text."""
    parts = _PART.findall(text)
    if not parts or "".join(map("".join, parts)) != text:
        return None
    return float(sum(float(number) * _UNITS[unit] for number, unit in parts))


def _read_libraries(node: Node, path: str, findings: Findings) -> dict[str, tuple[str, ...]]:
    if not isinstance(node, MappingNode):
        read_fields(node, path, (), findings)
        return {}
    return {name: _read_texts(items, join(path, name), findings) for name, items in node.entries.items()}


def _read_texts(node: Node | None, path: str, findings: Findings) -> tuple[str, ...]:
    return tuple(read_text(item, where, findings) for item, where in read_items(node, path, findings))


def _read_programs(node: Node, path: str, findings: Findings) -> ProgramSettings:
    fields = read_fields(node, path, ProgramSettings.__struct_fields__, findings)
    for name, settings in _entries(fields.get("programs")):
        read_fields(settings, f"{path}.programs.{name}", OneProgram.__struct_fields__, findings)
    value = _plain(node)
    try:
        return msgspec.convert(value or {}, ProgramSettings)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$")
        place = place.rstrip("`")
        if "unknown field" not in message:  # told above, with what may have been meant
            findings.problem(_line(node, place), path + place, message)
    return ProgramSettings()


def _entries(node: Node | None) -> Iterable[tuple[str, Node]]:
    return node.entries.items() if isinstance(node, MappingNode) else ()


def _plain(node: Node, key: str = "") -> Any:  # noqa: ANN401 # JSON
    """The node as JSON; times become seconds."""
    if isinstance(node, MappingNode):
        return {name: _plain(value, name) for name, value in node.entries.items()}
    if isinstance(node, SequenceNode):
        return [_plain(item) for item in node.items]
    if key in _TIMES and (seconds := _read_seconds(node)) is not None:
        return seconds
    if node.scalar.number is not None:
        return node.scalar.number
    constants = {Kind.NULL: None, Kind.BOOLEAN: node.scalar.text == "true"}
    return constants.get(node.scalar.kind, node.scalar.text)


def _line(node: Node, place: str) -> int:
    """The line of a place as msgspec names it, ``.programs[...].interval``; else of what stands around it."""
    for name in re.findall(r"\.([^.\[]+)", place):
        if not isinstance(node, MappingNode) or name not in node.entries:
            break
        node = node.entries[name]
    return node.line


def _cut(text: bytes, keys: Sequence[str]) -> str:
    """The part of the document behind these keys, as YAML of its own, whose scalars are written as they were."""
    import yaml

    node: Any = yaml.compose(text.decode("utf-8-sig"), Loader=yaml.CSafeLoader)  # read once already, within its limits
    for wanted in keys:
        node = next(value for key, value in reversed(node.value) if key.value.lower() == wanted.lower())
    cut: str = yaml.serialize(node, Dumper=yaml.CSafeDumper, allow_unicode=True)
    return cut


def _near(name: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name.removeprefix("-"), known, 1)
    return f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"


def main() -> None:
    """Read standard input, write the outcome."""
    source = sys.argv[1]
    try:
        outcome = read_configuration(sys.stdin.buffer.read(), source)
    except ModuleNotFoundError as error:
        hint = "install nodeworthy[rules]" if error.name == "yaml" else ""
        outcome = Outcome(problems=(Problem(source, 0, "", f"it cannot be read: {error}", hint),))
    sys.stdout.buffer.write(msgspec.json.encode(outcome))


if __name__ == "__main__":
    main()
