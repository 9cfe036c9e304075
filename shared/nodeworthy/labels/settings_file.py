"""The settings of labels in a file: the words of nfd-master.conf, and those of nfd-worker.conf that are about labels.

The keys are NFD's (its master and worker configuration references); ``labels`` is ours, for what NFD has as a feature gate
or not at all. Keys of NFD's files that mean nothing here are notices, so that such a file can be taken as it is.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from nodeworthy.errors import Problem, RuleError, UsageError
from nodeworthy.labels.settings import (
    AcceptanceSettings,
    CpuLabels,
    DefaultLabelSettings,
    KernelLabels,
    LabelSettings,
    OutputSettings,
    PciLabels,
    UsbLabels,
)
from nodeworthy.rules.fields import is_null, join, kind_of, read_fields, read_integer, read_items, read_text
from nodeworthy.rules.findings import Findings
from nodeworthy.rules.patterns import compile_pattern
from nodeworthy.rules.scalars import Kind
from nodeworthy.rules.trees import Node, ScalarNode
from nodeworthy.rules.yaml_reader import read_yaml

MAX_BYTES = 1024 * 1024

_OURS = ("labels", "denyLabelNs", "extraLabelNs", "labelWhiteList", "enableTaints", "restrictions", "core", "sources")
_FOREIGN = (
    "noPublish",
    "autoDefaultNs",
    "leaderElection",
    "resyncPeriod",
    "nfdApiParallelism",
    "klog",
    "informerPageSize",
    "instance",
    "featureGates",
)
"""Keys of nfd-master.conf that are about how NFD runs."""

_RESTRICTIONS = ("disableLabels", "disableAnnotations", "disableExtendedResources", "denyNodeFeatureLabels")
_FOREIGN_RESTRICTIONS = ("allowOverwrite", "nodeFeatureNamespaceSelector")
_FOREIGN_CORE = (
    "featureSources",
    "labelSources",
    "sleepInterval",
    "noPublish",
    "noPublishFeatures",
    "noOwnerRefs",
    "ownerRefs",
    "klog",
)
_SOURCES = ("cpu", "kernel", "pci", "usb")
_FOREIGN_SOURCES = ("accel", "custom", "fake", "local", "memory", "network", "programs", "storage", "system")
_FOREIGN_PARTS = ("interval", "kconfigFile")
"""Keys of nfd-worker.conf that are the detector's."""


def read_label_settings(path: Path) -> tuple[LabelSettings, tuple[Problem, ...]]:
    """The settings of a file, and what is good to know of it.

    Raises:
        UsageError: the file cannot be read.
        DocumentError: it has mistakes; every one is told, with its line.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read", why=error.strerror or str(error), todo="name a file") from error
    if len(data) > MAX_BYTES:
        raise UsageError(
            f"{path} cannot be read", why=f"it has more than {MAX_BYTES:,} bytes", todo="name a settings file"
        )
    return parse_label_settings(data, str(path))


def parse_label_settings(data: bytes | str, source: str) -> tuple[LabelSettings, tuple[Problem, ...]]:
    """The settings of a text, as :func:`read_label_settings` has them."""
    findings = Findings(source)
    reader = _Reader(findings)
    settings = reader.read(read_yaml(data, findings))
    findings.refuse(strict=True)
    return settings, findings.notices


class _Reader:
    def __init__(self, findings: Findings) -> None:
        self.findings = findings

    def read(self, root: Node) -> LabelSettings:
        fields = self.fields(root, "", _OURS, _FOREIGN)
        labels = self.fields(fields.get("labels"), "labels", ("autoPrefix", "max"))
        off = self.fields(fields.get("restrictions"), "restrictions", _RESTRICTIONS, _FOREIGN_RESTRICTIONS)
        core = self.fields(fields.get("core"), "core", ("labelWhiteList",), _FOREIGN_CORE)
        usual = LabelSettings()
        most = read_integer(labels.get("max"), "labels.max", self.findings) if "max" in labels else usual.max_labels
        if most < 1:
            self.findings.problem(labels["max"].line, "labels.max", "this must be 1 or more")
        return LabelSettings(
            defaults=replace(
                self.defaults(fields.get("sources")),
                name_pattern=self.pattern(core.get("labelWhiteList"), "core.labelWhiteList"),
            ),
            acceptance=AcceptanceSettings(
                denied_namespaces=self.texts(fields.get("denyLabelNs"), "denyLabelNs"),
                extra_namespaces=frozenset(self.texts(fields.get("extraLabelNs"), "extraLabelNs")),
                name_pattern=self.pattern(fields.get("labelWhiteList"), "labelWhiteList"),
                node_feature_labels=not self.boolean(
                    off.get("denyNodeFeatureLabels"), "restrictions.denyNodeFeatureLabels"
                ),
            ),
            outputs=OutputSettings(
                labels=not self.boolean(off.get("disableLabels"), "restrictions.disableLabels"),
                annotations=not self.boolean(off.get("disableAnnotations"), "restrictions.disableAnnotations"),
                extended_resources=not self.boolean(
                    off.get("disableExtendedResources"), "restrictions.disableExtendedResources"
                ),
                taints=self.boolean(fields.get("enableTaints"), "enableTaints"),
            ),
            auto_prefix=self.boolean(labels.get("autoPrefix"), "labels.autoPrefix", usual=usual.auto_prefix),
            max_labels=max(most, 1),
        )

    def defaults(self, node: Node | None) -> DefaultLabelSettings:
        sources = self.fields(node, "sources", _SOURCES, _FOREIGN_SOURCES)
        usual = DefaultLabelSettings()
        cpu = self.part(sources, "cpu", ("cpuid",))
        cpuid = self.fields(cpu.get("cpuid"), "sources.cpu.cpuid", ("attributeBlacklist", "attributeWhitelist"))
        kernel = self.part(sources, "kernel", ("configOpts",))
        pci, usb = (self.part(sources, name, ("deviceClassWhitelist", "deviceLabelFields")) for name in ("pci", "usb"))

        def texts(fields: dict[str, Node], name: str, path: str, instead: Sequence[str]) -> tuple[str, ...]:
            return self.texts(fields[name], f"sources.{path}.{name}") if name in fields else tuple(instead)

        return DefaultLabelSettings(
            cpu=CpuLabels(
                frozenset(texts(cpuid, "attributeBlacklist", "cpu.cpuid", tuple(usual.cpu.cpuid_denylist))),
                frozenset(texts(cpuid, "attributeWhitelist", "cpu.cpuid", ())),
            ),
            kernel=KernelLabels(texts(kernel, "configOpts", "kernel", usual.kernel.config_options)),
            pci=PciLabels(
                texts(pci, "deviceClassWhitelist", "pci", usual.pci.class_prefixes),
                texts(pci, "deviceLabelFields", "pci", usual.pci.name_fields),
            ),
            usb=UsbLabels(
                texts(usb, "deviceClassWhitelist", "usb", usual.usb.class_prefixes),
                texts(usb, "deviceLabelFields", "usb", usual.usb.name_fields),
            ),
        )

    def part(self, sources: dict[str, Node], name: str, known: tuple[str, ...]) -> dict[str, Node]:
        return self.fields(sources.get(name), f"sources.{name}", known, _FOREIGN_PARTS)

    def fields(
        self, node: Node | None, path: str, known: Sequence[str], foreign: Sequence[str] = ()
    ) -> dict[str, Node]:
        found = read_fields(node, path, (*known, *foreign), self.findings)
        for name in foreign:
            if name in found:
                self.findings.notice(found[name].line, join(path, name), "this is nothing about labels and passed over")
        return {name: value for name, value in found.items() if name in known}

    def texts(self, node: Node | None, path: str) -> tuple[str, ...]:
        """A list of texts, or one text with commas, as NFD's options have them."""
        if isinstance(node, ScalarNode) and not is_null(node):
            return tuple(part.strip() for part in read_text(node, path, self.findings).split(",") if part.strip())
        return tuple(read_text(item, place, self.findings) for item, place in read_items(node, path, self.findings))

    def boolean(self, node: Node | None, path: str, *, usual: bool = False) -> bool:
        if node is None or is_null(node):
            return usual
        if isinstance(node, ScalarNode) and node.scalar.kind is Kind.BOOLEAN:
            return node.scalar.text == "true"
        self.findings.problem(node.line, path, f"this must be true or false, and it is {kind_of(node)}")
        return usual

    def pattern(self, node: Node | None, path: str) -> str:
        text = read_text(node, path, self.findings)
        if text and node is not None:
            try:
                compile_pattern(text)
            except RuleError as error:
                self.findings.problem(node.line, path, str(error))
        return text
