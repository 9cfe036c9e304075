"""Every program of a Debian 12 root against the plainest x86-64 node: how many are said not to run, or not known to.

All packages of the priorities required, important and standard with what they depend on, some 270, from the archive that apt
is set up for (100 MB). It is held against the truth: Debian builds them all for the first level of x86-64.
"""

import lzma
import re
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping

from timing import ROOT

from nodeworthy import platforms
from nodeworthy.verdicts import Answer
from nodeworthy_resolver.inspection.closure import find_start
from nodeworthy_resolver.inspection.inspecting import inspect_tree, make_subject
from nodeworthy_resolver.inspection.limits import InspectingLimits
from nodeworthy_resolver.inspection.subject import ImageConfig

sys.path.insert(0, str(ROOT))
from tests.resolver.inspection.debian_roots import answer_of, node_of_level, root_of  # found by the line above
from tests.resolver.inspection.real_files import archive
from tests.resolver.inspection.trees import MemoryTree

PRIORITIES = frozenset({"required", "important", "standard"})
NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")


def run() -> None:
    """The answers, counted, with the reasons of those that are not "compatible"."""
    packages = wanted(read_index())
    root = root_of({package["Filename"]: package["SHA256"] for package in packages})
    print(f"{len(packages)} packages, {len(root)} files and links")
    begun, answers, reasons = time.process_time(), Counter[Answer](), Counter[str]()
    facts = node_of_level(1)
    for program, files in programs(root):
        config = ImageConfig(entrypoint=(program,), platform=platforms.parse("linux/amd64"))
        answer, why = answer_of(inspect_tree(MemoryTree(files), config), facts)
        answers[answer] += 1
        if why:
            reasons[f"{answer.value}: {why.replace(program, 'it')}"] += 1
    print(f"{sum(answers.values())} programs in {time.process_time() - begun:.0f} s of processor time")
    for answer, count in answers.items():
        print(f"  {answer.value:14} {count}")
    for reason, count in reasons.most_common():
        print(f"    {count:3} {reason}")


def read_index() -> dict[str, Mapping[str, str]]:
    """The packages of Debian 12 for amd64 by their names: "Package: ...", "Depends: ..." and so on, a paragraph each."""
    with urllib.request.urlopen(f"{archive()}dists/bookworm/main/binary-amd64/Packages.xz", timeout=60) as answer:
        text = lzma.decompress(answer.read()).decode()
    found: dict[str, Mapping[str, str]] = {}
    for paragraph in text.split("\n\n"):
        lines = (line.partition(": ") for line in paragraph.splitlines() if line[:1] != " ")
        fields = {name: value for name, _, value in lines}
        if "Package" in fields:
            found[fields["Package"]] = fields
    return found


def wanted(index: Mapping[str, Mapping[str, str]]) -> list[Mapping[str, str]]:
    """The packages of a usual installation and, of each that one of them depends on, the first alternative."""
    providers = {
        found[0]: name
        for name, package in index.items()
        for one in package.get("Provides", "").split(",")
        if (found := NAME.match(one.strip()))
    }
    left = [name for name, package in index.items() if package.get("Priority") in PRIORITIES]
    chosen: dict[str, Mapping[str, str]] = {}
    while left:
        name = left.pop()
        package = index.get(name) or index.get(providers.get(name, ""))
        if package is None or package["Package"] in chosen:
            continue
        chosen[package["Package"]] = package
        needs = f"{package.get('Depends', '')},{package.get('Pre-Depends', '')}"
        left.extend(found[0] for one in needs.split(",") if (found := NAME.match(one.strip())))
    return list(chosen.values())


def programs(root: Mapping[str, bytes | str]) -> Iterator[tuple[str, dict[str, bytes | str]]]:
    """Every program with what it loads and the root's links and configuration, so that each takes only its own time."""
    tree = MemoryTree(root)
    subject, _ = make_subject(tree, ImageConfig(), InspectingLimits(seconds=600))
    bare = {path: data for path, data in root.items() if isinstance(data, str) or path.startswith("/etc/")}
    for path, elf in subject.elves.items():
        if elf.is_program and not elf.soname and elf.architecture == "amd64":
            start = find_start(tree, subject.elves, ImageConfig(entrypoint=(path,)))
            yield path, bare | {one: root[one] for one in (path, *(loaded.path for loaded in start.loaded))}
