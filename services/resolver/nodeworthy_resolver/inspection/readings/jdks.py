"""Java: the version of each runtime, by its file ``release``, and what that version needs of a node.

The file is described in JEP 223 and in the JDK's make/ReleaseFile.gmk: ``JAVA_VERSION="17.0.6"``.
"""

import re
from posixpath import dirname

from nodeworthy.requirements import Evidence, Software
from nodeworthy_resolver.inspection.readings.findings import Findings, architecture, reach
from nodeworthy_resolver.inspection.readings.known_software import ask, known_software
from nodeworthy_resolver.inspection.subject import Outcome, Subject

_JVM = re.compile(r"(.+?)(?:/jre)?/lib(?:/[a-z0-9]+)?/(?:server|client|minimal)/libjvm\.so")
_VERSION = re.compile(r'^JAVA_VERSION="?([^"\n]+)"?', re.MULTILINE)
NAME = "jdk"
"""In the table of software."""


def read_jdks(subject: Subject) -> Outcome:
    """Every Java runtime of the image."""
    findings = Findings()
    machine = architecture(subject)
    for path in subject.elves:
        home = _JVM.fullmatch(path)
        if home is None:
            continue
        release = f"{home[1]}/release"
        found = _VERSION.search(
            findings.text(subject, release) or findings.text(subject, f"{dirname(release)}/jre/release") or ""
        )
        version = feature_version(found[1]) if found else ""
        findings.software.append(Software(NAME, version, "jdk", release if found else path))
        runs = (
            reach(subject, path) or reach(subject, f"{home[1]}/bin/java") or reach(subject, f"{home[1]}/jre/bin/java")
        )
        evidence = Evidence(release if found else path, f"JAVA_VERSION {version}" if version else "version not told")
        for known in known_software():
            if known.name == NAME:
                findings.requirements.extend(ask(known, version, machine, runs, (evidence,)))
    return findings.outcome()


def feature_version(text: str) -> str:
    """The version by JEP 223's order: what was 1.8.0_392 is 8.0.392.

    >>> feature_version("1.8.0_392"), feature_version("17.0.6")
    ('8.0.392', '17.0.6')
    """
    old = re.fullmatch(r"1\.([5-8])\.0(?:_([0-9]+))?.*", text)
    return f"{old[1]}.0.{old[2] or 0}" if old else text
