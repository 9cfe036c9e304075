"""Python packages: environments, baselines of their own, the table, and the C library that they were built for."""

import pytest
from tests.resolver.inspection.elves import Made, prepared
from tests.resolver.inspection.nodes import node, outcome
from tests.resolver.inspection.readings.test_libcs import LOADER, SSE2, V2, V3
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy.features import FeatureSet
from nodeworthy.requirements import Sureness
from nodeworthy.rules import Outcome
from nodeworthy_resolver.inspection.readings.findings import Findings
from nodeworthy_resolver.inspection.readings.python_environments import find_site_folders
from nodeworthy_resolver.inspection.readings.wheels import normalized, read_wheels
from nodeworthy_resolver.inspection.subject import ImageConfig, Subject
from nodeworthy_resolver.inspection.subject import Outcome as Found

SITE = "/usr/local/lib/python3.12/site-packages"
VENV = "/opt/venv/lib/python3.12/site-packages"
MANYLINUX = b"Wheel-Version: 1.0\nTag: cp312-cp312-manylinux_2_27_x86_64\nTag: cp312-cp312-manylinux_2_28_x86_64\n"
BASELINE = b"NumPy was built with baseline optimizations: \n(%s) but your machine doesn't support:\n(%%s).\0"


def subject_of(
    files: dict[str, bytes | str], *entrypoint: str, environment: dict[str, str] | None = None, glibc: str = "2.36"
) -> Subject:
    banner = f"GNU C Library (Debian GLIBC) stable release version {glibc}.\0".encode()
    whole: dict[str, bytes | str] = {
        LOADER: Made(soname="ld-linux-x86-64.so.2").bytes(),
        "/lib64/libc.so.6": Made(soname="libc.so.6", tail=banner).bytes(),
        "/usr/local/bin/python3.12": Made(interpreter=LOADER, needed=("libc.so.6",), kind=2).bytes(),
        "/usr/local/bin/python3": "-> python3.12",
        "/bin/true": Made(kind=2).bytes(),
        **files,
    }
    return prepared(MemoryTree(whole), ImageConfig(entrypoint or ("python3", "app.py"), environment=environment or {}))


def numpy(
    baseline: bytes, version: str = "2.4.0", site: str = SITE, wheel: bytes = MANYLINUX
) -> dict[str, bytes | str]:
    core = Made(tail=BASELINE % baseline if baseline else b"").bytes()
    return {
        f"{site}/numpy/_core/_multiarray_umath.cpython-312-x86_64-linux-gnu.so": core,
        f"{site}/numpy-{version}.dist-info/WHEEL": wheel,
        f"{site}/numpy-{version}.dist-info/METADATA": b"Name: numpy\n",
    }


def read(files: dict[str, bytes | str], *entrypoint: str, environment: dict[str, str] | None = None) -> Found:
    return read_wheels(subject_of(files, *entrypoint, environment=environment))


def test_numpy_s_own_baseline_is_taken() -> None:
    (requirement,) = read(numpy(b"X86_V2")).requirements
    assert requirement.sureness is Sureness.CERTAIN
    assert outcome(requirement, node({}, cpu_cpuid=V2)) is Outcome.TRUE
    assert outcome(requirement, node({}, cpu_cpuid=SSE2)) is Outcome.FALSE


def test_a_lower_baseline_of_its_own_beats_the_table() -> None:
    (requirement,) = read(numpy(b"SSE SSE2 SSE3")).requirements
    assert requirement.text == "a CPU with SSE3, for which numpy was compiled"
    with_sse3 = FeatureSet(flags=frozenset({"SSE2", "SSE3"}))
    assert outcome(requirement, node({}, cpu_cpuid=with_sse3)) is Outcome.TRUE
    assert read(numpy(b"SSE SSE2")).requirements == ()


@pytest.mark.parametrize(("version", "asks"), [("2.4.0", True), ("2.3.5", False), ("10.0", True)])
def test_without_the_text_the_table_knows_numpy_by_its_version(version: str, *, asks: bool) -> None:
    assert [one.sureness for one in read(numpy(b"", version)).requirements] == ([Sureness.CERTAIN] if asks else [])


def test_a_numpy_that_was_built_on_the_spot_is_not_in_the_table() -> None:
    local = b"Tag: cp312-cp312-linux_x86_64\n"
    assert read(numpy(b"", wheel=local)).requirements == ()


def test_a_numpy_s_own_baseline_counts_whoever_built_it() -> None:
    local = b"Tag: cp312-cp312-linux_x86_64\n"
    assert [one.sureness for one in read(numpy(b"X86_V2", wheel=local)).requirements] == [Sureness.CERTAIN]


def test_packages_of_another_version_of_python_are_not_imported() -> None:
    other = SITE.replace("3.12", "3.11")
    assert [one.sureness for one in read(numpy(b"X86_V2", site=other)).requirements] == [Sureness.ADVISORY]
    debian = "/usr/local/lib/python3/dist-packages"
    assert [one.sureness for one in read(numpy(b"X86_V2", site=debian)).requirements] == [Sureness.CERTAIN]


def test_of_a_python_without_a_version_in_its_name_two_folders_are_only_probable() -> None:
    plain = Made(interpreter=LOADER, needed=("libc.so.6",), kind=2).bytes()
    both = numpy(b"X86_V2") | {SITE.replace("3.12", "3.11") + "/x.py": b""}
    found = read({"/usr/local/bin/python": plain, **both}, "/usr/local/bin/python").requirements
    assert [one.sureness for one in found] == [Sureness.PROBABLE]
    assert [
        one.sureness for one in read({"/usr/local/bin/python": plain, **numpy(b"X86_V2")}, "python").requirements
    ] == [Sureness.CERTAIN]


def test_words_that_nobody_knows_leave_a_question() -> None:
    found = read(numpy(b"X86_V2 AVX99"))
    assert [one.decides for one in found.unexplored] == [True]


def test_a_package_that_the_python_that_starts_does_not_see_is_advice() -> None:
    assert [one.sureness for one in read(numpy(b"X86_V2", site=VENV)).requirements] == [Sureness.ADVISORY]
    assert [one.sureness for one in read(numpy(b"X86_V2"), "/bin/true").requirements] == [Sureness.ADVISORY]


@pytest.mark.parametrize(
    ("entrypoint", "environment"),
    [
        (("/opt/venv/bin/python", "app.py"), {}),
        (("python", "app.py"), {"PATH": "/opt/venv/bin:/usr/local/bin:/usr/bin"}),
        (("/opt/venv/bin/tool",), {}),
    ],
)
def test_a_virtual_environment_counts_where_its_python_is_called(
    entrypoint: tuple[str, ...], environment: dict[str, str]
) -> None:
    files: dict[str, bytes | str] = {
        "/opt/venv/pyvenv.cfg": b"home = /usr/local/bin\ninclude-system-site-packages = false\n",
        "/opt/venv/bin/python": "-> /usr/local/bin/python3",
        "/opt/venv/bin/tool": b"#!/opt/venv/bin/python\nimport numpy\n",
        **numpy(b"X86_V2", site=VENV),
        **numpy(b"X86_V3", site=SITE),
    }
    found = {one.sureness: one.text for one in read(files, *entrypoint, environment=environment).requirements}
    assert found == {
        Sureness.CERTAIN: "a CPU with level x86-64-v2, for which numpy was compiled",
        Sureness.ADVISORY: "a CPU with level x86-64-v3, for which numpy was compiled",
    }


def test_pythonpath_counts() -> None:
    subject = subject_of(numpy(b"X86_V2", site="/deps"), environment={"PYTHONPATH": "/deps"})
    assert "/deps" in {one.path for one in find_site_folders(subject, Findings()) if one.sureness is Sureness.CERTAIN}


FLAGS = b'_POLARS_FEATURE_FLAGS = "+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+cmpxchg16b%s"\n'
MORE = b",+avx,+avx2,+fma,+bmi1,+bmi2,+lzcnt,+pclmulqdq,+movbe"


def polars(name: str, flags: bytes) -> dict[str, bytes | str]:
    return {
        f"{SITE}/polars/_cpu_check.py": b"# a file\n" + FLAGS % flags,
        f"{SITE}/{name}-1.33.1.dist-info/WHEEL": b"Tag: cp39-abi3-manylinux_2_17_x86_64\n",
    }


def test_polars_and_its_build_for_old_processors_differ_by_their_own_flags() -> None:
    requirement, beyond = read(polars("polars", MORE)).requirements
    assert requirement.sureness is Sureness.CERTAIN
    assert outcome(requirement, node({}, cpu_cpuid=V3)) is Outcome.TRUE
    assert outcome(requirement, node({}, cpu_cpuid=V2)) is Outcome.FALSE
    # No level of x86-64 has it, and every processor with AVX2: its absence is told and refuses nothing.
    assert (beyond.sureness, "CLMUL" in beyond.text) == (Sureness.ADVISORY, True)
    (older,) = read(polars("polars_lts_cpu", b"")).requirements
    assert outcome(older, node({}, cpu_cpuid=V2)) is Outcome.TRUE
    assert outcome(older, node({}, cpu_cpuid=SSE2)) is Outcome.FALSE


def runtime(name: str, flags: bytes) -> dict[str, bytes | str]:
    return {
        f"{SITE}/_{name}/build_feature_flags.py": (FLAGS % flags).replace(b"_POLARS", b"BUILD"),
        f"{SITE}/{name}-2.1.0.dist-info/WHEEL": b"Tag: cp311-abi3-manylinux_2_17_x86_64\n",
    }


def test_of_several_runtimes_of_polars_the_one_that_it_takes_counts() -> None:
    fast = runtime("polars_runtime_32", MORE)
    assert "AVX2" in read(fast).requirements[0].text
    (requirement,) = read({**fast, **runtime("polars_runtime_compat", b"")}).requirements
    assert "AVX2" not in requirement.text


def test_tensorflow_needs_avx_by_its_version() -> None:
    def tensorflow(version: str) -> dict[str, bytes | str]:
        return {f"{SITE}/tensorflow-{version}.dist-info/WHEEL": b"Tag: cp36-cp36m-manylinux1_x86_64\n"}

    (requirement,) = read(tensorflow("1.6.0")).requirements
    assert outcome(requirement, node({}, cpu_cpuid=V2)) is Outcome.FALSE
    assert outcome(requirement, node({}, cpu_cpuid=V3)) is Outcome.TRUE
    assert read(tensorflow("1.5.0")).requirements == ()


@pytest.mark.parametrize(("glibc", "codes"), [("2.26", ["wheel-needs-newer-glibc"]), ("2.27", []), ("2.36", [])])
def test_a_wheel_for_a_newer_glibc_than_the_image_s_is_a_probable_defect(glibc: str, codes: list[str]) -> None:
    found = read_wheels(subject_of(numpy(b"SSE SSE2"), glibc=glibc))
    assert [one.code for one in found.defects] == codes
    assert all(one.sureness is Sureness.PROBABLE for one in found.defects)


def test_names_are_compared_in_their_normal_form() -> None:
    assert normalized("Typing__Extensions.x") == "typing-extensions-x"
