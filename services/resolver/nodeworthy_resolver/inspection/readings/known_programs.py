"""Programs, libraries and Go modules of the table of known software, and what their versions need."""

from collections.abc import Iterator, Mapping
from posixpath import basename

from nodeworthy.requirements import Evidence, Software, Sureness
from nodeworthy_resolver.inspection.readings.findings import Findings, architecture, printable, reach, search
from nodeworthy_resolver.inspection.readings.go_programs import find_go_programs
from nodeworthy_resolver.inspection.readings.known_software import Known, ask, known_software, version_pattern
from nodeworthy_resolver.inspection.readings.packages import find_packages
from nodeworthy_resolver.inspection.readings.scripts import called_programs
from nodeworthy_resolver.inspection.subject import Outcome, Subject

_MAX_PLACES = 4
"""Programs of one name; more are copies of the same."""


def read_known_programs(subject: Subject) -> Outcome:
    """What the known software of the image needs, programs and libraries first, then the modules of Go programs."""
    findings = Findings()
    machine = architecture(subject)
    versions = {package.name: package.version for package in find_packages(subject, findings)}
    arguments = subject.start.arguments
    called = called_programs(subject, findings)
    for known in known_software():
        for evidence, version, sureness in _places(subject, known, versions, findings):
            runs = sureness or (Sureness.PROBABLE if evidence.file in called else None)
            if version:
                findings.software.append(Software(known.name, version, "program", evidence.file))
            findings.requirements.extend(ask(known, version, machine, runs, (evidence,), arguments))
    for path, program in find_go_programs(subject, findings):
        for known in known_software():
            for module in known.modules:
                version = program.build.dependencies.get(module) or (
                    program.build.version if module == program.build.module else ""
                )
                if version:
                    evidence = Evidence(path, f"{module} {version}", program.offset)
                    findings.requirements.extend(ask(known, version, machine, reach(subject, path), (evidence,)))
    return findings.outcome()


def _places(
    subject: Subject, known: Known, versions: Mapping[str, str], findings: Findings
) -> Iterator[tuple[Evidence, str, Sureness | None]]:
    """Where a known program or library is used, its version or nothing, and how sure it is that it runs."""
    told = next((versions[name] for name in known.packages if name in versions), "")
    environment = subject.config.environment
    told = next((environment[name] for name in known.variables if environment.get(name)), "") or told
    found = 0
    for path in dict.fromkeys([*subject.elves, *subject.start.chain]):
        if found == _MAX_PLACES:
            return
        if basename(path) in known.programs:
            found += 1
            read, evidence = _read_version(subject, known, path, findings)
            yield evidence, read or told, reach(subject, path)
        elif path in subject.elves and not set(known.libraries).isdisjoint(subject.elves[path].needed):
            found += 1
            library = next(name for name in known.libraries if name in subject.elves[path].needed)
            yield Evidence(path, f"needs {library}"), told, reach(subject, path)


def _read_version(subject: Subject, known: Known, path: str, findings: Findings) -> tuple[str, Evidence]:
    """The version that stands in a program itself, and where."""
    pattern = version_pattern(known)
    if pattern is not None and path in subject.elves:
        with findings.content(subject, path) as view:
            found = search(pattern, view, limit=1)
        if found:
            return found[0].groups[0].decode("utf-8", "replace"), Evidence(
                path, printable(found[0].text), found[0].offset
            )
    return "", Evidence(path, known.name)
