"""The source ``programs``: one set for each program, and one set of all their labels."""

from collections.abc import Iterator, Mapping

from nodeworthy.features import FeatureSet, SetStatus
from nodeworthy_detector.hostfs import Host, HostReadError
from nodeworthy_detector.programs.listing import ProgramFile, list_programs
from nodeworthy_detector.programs.runner import Outcome, ProgramRunner
from nodeworthy_detector.programs.settings import FOLDER
from nodeworthy_detector.sources.drop_ins import merge_files
from nodeworthy_detector.sources.reading import Faults, Reading, unknown

LABEL_SET = "programs.label"
"""Labels of all programs, as ``local.label`` has those of features.d."""

ANYTHING = "*"
"""Among the unobserved names of :data:`LABEL_SET`: some program has not said anything yet, so any label may be missing."""


class ProgramsSource:
    """What programs say, each for itself: one that fails makes nothing unknown but its own facts.

    Without a runner nothing runs, so nothing is known of the programs that are there: a look at a machine from outside of
    the service executes nothing.
    """

    name = "programs"

    def __init__(self, folder: str = FOLDER, runner: ProgramRunner | None = None) -> None:
        self._folder = folder.strip("/")
        self._runner = runner
        self._sets: tuple[str, ...] = (LABEL_SET,)

    @property
    def sets(self) -> tuple[str, ...]:
        """The sets of the programs that were there at the last reading."""
        return self._sets

    def read(self, host: Host) -> Reading:
        """List the folder, tell the runner, and say what is known by now."""
        faults = Faults()
        try:
            files = list_programs(host, self._folder, faults)
        except HostReadError as error:
            return Reading(dict.fromkeys(self._sets, unknown(str(error))), faults.listed())
        if self._runner is not None:
            settings = self._runner.settings
            files = tuple(file for file in files if settings.is_enabled(file.file))
            self._runner.hand_over(files)
        self._sets = (LABEL_SET, *(file.set_name for file in files))
        outcomes = self._runner.outcomes if self._runner is not None else {}
        known = {file.file: facts for file in files if (facts := outcomes.get(file.name)) is not None}
        for file, outcome in known.items():
            for fault in outcome.facts.faults if outcome.facts is not None and not outcome.problem else ():
                faults.add(f"{self._folder}/{file}: {fault}")
        sets: dict[str, FeatureSet | SetStatus] = {file.set_name: self._say(file, known) for file in files}
        sets[LABEL_SET] = _labels(self._folder, files, known, faults)
        return Reading(sets, faults.listed(), error="; ".join(_problems(files, known)))

    def _say(self, file: ProgramFile, known: Mapping[str, Outcome]) -> FeatureSet | SetStatus:
        outcome = known.get(file.file)
        if file.problem:
            return unknown(f"{file.file} does not run: {file.problem}")
        if outcome is None:
            return unknown(f"{file.file} has not run yet" if self._runner is not None else _NOT_RUN_HERE)
        if outcome.problem or outcome.facts is None:
            return unknown(f"{file.file} failed: {outcome.problem}")
        return outcome.facts.content


_NOT_RUN_HERE = "programs are run by the detector's service only"


def _problems(files: tuple[ProgramFile, ...], known: Mapping[str, Outcome]) -> Iterator[str]:
    for file in files:
        outcome = known.get(file.file)
        problem = file.problem or (outcome.problem if outcome is not None else "")
        if problem:
            yield f"{file.file}: {problem}"


def _labels(folder: str, files: tuple[ProgramFile, ...], known: Mapping[str, Outcome], faults: Faults) -> FeatureSet:
    """What the programs that work give; of the others the labels that they gave last are not known now."""
    given: list[tuple[str, Mapping[str, str]]] = []
    doubtful: set[str] = set()
    for file in files:
        outcome = known.get(file.file)
        if outcome is None or outcome.facts is None or file.problem:
            doubtful.add(ANYTHING)
        elif outcome.problem:
            doubtful |= outcome.facts.labels.keys()
        else:
            given.append((file.file, outcome.facts.labels))
    labels = merge_files(folder, given, faults)
    return FeatureSet(attributes=labels, unobserved=frozenset(doubtful) - labels.keys())
