"""Causes held against what is known: each kind with a twin that has another answer."""

import msgspec
import pytest
from tests.shared.diagnosis.cases import confidence, explain, inspection, needs, node, stopped_at

from nodeworthy.diagnosis import Confidence
from nodeworthy.requirements import Defect, Effect, Layer, Library, Requirement, Sureness, Unexplored
from nodeworthy.requirements.conditions import has_version
from nodeworthy.verdicts import Answer, Finding, State, Verdict

OLD = node(cpu_cpuid=("X86_64_V1", "X86_64_V2"), cpu_model={"name": "Intel Celeron J4125"})
NEW = node(cpu_cpuid=("X86_64_V1", "X86_64_V2", "X86_64_V3", "AVX", "AVX2", "FMA3", "BMI1"))
ARM = node("arm64", cpu_cpuid=("ATOMICS", "CPUID"), cpu_hwcap=("atomics", "cpuid"))
NAS = node("arm64", cpu_cpuid=("CRC32",), cpu_hwcap=("crc32",), kernel_version={"full": "4.4.180"})


def defect(code: str) -> Defect:
    return Defect(code, f"the fault {code}", Effect.DOES_NOT_START, Sureness.CERTAIN)


def test_an_image_of_another_architecture_explains_and_gives_a_selector() -> None:
    found = explain("exec /app: exec format error", on=ARM, platform="linux/amd64")
    assert found.cause
    assert found.cause.code == "wrong-architecture"
    assert found.cause.selector == {"kubernetes.io/arch": "amd64"}
    assert "the image is for linux/amd64, the node is arm64" in found.cause.evidence


def test_an_image_of_the_nodes_architecture_is_not_the_wrong_one() -> None:
    found = explain("exec /app: exec format error", on=ARM, platform="linux/arm64")
    assert confidence(found, "wrong-architecture") == "ruled-out"
    assert not found.explained


def test_files_of_another_architecture_than_claimed_are_the_images_fault() -> None:
    files = inspection(machine="amd64", defects=(defect("content-platform-mismatch"),))
    found = explain("exec /app: exec format error", on=ARM, platform="linux/arm64", found=files)
    assert found.cause
    assert found.cause.code == "content-of-another-platform"
    assert confidence(found, "wrong-architecture") == "ruled-out"
    assert not found.cause.selector


def test_words_of_the_loader_explain_by_themselves_and_a_node_can_contradict_them() -> None:
    text = "Fatal glibc error: CPU does not support x86-64-v3"
    assert explain(text, 127).explained
    on_old = explain(text, 127, on=OLD)
    assert on_old.cause
    assert on_old.cause.evidence == ("the node: cpu.cpuid X86_64_V3 absent",)
    assert on_old.cause.selector == {"feature.node.kubernetes.io/cpu-cpuid.X86_64_V3": "true"}
    assert not explain(text, 127, on=NEW).explained


def test_a_masking_hypervisor_is_named_beside_the_level() -> None:
    guest = node(cpu_cpuid=("X86_64_V1",), cpu_model={"name": "QEMU Virtual CPU version 2.5+"})
    found = explain("Fatal glibc error: CPU does not support x86-64-v2", on=guest)
    assert confidence(found, "hypervisor-masks-features") == "likely"
    assert (
        confidence(explain("Fatal glibc error: CPU does not support x86-64-v3", on=OLD), "hypervisor-masks-features")
        == "ruled-out"
    )


def test_the_instruction_that_stopped_the_program_decides() -> None:
    vector = stopped_at("c5f5fed0", features=("AVX2",))
    found = explain("Illegal instruction", on=OLD, instruction=vector)
    assert found.cause
    assert found.cause.code == "missing-cpu-feature"
    assert found.cause.selector == {"feature.node.kubernetes.io/cpu-cpuid.AVX2": "true"}
    assert [list(term.expressions or ()) for term in found.cause.wants] == [["AVX2"]]
    has_it = explain("Illegal instruction", 132, on=NEW, instruction=vector)
    assert not has_it.explained
    assert has_it.summary.startswith("not explained by the instruction set")


def test_a_trap_is_an_abort_whatever_the_node_has() -> None:
    for on in (OLD, NEW, None):
        found = explain("", 132, on=on, instruction=stopped_at("0f0b"), found=inspection(needs("AVX2")))
        assert [one.code for one in found.causes if one.confidence is Confidence.LIKELY] == ["deliberate-abort"]
        assert found.cause
        assert found.cause.code == "deliberate-abort"
        assert confidence(found, "missing-cpu-feature") == "ruled-out"


def test_a_read_of_an_id_register_needs_a_kernel_that_emulates_it() -> None:
    text = "SIGILL: illegal instruction\ninstruction bytes: 0x0 0x6 0x38 0xd5"
    stop = stopped_at("000638d5", "arm64")
    on_nas = explain(text, on=NAS, instruction=stop)
    assert on_nas.cause
    assert on_nas.cause.code == "id-register-not-emulated"
    assert confidence(explain(text, on=ARM, instruction=stop), "id-register-not-emulated") == "ruled-out"


def test_tiles_on_a_node_that_has_them_were_not_asked_for() -> None:
    tile = stopped_at("c4e27b4bc0", features=("AMXTILE",))
    with_amx = node(cpu_cpuid=("AMXTILE",))
    assert confidence(explain("", 132, on=with_amx, instruction=tile), "amx-not-permitted") == "likely"
    found = explain("", 132, on=NEW, instruction=tile)
    assert confidence(found, "amx-not-permitted") == "ruled-out"
    assert confidence(found, "missing-cpu-feature") == "likely"


def test_what_the_files_ask_for_explains_an_exit_code() -> None:
    found = explain("", 132, on=OLD, found=inspection(needs("AVX2")))
    assert found.cause
    assert found.cause.code == "missing-cpu-feature"
    assert found.cause.selector == {"feature.node.kubernetes.io/cpu-cpuid.AVX2": "true"}


def test_a_node_with_everything_is_not_explained_by_the_instruction_set() -> None:
    found = explain("", 132, on=NEW, found=inspection(needs("AVX2")))
    assert not found.explained
    assert "not explained by the instruction set" in found.summary


def test_what_was_not_looked_at_rules_nothing_out() -> None:
    files = inspection(needs("AVX2"), unexplored=(Unexplored("/app", "too large"),))
    assert confidence(explain("", 132, on=NEW, found=files), "missing-cpu-feature") == "possible"


def test_facts_that_nobody_could_read_rule_nothing_out() -> None:
    blind = node(unknown=("cpu.cpuid",))
    found = explain("", 132, on=blind, found=inspection(needs("AVX2")))
    assert confidence(found, "missing-cpu-feature") == "possible"


def test_an_exit_code_alone_is_never_explained() -> None:
    for code in (126, 127, 132, 133, 134, 135, 137, 139):
        assert not explain("", code).explained, code


def test_a_check_that_is_wrong_itself_is_told_from_a_missing_feature() -> None:
    text = "Missing required CPU features: avx2, fma, bmi1"
    assert confidence(explain(text, on=OLD), "cpu-lacks-features") == "likely"
    found = explain(text, on=NEW)
    assert confidence(found, "cpu-lacks-features") == "ruled-out"
    assert confidence(found, "wrong-self-check") == "likely"


def test_numpy_names_a_level() -> None:
    text = "NumPy was built with baseline optimizations: (X86_V3) but your machine doesn't support: (X86_V3)."
    assert confidence(explain(text, on=OLD), "cpu-lacks-features") == "likely"
    assert confidence(explain(text, on=NEW), "cpu-lacks-features") == "ruled-out"


@pytest.mark.parametrize(("size", "answer"), [("16384", "likely"), ("65536", "likely"), ("4096", "ruled-out")])
def test_page_sizes_decide_on_jemalloc(size: str, answer: str) -> None:
    found = explain("<jemalloc>: Unsupported system page size", 134, on=node("arm64", memory_page={"size": size}))
    assert confidence(found, "page-size") == answer


def test_a_broken_file_is_broken_on_small_pages_too() -> None:
    text = "libx.so: ELF load command address/offset not page-aligned"
    broken = inspection(defects=(defect("segments-misaligned"),))
    found = explain(text, on=node(memory_page={"size": "4096"}), found=broken)
    assert found.cause
    assert found.cause.code == "broken-by-rewriting"
    assert confidence(found, "page-size") == "ruled-out"


def test_the_last_clause_is_not_the_fault() -> None:
    found = explain("nvidia-container-cli: requirement error: unsatisfied condition: brand = tesla")
    assert found.cause
    assert found.cause.code == "last-clause-shown"
    assert confidence(explain("unsatisfied condition: cuda>=12.8, please update"), "driver-too-old") == "likely"


def test_a_library_of_another_machine_is_not_the_program() -> None:
    found = explain("Error loading shared library libz.so: Exec format error", on=ARM, platform="linux/arm64")
    assert found.cause
    assert found.cause.code == "library-of-another-machine"
    assert "libz.so" in found.cause.text


def test_a_library_is_missing_only_where_the_image_has_none_of_the_name() -> None:
    text = (
        "error while loading shared libraries: libssl.so.3: cannot open shared object file: No such file or directory"
    )
    none, other, fitting = (
        msgspec.structs.replace(inspection(), libraries=libraries)
        for libraries in (
            (),
            (Library("/usr/lib/libssl.so.3", "arm64"),),
            (Library("/usr/lib/libssl.so.3.0.2", "amd64", "libssl.so.3"),),
        )
    )
    codes = ("library-missing", "library-of-another-machine")
    assert [confidence(explain(text, found=none), code) for code in codes] == ["likely", "ruled-out"]
    assert [confidence(explain(text, found=other), code) for code in codes] == ["likely", "likely"]
    assert [confidence(explain(text, found=fitting), code) for code in codes] == ["ruled-out", "ruled-out"]
    assert confidence(explain(text), "library-missing") == "likely"


def test_threads_that_may_not_be_made_ask_for_the_runtimes_age() -> None:
    text = "pthread_create failed: Operation not permitted"
    old, new = (node(system_runtime={"docker": version}) for version in ("19.3.15", "28.0.1"))
    assert confidence(explain(text, on=old), "seccomp-older-than-libc") == "likely"
    assert confidence(explain(text, on=new), "seccomp-older-than-libc") == "ruled-out"


def test_a_kernel_that_has_the_call_is_not_too_old() -> None:
    text = "Fatal glibc error: cannot get entropy for arc4random"
    old, new = (node(kernel_version={"full": version}) for version in ("3.10.108", "6.1.0"))
    assert confidence(explain(text, on=old), "kernel-too-old") == "likely"
    assert confidence(explain(text, on=new), "kernel-too-old") == "ruled-out"


def test_a_configuration_that_cannot_be_read_says_nothing() -> None:
    found = explain("BTF search failed", on=node(unknown=("kernel.config",)))
    assert found.explained  # by its words
    assert any("not looked at" in text for text in found.causes[0].evidence)
    assert not explain("BTF search failed", on=node(kernel_config={"DEBUG_INFO_BTF": "y"})).explained


def test_a_driver_conflict_of_the_node_shows_a_mismatch() -> None:
    text = "Failed to initialize NVML: Driver/library version mismatch"
    conflict = node(accel_conflict=[{"vendor": "nvidia", "text": "libcuda 550 beside module 535"}])
    found = explain(text, on=conflict)
    assert found.cause
    assert "accel.conflict" in found.cause.evidence[0]


def test_a_crash_is_a_fault_of_the_application_until_something_is_seen() -> None:
    kernel = Requirement(
        "kernel-floor",
        "a kernel from 5.10 on",
        Layer.KERNEL_AND_LIBRARIES,
        Effect.CRASHES,
        Sureness.CERTAIN,
        (has_version("kernel.version", "full", "5.10"),),
    )
    old = node(kernel_version={"full": "4.4.0"})
    assert not explain("", 139, on=old).explained
    assert confidence(explain("", 139, on=old, found=inspection(kernel)), "requirement-unmet") == "likely"


def test_general_signs_do_not_hide_words_that_say_more() -> None:
    found = explain("CrashLoopBackOff\nFatal glibc error: CPU does not support x86-64-v2", 127, on=OLD)
    assert confidence(found, "look-at-exit-code") == ""
    assert [one.confidence for one in found.causes] == [Confidence.RULED_OUT, Confidence.RULED_OUT]


def test_a_stop_outside_of_the_image_is_not_ruled_out_by_the_images_files() -> None:
    outside = stopped_at("", "amd64")
    found = explain("", 132, on=NEW, found=inspection(needs("AVX2")), instruction=outside)
    assert confidence(found, "missing-cpu-feature") == "possible"


def test_a_need_that_the_image_declares_explains_a_crash() -> None:
    finding = Finding(
        code="expression", state=State.UNMET, requirement="cpu.cpuid AVX2", observed="absent", expected="exists"
    )
    verdict = Verdict("i", "n1", Answer.INCOMPATIBLE, "no", findings=(finding,))
    found = explain("", 132, on=OLD, verdict=verdict)
    assert found.cause
    assert found.cause.code == "declared-need-unmet"
    assert not explain("", 137, on=OLD, verdict=verdict).explained


def test_a_certain_fault_of_the_image_explains_an_exit_code() -> None:
    found = explain("", 127, on=NEW, found=inspection(defects=(defect("library-missing"),)))
    assert found.cause
    assert found.cause.code == "library-missing"
    assert found.summary == "the image itself is at fault, on every node: the fault library-missing"
    assert not explain("", 137, on=NEW, found=inspection(defects=(defect("library-missing"),))).explained
    probable = msgspec.structs.replace(defect("library-missing"), sureness=Sureness.PROBABLE)
    assert not explain("", 127, on=NEW, found=inspection(defects=(probable,))).explained


def test_a_certain_need_that_the_node_does_not_meet_explains_a_crash_loop_once() -> None:
    found = explain("CrashLoopBackOff", on=OLD, found=inspection(needs("AVX2")))
    assert found.cause
    assert found.cause.wants
    both = explain("CrashLoopBackOff", 132, on=OLD, found=inspection(needs("AVX2")))
    assert [one.code for one in both.causes if one.confidence is Confidence.LIKELY] == ["missing-cpu-feature"]
