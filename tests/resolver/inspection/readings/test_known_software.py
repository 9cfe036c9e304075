"""The table of known software, and how it is recognised."""

import pytest
from tests.resolver.inspection.elves import Made, prepared
from tests.resolver.inspection.nodes import node, outcome
from tests.resolver.inspection.readings.sections import with_sections
from tests.resolver.inspection.readings.test_go_programs import FRAME, _varint
from tests.resolver.inspection.readings.test_libcs import V2, V3
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy.features import FeatureSet
from nodeworthy.requirements import Requirement, Sureness
from nodeworthy.rules import Operator, Outcome, Rule, compile_rule, known_sets
from nodeworthy_resolver.inspection.readings.jdks import feature_version, read_jdks
from nodeworthy_resolver.inspection.readings.known_programs import read_known_programs
from nodeworthy_resolver.inspection.readings.known_software import Known, Need, ask, known_software, version_pattern
from nodeworthy_resolver.inspection.readings.nvidia_facts import BrandRow, CudaRow, GpuRow, first_driver
from nodeworthy_resolver.inspection.readings.ranges import in_range, numbers_of
from nodeworthy_resolver.inspection.readings.tables import read_table
from nodeworthy_resolver.inspection.subject import ImageConfig

PROGRAM, ARM_PROGRAM = Made(kind=2).bytes(), Made(kind=2, machine=183).bytes()


def needs(
    files: dict[str, bytes | str], *entrypoint: str, environment: dict[str, str] | None = None
) -> dict[str, Requirement]:
    subject = prepared(MemoryTree(files), ImageConfig(entrypoint, environment=environment or {}))
    return {one.code: one for one in read_known_programs(subject).requirements}


@pytest.mark.parametrize(
    ("version", "architecture", "codes"),
    [
        ("5.0.9", "amd64", {"x86-avx"}),
        ("4.4.18", "amd64", set()),
        ("4.4.18", "arm64", set()),
        ("4.4.19", "arm64", {"arm64-features"}),
        ("7.0.0", "arm64", {"arm64-features"}),
    ],
)
def test_mongodb_is_known_by_the_variable_of_its_image(version: str, architecture: str, codes: set[str]) -> None:
    program = PROGRAM if architecture == "amd64" else ARM_PROGRAM
    found = needs({"/usr/bin/mongod": program}, "mongod", environment={"MONGO_VERSION": version})
    assert set(found) == codes
    assert all(one.sureness is Sureness.CERTAIN for one in found.values())


def test_mongodb_is_known_by_its_package() -> None:
    status = b"Package: mongodb-org-server\nStatus: install ok installed\nVersion: 6.0.4\n"
    found = needs({"/usr/bin/mongod": PROGRAM, "/var/lib/dpkg/status": status}, "/usr/bin/mongod")
    assert outcome(found["x86-avx"], node({}, cpu_cpuid=V2)) is Outcome.FALSE
    assert outcome(found["x86-avx"], node({}, cpu_cpuid=V3)) is Outcome.TRUE


def test_without_a_version_it_is_only_probable() -> None:
    assert needs({"/usr/bin/mongod": PROGRAM}, "/usr/bin/mongod")["x86-avx"].sureness is Sureness.PROBABLE
    assert needs({"/usr/bin/mongod": PROGRAM, "/app": PROGRAM}, "/app")["x86-avx"].sureness is Sureness.ADVISORY


def test_a_program_that_a_script_calls_is_probable() -> None:
    files: dict[str, bytes | str] = {
        "/usr/sbin/rpc.nfsd": PROGRAM,
        "/usr/sbin/xtables-legacy-multi": PROGRAM,
        "/usr/sbin/iptables": "-> xtables-legacy-multi",
        "/bin/sh": PROGRAM,
        "/app": PROGRAM,
        "/start": b"#!/bin/sh\n# wg-quick up\niptables -t nat -L\nif true; then rpc.nfsd 8; fi\nexec /app\n",
        "/usr/bin/wg-quick": PROGRAM,
    }
    found = {code: one.sureness for code, one in needs(files, "/start").items()}
    assert found["iptables-legacy"] is found["module-nfsd"] is Sureness.PROBABLE
    assert found["wireguard"] is Sureness.ADVISORY


def test_an_argument_can_make_a_need_needless() -> None:
    files: dict[str, bytes | str] = {"/usr/bin/chromium": PROGRAM}
    assert "user-namespaces" in needs(files, "chromium")
    assert "user-namespaces" not in needs(files, "chromium", "--no-sandbox")


def test_legacy_iptables_is_content_where_the_kernel_can_load_its_table() -> None:
    found = needs({"/usr/sbin/xtables-legacy-multi": PROGRAM}, "/usr/sbin/xtables-legacy-multi")["iptables-legacy"]
    there = FeatureSet(flags=frozenset({"ip_tables", "iptable_nat"}))
    loaded = FeatureSet(flags=frozenset({"ip_tables"}))
    assert outcome(found, node({}, kernel_module=loaded, kernel_availablemodule=there)) is Outcome.TRUE
    assert (
        outcome(found, node({}, kernel_module=FeatureSet(flags=frozenset()), kernel_availablemodule=there))
        is Outcome.FALSE
    )


def test_a_program_that_an_entrypoint_script_is_given_is_probable() -> None:
    files: dict[str, bytes | str] = {"/usr/bin/mongod": PROGRAM, "/bin/sh": PROGRAM, "/start": b"#!/bin/sh\nsource x\n"}
    config = ImageConfig(("/start",), ("mongod",), {"MONGO_VERSION": "5.0.9"})
    found = read_known_programs(prepared(MemoryTree(files), config)).requirements
    assert [one.sureness for one in found] == [Sureness.PROBABLE]


@pytest.mark.parametrize(("version", "asks"), [("219", True), ("252", False)])
def test_systemd_tells_its_version_itself(version: str, *, asks: bool) -> None:
    program = Made(kind=2, tail=f"\0systemd {version}\0".encode()).bytes()
    found = needs({"/usr/lib/systemd/systemd": program}, "/usr/lib/systemd/systemd")
    assert ("systemd-cgroup-v2" in found) is asks
    if asks:
        assert outcome(found["systemd-cgroup-v2"], node({"kernel.cgroup": {"version": "2"}})) is Outcome.FALSE
        assert outcome(found["systemd-cgroup-v2"], node({"kernel.cgroup": {"version": "hybrid"}})) is Outcome.TRUE


def test_a_library_tells_what_a_program_is_for() -> None:
    loader = "/lib64/ld-linux-x86-64.so.2"
    files: dict[str, bytes | str] = {
        loader: Made(soname="ld-linux-x86-64.so.2").bytes(),
        "/usr/bin/mount.it": Made(interpreter=loader, needed=("libfuse3.so.3",), kind=2).bytes(),
    }
    found = needs(files, "/usr/bin/mount.it")["device-fuse"]
    assert found.sureness is Sureness.PROBABLE
    assert outcome(found, node({}, system_device=FeatureSet(flags=frozenset({"fuse"})))) is Outcome.TRUE
    assert outcome(found, node({}, system_device=FeatureSet(flags=frozenset({"kvm"})))) is Outcome.FALSE


def test_elasticsearch_is_a_script_and_known_all_the_same() -> None:
    files: dict[str, bytes | str] = {"/usr/share/es/bin/elasticsearch": b"#!/bin/sh\n", "/bin/sh": PROGRAM}
    found = needs(files, "/usr/share/es/bin/elasticsearch")["max-map-count"]
    assert outcome(found, node({"kernel.sysctl": {"vm.max_map_count": "65530"}})) is Outcome.FALSE
    assert outcome(found, node({"kernel.sysctl": {"vm.max_map_count": "262144"}})) is Outcome.TRUE


@pytest.mark.parametrize(("version", "asks"), [("v1.9.0", True), ("v1.10.1", False)])
def test_modules_of_go_programs_are_known(version: str, *, asks: bool) -> None:
    listing = f"path\tx\nmod\tx\tv1.0.0\ndep\tgithub.com/tetratelabs/wazero\t{version}\th1:\nbuild\tGOARCH=arm64\n"
    text = FRAME + listing.encode() + FRAME
    info = b"\xff Go buildinf:\x08\x02" + bytes(16) + b"\x06go1.22" + bytes(_varint(len(text))) + text
    program = with_sections(Made(kind=2, machine=183), {".go.buildinfo": info})
    found = needs({"/app": program}, "/app")
    assert ("id-registers" in found) is asks
    if asks:
        old = FeatureSet(flags=frozenset({"fp", "asimd"}))
        assert outcome(found["id-registers"], node({}, cpu_hwcap=old, cpu_cpuid=old)) is Outcome.FALSE


@pytest.mark.parametrize(
    ("version", "codes"),
    [("17.0.6", {"java-cgroup-v2", "java-sve"}), ("17.0.7", {"java-sve"}), ("21.0.7", set()), ("1.8.0_392", set())],
)
def test_java_is_known_by_its_release(version: str, codes: set[str]) -> None:
    files: dict[str, bytes | str] = {
        "/opt/java/lib/server/libjvm.so": ARM_PROGRAM,
        "/opt/java/bin/java": ARM_PROGRAM,
        "/opt/java/release": f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n'.encode(),
    }
    found = read_jdks(prepared(MemoryTree(files), ImageConfig(("/opt/java/bin/java",))))
    assert {one.code for one in found.requirements} == codes
    assert [one.version for one in found.software] == [feature_version(version)]


def test_java_and_cgroups_have_a_newest_kernel() -> None:
    known = next(one for one in known_software() if one.name == "jdk")
    requirement = next(
        one for one in ask(known, "17.0.6", "amd64", Sureness.CERTAIN, ()) if one.code == "java-cgroup-v2"
    )
    assert (
        outcome(requirement, node({"kernel.version": {"full": "6.12.1"}, "kernel.cgroup": {"version": "2"}}))
        is Outcome.FALSE
    )
    assert (
        outcome(requirement, node({"kernel.version": {"full": "6.1.0"}, "kernel.cgroup": {"version": "2"}}))
        is Outcome.TRUE
    )


@pytest.mark.parametrize("known", known_software(), ids=lambda known: known.name)
def test_every_row_can_be_recognised_and_asked(known: Known) -> None:
    assert known.needs
    assert known.name == "jdk" or any((known.wheels, known.modules, known.programs, known.libraries))
    assert version_pattern(known) is None or version_pattern(known) is version_pattern(known)


@pytest.mark.parametrize(
    "need", [need for known in known_software() for need in known.needs], ids=lambda need: f"{need.code}-{need.source}"
)
def test_every_need_is_a_good_rule_with_a_source(need: Need) -> None:
    assert need.source.startswith("https://")
    assert need.match_features or need.match_any
    assert in_range("1", need.versions) is not None
    compile_rule(Rule(need.code, need.match_features, need.match_any))
    for term in (*need.match_features, *(term for way in need.match_any for term in way)):
        assert term.expressions
        assert known_sets.is_known_set(term.feature)
        assert all(known_sets.is_known_element(term.feature, name) for name in term.expressions)
        assert all(
            one.values or one.operator in {Operator.EXISTS, Operator.DOES_NOT_EXIST, Operator.IS_FALSE}
            for one in term.expressions.values()
        )


def test_the_tables_of_nvidia_are_in_order_and_have_sources() -> None:
    cuda = read_table("cuda", CudaRow)
    order = [(numbers_of(row.cuda), numbers_of(row.driver)) for row in cuda]
    assert order == sorted(order)
    assert all(_not_above(row.runtime, row.driver) for row in cuda if not _not_above(row.cuda, "11.0"))
    assert first_driver((12, 8)) == "570.26"
    rows = (*cuda, *read_table("nvidia_gpus", GpuRow), *read_table("nvidia_brands", BrandRow))
    assert all(row.source.startswith("https://") for row in rows)


def _not_above(one: str, other: str) -> bool:
    return (numbers_of(one) or ()) <= (numbers_of(other) or ())
