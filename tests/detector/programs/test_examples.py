"""E6: the example detectors, run as the detector runs them, in three languages."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.detector.programs.conftest import Serve, Service
from tests.servers import build

from nodeworthy.features import FeatureSet, SetState, SetStatus
from nodeworthy_detector.programs.settings import FOLDER, OneProgram, ProgramSettings

EXAMPLES = Path(__file__).parents[3] / "examples" / "detectors"
WITH = "processor\t: 0\nflags\t\t: fpu avx2 avx512f avx512bw\n"
WITHOUT = "processor\t: 0\nflags\t\t: fpu avx2\n"
SENTENCES = {"[custom-detector] AVX-512 detected on this node", "Feature: avx512", "Custom env var test passed"}
"""What the fault of each sentence quotes: the name that its line would give."""


@pytest.fixture(scope="session")
def go_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example in Go, built once."""
    go = build.find_go(build.HERE / "registries")
    target = tmp_path_factory.mktemp("go") / "custom-avx512"
    command = [str(go.program), "build", "-o", str(target), "."]
    done = subprocess.run(
        command,
        cwd=EXAMPLES / "go",
        env=build.go_environment(go.environment),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(params=["shell", "python", "go"])
def program(request: pytest.FixtureRequest) -> Path:
    """Each example as a file that can be dropped in."""
    if request.param == "go":
        return Path(request.getfixturevalue("go_program"))
    return next((EXAMPLES / str(request.param)).iterdir())


Start = Callable[..., Service]


@pytest.fixture
def start(serve: Serve, program: Path, tmp_path: Path) -> Start:
    """Starts a service with the example dropped in, on a machine with this cpuinfo and with these variables."""

    def make(cpuinfo: str | None, **environment: str) -> Service:
        path = tmp_path / "cpuinfo"
        if cpuinfo is not None:
            path.write_text(cpuinfo)
        folder = tmp_path / FOLDER
        folder.mkdir(parents=True)
        shutil.copy(program, folder / program.name)
        own = OneProgram(environment={"CPUINFO": str(path), **environment})
        return serve(ProgramSettings(programs={program.name: own}))

    return make


SET = "programs.custom-avx512"


async def test_e6_feature_and_label_appear_and_go_with_the_file(start: Start, program: Path, tmp_path: Path) -> None:
    service = start(WITH)
    assert await service.look_until(SET, "avx512': 'true'") == FeatureSet(attributes={"avx512": "true"})
    reading = service.source.read(service.host)
    assert reading.sets["programs.label"] == FeatureSet(attributes={"cpu-avx512": "true"})
    assert (reading.faults, reading.error) == ((), "")
    (tmp_path / FOLDER / program.name).unlink()
    assert service.source.read(service.host).sets == {"programs.label": FeatureSet(attributes={})}


async def test_e6_a_node_without_avx512_has_neither(start: Start) -> None:
    service = start(WITHOUT)
    assert await service.look_until(SET, "attributes={}") == FeatureSet(attributes={})
    assert service.source.read(service.host).sets["programs.label"] == FeatureSet(attributes={})


async def test_e6_sentences_on_standard_output_are_faults_and_their_neighbours_count(start: Start) -> None:
    service = start(WITH, CUSTOM_TALKATIVE="true", NFD_CUSTOM_TEST="True")
    found = await service.look_until(SET, "avx512': 'true'")
    assert isinstance(found, FeatureSet)
    assert (found.attributes or {})["avx512"] == "true"
    faults = service.source.read(service.host).faults
    assert {fault.split("'")[1] for fault in faults} == SENTENCES


async def test_e6_a_failure_is_told_by_its_last_line_and_the_last_label_is_kept_as_unknown(
    start: Start, tmp_path: Path, program: Path
) -> None:
    service = start(WITH)
    await service.look_until(SET, "avx512': 'true'")
    (tmp_path / "cpuinfo").unlink()
    (tmp_path / FOLDER / program.name).touch()
    found = await service.look_until(SET, "failed")
    assert isinstance(found, SetStatus)
    assert found.state is SetState.UNKNOWN
    assert found.reason.startswith(f"{program.name} failed: exit code 1: discovery failed: ")
    reading = service.source.read(service.host)
    assert reading.sets["programs.label"] == FeatureSet(attributes={}, unobserved=frozenset({"cpu-avx512"}))
    assert reading.error.startswith(f"{program.name}: exit code 1: discovery failed: ")
