import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import DocumentError, UsageError
from nodeworthy.labels import LabelSettings
from nodeworthy.labels.settings import AcceptanceSettings, CpuLabels, OutputSettings
from nodeworthy.labels.settings_file import parse_label_settings, read_label_settings

WHOLE = """
labels: {autoPrefix: false, max: 40}
denyLabelNs: ["*.bad.org", worse.org]
extraLabelNs: good.kubernetes.io, other.kubernetes.io
labelWhiteList: "^cpu-"
enableTaints: true
restrictions: {disableAnnotations: true, disableExtendedResources: true, allowOverwrite: false, denyNodeFeatureLabels: true}
core: {labelWhiteList: "model", sleepInterval: 60s}
sources:
  cpu: {cpuid: {attributeBlacklist: [AVX], attributeWhitelist: [AVX512F]}, interval: 10m}
  kernel: {configOpts: [X86_SGX], kconfigFile: /boot/config}
  pci: {deviceClassWhitelist: ["0200"], deviceLabelFields: [vendor]}
  usb: {deviceClassWhitelist: [ff]}
  custom: []
noPublish: false
"""


def test_every_setting_has_nfds_name_and_what_is_not_about_labels_is_told() -> None:
    settings, notices = parse_label_settings(WHOLE, "labels.yaml")
    assert (settings.auto_prefix, settings.max_labels) == (False, 40)
    assert settings.acceptance == AcceptanceSettings(
        ("*.bad.org", "worse.org"),
        frozenset({"good.kubernetes.io", "other.kubernetes.io"}),
        "^cpu-",
        node_feature_labels=False,
    )
    assert settings.outputs == OutputSettings(annotations=False, extended_resources=False, taints=True)
    made = settings.defaults
    assert made.name_pattern == "model"
    assert made.cpu == CpuLabels(frozenset({"AVX"}), frozenset({"AVX512F"}))
    assert made.kernel.config_options == ("X86_SGX",)
    assert (made.pci.class_prefixes, made.pci.name_fields) == (("0200",), ("vendor",))
    assert (made.usb.class_prefixes, made.usb.name_fields) == (("ff",), LabelSettings().defaults.usb.name_fields)
    told = {notice.path for notice in notices}
    assert told == {
        "core.sleepInterval",
        "noPublish",
        "restrictions.allowOverwrite",
        "sources.cpu.interval",
        "sources.custom",
        "sources.kernel.kconfigFile",
    }


@pytest.mark.parametrize("text", ["", "{}", "labels:\n", "# nothing\n"])
def test_nothing_said_is_as_without_a_file(text: str) -> None:
    assert parse_label_settings(text, "labels.yaml") == (LabelSettings(), ())


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ("denyLabelNS: [a]\nenableTaint: true\n", "enableTaint", "did you mean enableTaints?"),
        ("labels: {autoprefx: false}\n", "labels.autoprefx", "did you mean autoPrefix?"),
        ("sources: {pci: {deviceClassWhiteLst: []}}\n", "sources.pci.deviceClassWhiteLst", "deviceClassWhitelist"),
        ("labels: {autoPrefix: 'no'}\n", "labels.autoPrefix", "true or false"),
        ("labels: {max: 0}\n", "labels.max", "1 or more"),
        ("labelWhiteList: '('\n", "labelWhiteList", ""),
        ("denyLabelNs: {a: b}\n", "denyLabelNs", "a list"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, path: str, said: str) -> None:
    with pytest.raises(DocumentError) as raised:
        parse_label_settings(text, "labels.yaml")
    (problem,) = [one for one in raised.value.problems if one.path == path]
    assert said in f"{problem.message} {problem.hint}"
    assert problem.line > 0


def test_a_file_that_is_not_there_is_an_error_of_the_user(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_label_settings(tmp_path / "none.yaml")
    (tmp_path / "some.yaml").write_text("enableTaints: true\n")
    assert read_label_settings(tmp_path / "some.yaml")[0].outputs.taints


@given(st.text(max_size=60))
def test_any_text_is_settings_or_an_error_in_the_document(text: str) -> None:
    with contextlib.suppress(DocumentError):
        assert isinstance(parse_label_settings(text, "labels.yaml")[0], LabelSettings)
