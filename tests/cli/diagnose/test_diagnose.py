"""``nodeworthy diagnose`` on what a person has: texts, exit codes, kernel lines, core files, an image, a node."""

import json
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.diagnose.programs import Program, build, needs_gcc
from tests.shared.diagnosis.core_files import MappedFile, make_core

from nodeworthy.diagnosis import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Nodeworthy

HOSTS = Path(__file__).parents[2] / "data" / "hosts"
OLD = str(HOSTS / "linux-talos1.6-kvm64" / "expected.json")
NEW = str(HOSTS / "linux-rocky8-zen4_gpu" / "expected.json")
ARM = str(HOSTS / "linux-debian12-cortex_a76" / "expected.json")
LEVEL = "Fatal glibc error: CPU does not support x86-64-v3"


def diagnose(nodeworthy: "Nodeworthy", *arguments: str, code: int) -> Any:
    return json.loads(nodeworthy("diagnose", *arguments, "-o", "json", code=code).stdout)


def causes(found: Any) -> dict[str, str]:
    return {one["code"]: one["confidence"] for one in found["causes"]}


def test_words_exit_code_and_node_are_put_together(nodeworthy: "Nodeworthy") -> None:
    done = nodeworthy("diagnose", LEVEL, "--exit-code", "127", "--node", OLD, code=0)
    for line in (
        "explained",
        "  the loader of glibc, before the program starts: Fatal glibc error: CPU does not support x86-64-v3",
        "      the node: cpu.cpuid X86_64_V3 absent",
        '    feature.node.kubernetes.io/cpu-cpuid.X86_64_V3: "true"',
        "Lasting cure",
        "     next: nodeworthy inspect IMAGE",
    ):
        assert line in done.stdout.splitlines()


def test_not_explained_is_an_answer(nodeworthy: "Nodeworthy") -> None:
    done = nodeworthy("diagnose", "connection refused", code=1)
    assert done.stdout.splitlines()[:2] == ["not explained", "  not explained: nothing of it is a known sign"]
    found = diagnose(nodeworthy, LEVEL, "--on", NEW, code=1)
    assert causes(found)["cpu-below-baseline"] == "ruled-out"


def test_standard_input_and_files_are_read(nodeworthy: "Nodeworthy", tmp_path: Path) -> None:
    assert nodeworthy("diagnose", "-", input=f"a\n{LEVEL}\n", code=0)
    (tmp_path / "dmesg.txt").write_text("traps: a[7] trap invalid opcode ip:1 sp:2 error:0\nCode: 90 <0f> 0b\n")
    found = diagnose(nodeworthy, "--dmesg", "dmesg.txt", "--node", NEW, code=0)
    assert found["summary"].startswith("the instruction is a trap")
    done = nodeworthy("diagnose", "dmesg.txt", code=1)
    assert "dmesg.txt is taken as words" in done.stdout


def test_gos_bytes_are_decoded_for_the_node(nodeworthy: "Nodeworthy") -> None:
    text = "SIGILL: illegal instruction\nPC=0x1f3c m=0 sigcode=1\ninstruction bytes: 0x21 0x0 0xe2 0xb8"
    assert causes(diagnose(nodeworthy, text, "--node", ARM, code=1))["missing-cpu-feature"] == "ruled-out"
    vector = "SIGILL: illegal instruction\ninstruction bytes: 0xc5 0xf5 0xfe 0xd0 0xc3"
    found = diagnose(nodeworthy, vector, "--node", OLD, code=0)
    assert found["causes"][0]["selector"] == {"feature.node.kubernetes.io/cpu-cpuid.AVX2": "true"}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return build(tmp_path_factory.mktemp("program"))


@needs_gcc
def test_a_kernel_line_is_found_in_the_images_own_file(nodeworthy: "Nodeworthy", program: Program) -> None:
    image = ("--image", f"rootfs:{program.root}", "--dmesg", program.line(program.vector))
    found = diagnose(nodeworthy, *image, "--node", OLD, code=0)
    assert "vpaddd" in found["causes"][0]["evidence"][0]
    assert "of /bin/app, which needs AVX2; the node does not have it" in found["causes"][0]["evidence"][0]
    on_new = diagnose(nodeworthy, *image, "--node", NEW, code=1)
    assert on_new["summary"].startswith("not explained by the instruction set")
    trap = diagnose(
        nodeworthy, "--image", str(program.file), "--dmesg", program.line(program.trap), "--node", OLD, code=0
    )
    assert trap["causes"][0]["code"] == "deliberate-abort"
    assert "ud2" in trap["causes"][0]["evidence"][0]


@needs_gcc
def test_a_kernel_line_of_another_file_says_so(nodeworthy: "Nodeworthy", program: Program) -> None:
    line = program.line(program.vector).replace("in app[", "in other.so[")
    arguments = ("--image", f"rootfs:{program.root}", "--dmesg", line)
    found = diagnose(nodeworthy, *arguments, "--node", NEW, code=1)
    assert any("no file of the image is surely the other.so" in notice for notice in found["notices"])
    assert causes(found)["missing-cpu-feature"] == "possible"


@needs_gcc
def test_the_nodes_own_log_leads_to_the_instruction(nodeworthy: "Nodeworthy", program: Program, tmp_path: Path) -> None:
    facts = json.loads(Path(OLD).read_text())
    other = program.line(program.vector).replace("in app[", "in other[")
    for lines, code in (([other, program.line(program.vector), other], 0), ([], 0)):
        events = [{"attributes": {"kind": "invalid-opcode", "line": line}} for line in lines]
        facts["instances"]["kernellog.event"] = {"elements": events}
        (tmp_path / "node.json").write_text(json.dumps(facts))
        arguments = ("--exit-code", "132", "--image", f"rootfs:{program.root}", "--node", "./node.json")
        found = diagnose(nodeworthy, *arguments, code=code)
        assert ("vpaddd" in found["causes"][0]["evidence"][0]) is bool(lines)
        assert ("found" in found["steps"][1]) is bool(lines)


@needs_gcc
@pytest.mark.parametrize("name", ["/bin/app", "/var/lib/containers/overlay/merged/bin/app"])
def test_a_core_file_leads_to_the_instruction(
    nodeworthy: "Nodeworthy", program: Program, tmp_path: Path, name: str
) -> None:
    offset = _offset(program, program.vector)
    code = MappedFile(name, program.base, program.base + program.size, offset - (program.vector - program.base))
    (tmp_path / "core").write_bytes(make_core(program.vector, (code,)))
    arguments = ("--core", "core", "--image", f"rootfs:{program.root}")
    found = diagnose(nodeworthy, *arguments, "--node", OLD, code=0)
    assert found["causes"][0]["code"] == "missing-cpu-feature"
    assert f"at {offset:#x} of /bin/app" in found["causes"][0]["evidence"][0]
    rule = nodeworthy("diagnose", *arguments, "--node", OLD, "-o", "rule", code=0).stdout
    assert "AVX2:\n" in rule
    assert nodeworthy("rules", "validate", "-", input=rule, code=0)


def _offset(program: Program, address: int) -> int:
    """Where in the file an address is, by its program headers."""
    data = program.file.read_bytes()
    (table,) = struct.unpack_from("<Q", data, 32)
    (count,) = struct.unpack_from("<H", data, 56)
    for number in range(count):
        kind, flags, offset, start, _, size = struct.unpack_from("<IIQQQQ", data, table + number * 56)
        if kind == 1 and flags & 1 and start <= address < start + size:
            return int(offset + address - start)
    raise AssertionError(address)


def test_an_image_of_another_architecture_explains(nodeworthy: "Nodeworthy", layout: "Callable[..., str]") -> None:
    image = layout("app", "amd64")
    found = diagnose(nodeworthy, "exec /app: exec format error", "--image", image, "--node", ARM, code=0)
    assert found["causes"][0]["code"] == "wrong-architecture"
    assert found["causes"][0]["selector"] == {"kubernetes.io/arch": "amd64"}
    assert "linux/amd64" in found["steps"][3]["found"]


def test_an_image_that_is_not_there_is_a_mistake_of_the_call(nodeworthy: "Nodeworthy") -> None:
    done = nodeworthy("diagnose", "exec format error", "--image", "oci:none", code=2)
    assert "not explained" in done.stdout
    assert done.stderr.startswith("error: ")


def test_an_image_that_cannot_be_asked_for_leaves_the_answer_open(
    nodeworthy: "Nodeworthy", broken_registry: "Callable[..., str]"
) -> None:
    image = f"{broken_registry(lambda _path: (503, {}, b''))}/a:b"
    done = nodeworthy("diagnose", "exec format error", "--image", image, "--plain-http", "--timeout", "5", code=3)
    assert "not explained" in done.stdout
    # What the words say by themselves is explained all the same.
    assert nodeworthy("diagnose", LEVEL, "--image", image, "--plain-http", "--timeout", "5", code=0)


def test_the_table_holds_every_row(nodeworthy: "Nodeworthy") -> None:
    lines = nodeworthy("diagnose", "--table", code=0).stdout.splitlines()
    assert len(lines) == 1 + sum(len(row.hypotheses) for row in load().signatures)
    assert json.loads(nodeworthy("diagnose", "--table", "-o", "json", code=0).stdout)["signatures"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "nothing is given to diagnose"),
        (("--exit-code", "many"), "--exit-code many is no exit code"),
        (("--exit-code", "99999999999"), "is no exit code"),
        (("--core", "none"), "core file none cannot be read"),
        (("x", "--node", "./none.json"), "none.json cannot be read"),
        (("x", "-o", "rule"), "no rule can be drafted"),
        (("--table", "-o", "rule"), "-o rule says nothing here"),
    ],
)
def test_mistakes_of_the_call_are_told(nodeworthy: "Nodeworthy", arguments: tuple[str, ...], why: str) -> None:
    done = nodeworthy("diagnose", *arguments, code=2)
    assert why in done.stderr


def test_an_empty_core_file_is_told(nodeworthy: "Nodeworthy", tmp_path: Path) -> None:
    (tmp_path / "core").write_bytes(b"")
    assert "it is empty" in nodeworthy("diagnose", "--core", "core", code=2).stderr


def test_escapes_of_a_log_do_not_reach_the_terminal(nodeworthy: "Nodeworthy") -> None:
    assert "\x1b" not in nodeworthy("diagnose", f"\x1b[2J{LEVEL}\x1b]0;x\x07", code=0).stdout
