"""Windows images: which builds of the host run them.

Rule (Microsoft, "Windows container version compatibility", process isolation): hosts before build 20348 (Server 2022) run
images of their own build only; later ones every build from 20348 up to their own.
"""

import re

from nodeworthy.requirements import Effect, Evidence, Layer, Requirement, Sureness
from nodeworthy.requirements.conditions import has_value, has_version
from nodeworthy.rules import Operator, Term
from nodeworthy_resolver.inspection.readings.findings import Findings
from nodeworthy_resolver.inspection.subject import Outcome, Subject

_BUILD = re.compile(r"([0-9]{1,3}\.[0-9]{1,3})\.([0-9]{1,5})(?:\.[0-9]+)*")
_STABLE_BUILD = 20348


def read_windows(subject: Subject) -> Outcome:
    """The builds on which a Windows image runs, by ``os.version`` of its config."""
    findings = Findings()
    platform = subject.config.platform
    found = _BUILD.fullmatch(platform.os_version) if platform and platform.os == "windows" else None
    if platform is None or found is None:
        return findings.outcome()
    version, build = found[1], int(found[2])
    # As the kubelet tells it of a node without a detector, or as facts of the machine itself would.
    places = (("kubernetes.node", "kernel_version"), ("kernel.version", "full"))
    conditions = tuple(_conditions(*place, version, build) for place in places)
    findings.requirements.append(
        Requirement(
            code="windows-build",
            text=f"a Windows host of build {build}{'' if build < _STABLE_BUILD else ' or later'}",
            layer=Layer.KERNEL_AND_LIBRARIES,
            effect=Effect.DOES_NOT_START,
            sureness=Sureness.CERTAIN,
            match_any=conditions,
            evidence=(
                Evidence(seen=f"os.version {platform.os_version}", rule="Windows container version compatibility"),
            ),
            remedy="the image's tag for the host's build, for the pod's sandbox image too; or Hyper-V isolation",
        )
    )
    return findings.outcome()


def _conditions(feature: str, name: str, version: str, build: int) -> tuple[Term, ...]:
    at_least = has_version(feature, name, f"{version}.{build}")
    if build >= _STABLE_BUILD:
        return (at_least,)
    return (at_least, has_value(feature, name, Operator.LT, f"{version}.{build + 1}", kind="version"))
