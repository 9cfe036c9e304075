"""Real systems, followed from their files to their labels and to the verdict on one specification."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nodeworthy import platforms
from nodeworthy.features import SetState, Snapshot
from nodeworthy.images import Artifact, ArtifactSearch, ImageKnowledge, PlatformImage, SearchState
from nodeworthy.labels import DefaultLabelSettings, compile_defaults, make_default_labels
from nodeworthy.verdicts import Answer, NodeFacts, Verdict, judge
from nodeworthy_detector.discovery import discover
from nodeworthy_detector.hostfs import Host
from nodeworthy_detector.sources import KernelSource, SystemSource

if TYPE_CHECKING:
    from tests.detector.distributions.conftest import System

Install = Callable[["System"], Host]

PREFIX = "feature.node.kubernetes.io/"
DIGEST = "sha256:" + "b" * 64

SPECIFICATION = """
version: v1alpha1
compatibilities:
- rules:
  - name: kernel
    matchFeatures:
    - feature: kernel.version
      matchExpressions: {{full: {{op: Ge, value: ["{kernel}"], type: version}}}}
  - name: modules
    matchFeatures:
    - feature: kernel.module
      matchExpressions: {{overlay: {{op: Exists}}, {module}: {{op: Exists}}}}
  - name: system
    matchFeatures:
    - feature: system.osrelease
      matchExpressions: {{ID: {{op: In, value: ["{system}"]}}}}
"""
"""Asks for a kernel, two modules (one in the spelling of its file) and an operating system."""

RHCOS = """
version: v1alpha1
compatibilities:
- rules:
  - name: system
    matchFeatures:
    - feature: system.osrelease
      matchExpressions:
        ID: {{op: In, value: [rhcos]}}
        {name}: {{op: Ge, value: ["9"], type: version}}
"""


def look(host: Host) -> Snapshot:
    return discover(host, (KernelSource(), SystemSource()))


def ask(snapshot: Snapshot, specification: str) -> Verdict:
    artifact = Artifact("sha256:" + "a" * 64, DIGEST, "2026-01-01T00:00:00Z", specification.encode())
    child = PlatformImage(
        DIGEST, configured=platforms.parse("linux/amd64"), search=ArtifactSearch(SearchState.FOUND, artifact)
    )
    knowledge = ImageKnowledge("example.com/app:1", DIGEST, "manifest", (child,), None)
    return judge(knowledge, NodeFacts.of(snapshot, "n1"))


def ask_for(system: "System", kernel: str, module: str = "vfio-pci", name: str | None = None) -> str:
    return SPECIFICATION.format(kernel=kernel, module=module, system=name or words(system)["ID"])


def words(system: "System") -> dict[str, str]:
    """The lines of a system's os-release, read in the plainest way."""
    lines = (line.partition("=") for line in system.os_release.split("\n"))
    return {name: value.strip('"') for name, _, value in lines}


def numbers(text: str) -> list[str]:
    """The numbers that a version begins with."""
    return text.removeprefix("v").partition("-")[0].partition("+")[0].split(".")


def test_files_become_facts(install: Install, system: "System") -> None:
    snapshot = look(install(system))
    told = words(system)
    found = snapshot.contents["system.osrelease"].attributes or {}
    major, *rest = numbers(told["VERSION_ID"])
    assert found["VERSION_ID.major"] == major
    assert found.get("VERSION_ID.minor") == (rest[0] if rest else None)
    assert {name: found[name] for name in told} == told
    version = snapshot.contents["kernel.version"].attributes or {}
    assert [version["major"], version["minor"], version["revision"]] == numbers(system.release)[:3]
    assert version["raw"] == system.release
    assert (snapshot.contents["kernel.config"].attributes or {})["NO_HZ"] == "y"
    assert {"overlay", "vfio_pci"} <= (snapshot.contents["kernel.module"].flags or set())
    assert "nfsd" in (snapshot.contents["kernel.availablemodule"].flags or set())
    assert not snapshot.sources["kernel"].faults
    assert not snapshot.sources["system"].faults


def test_facts_become_labels(install: Install, system: "System") -> None:
    made = make_default_labels(look(install(system)), compile_defaults(DefaultLabelSettings()))
    labels = {label.key.removeprefix(PREFIX): label.value for label in made.labels}
    told = words(system)
    assert not made.rejected
    expected = {
        "kernel-config.NO_HZ": "true",
        "kernel-version.full": system.release.replace("+", "_"),
        **dict(zip(("kernel-version.major", "kernel-version.minor"), numbers(system.release), strict=False)),
        "system-os_release.ID": told["ID"],
        "system-os_release.VERSION_ID": told["VERSION_ID"],
        "system-os_release.VERSION_ID.major": numbers(told["VERSION_ID"])[0],
        "system-architecture.name": "amd64",
    }
    assert {name: labels.get(name) for name in expected} == expected


def test_a_specification_that_suits_is_met(install: Install, system: "System") -> None:
    snapshot = look(install(system))
    assert ask(snapshot, ask_for(system, "4.18")).verdict is Answer.COMPATIBLE
    # The same release is enough, whatever the distribution writes behind the numbers.
    exact = ".".join(numbers(system.release)[:3])
    assert ask(snapshot, ask_for(system, exact)).verdict is Answer.COMPATIBLE


@pytest.mark.parametrize(
    "wish", [{"kernel": "7.0"}, {"kernel": "4.18", "module": "nfsd"}, {"kernel": "4.18", "name": "another"}]
)
def test_a_specification_that_does_not_suit_is_not(install: Install, system: "System", wish: dict[str, str]) -> None:
    assert ask(look(install(system)), ask_for(system, **wish)).verdict is Answer.INCOMPATIBLE


def test_without_the_list_of_built_in_modules_the_answer_is_unknown(
    install: Install, system: "System", tmp_path: Path
) -> None:
    host = install(system)
    (tmp_path / system.modules / system.release / "modules.builtin").unlink()
    snapshot = look(host)
    assert snapshot.lookup("kernel.module").state is SetState.UNKNOWN
    assert ask(snapshot, ask_for(system, "4.18")).verdict is Answer.UNKNOWN
    assert ask(snapshot, ask_for(system, "7.0")).verdict is Answer.INCOMPATIBLE


def test_the_version_of_rhcos_is_openshifts_and_not_that_of_rhel(
    install: Install, systems: dict[str, "System"]
) -> None:
    snapshot = look(install(systems["rhcos-4.13"]))
    trap = ask(snapshot, RHCOS.format(name="VERSION_ID"))
    assert trap.verdict is Answer.INCOMPATIBLE
    assert [finding.observed for finding in trap.findings if "VERSION_ID" in finding.requirement] == ["4.13"]
    assert ask(snapshot, RHCOS.format(name="RHEL_VERSION")).verdict is Answer.COMPATIBLE
