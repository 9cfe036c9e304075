"""From an image's config to the files that run, and the faults on the way."""

from collections.abc import Mapping

import pytest
from tests.resolver.inspection.closure.test_loaders import cache
from tests.resolver.inspection.elves import Made, index
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy.platforms import Platform
from nodeworthy.requirements import Sureness
from nodeworthy_resolver.inspection.closure import Role, Start, find_start
from nodeworthy_resolver.inspection.subject import ImageConfig

Files = dict[str, bytes | str]
LOADER = "/lib64/ld-linux-x86-64.so.2"
GLIBC: Files = {
    LOADER: Made(soname="ld-linux-x86-64.so.2", defines=("GLIBC_2.3",)).bytes(),
    "/lib64/libc.so.6": Made(
        soname="libc.so.6", needed=("ld-linux-x86-64.so.2",), defines=("GLIBC_2.2.5", "GLIBC_2.31")
    ).bytes(),
}
MUSL_LOADER = "/lib/ld-musl-x86_64.so.1"
MUSL: Files = {MUSL_LOADER: Made(soname="libc.musl-x86_64.so.1", exports=("malloc", "puts")).bytes()}
STATIC = Made(kind=2).bytes()


def app(**said: object) -> bytes:
    whole = {"interpreter": LOADER, "needed": ("libc.so.6",), **said}
    return Made(**whole).bytes()  # type: ignore[arg-type]  # the keywords are Made's


def started(
    files: Mapping[str, bytes | str],
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    modes: Mapping[str, int] | None = None,
    folder: str = "/",
) -> Start:
    tree = MemoryTree(files, modes=modes)
    config = ImageConfig(entrypoint=arguments, environment=environment or {}, working_folder=folder)
    return find_start(tree, index(tree), config)


def codes(start: Start) -> list[tuple[str, Sureness]]:
    return [(defect.code, defect.sureness) for defect in start.defects]


def test_a_program_its_loader_and_its_libraries_run_for_certain() -> None:
    start = started({**GLIBC, "/usr/bin/app": app()}, "app", "-x")
    assert start.chain == ("/usr/bin/app",)
    assert [(one.path, one.role) for one in start.loaded] == [
        ("/usr/bin/app", Role.PROGRAM),
        (LOADER, Role.LOADER),
        ("/lib64/libc.so.6", Role.LIBRARY),
    ]
    assert {one.sureness for one in start.loaded} == {Sureness.CERTAIN}
    assert (start.defects, start.unexplored) == ((), ())


def test_entrypoint_and_command_are_one_command_line() -> None:
    tree = MemoryTree({"/tini": STATIC, "/app": STATIC})
    config = ImageConfig(entrypoint=("/tini", "--"), command=("/app", "-x"))
    start = find_start(tree, index(tree), config)
    assert start.arguments == ("/tini", "--", "/app", "-x")
    assert start.chain == ("/tini", "/app")
    assert start.sureness("/app") is Sureness.CERTAIN


def test_names_are_looked_for_in_path_and_paths_in_the_working_folder() -> None:
    files: Files = {"/opt/bin/app": STATIC, "/srv/run": STATIC}
    assert started(files, "app", environment={"PATH": "/usr/bin:/opt/bin"}).chain == ("/opt/bin/app",)
    assert started(files, "./run", folder="/srv").chain == ("/srv/run",)
    assert codes(started(files, "app")) == [("program-missing", Sureness.CERTAIN)]


@pytest.mark.parametrize(
    ("content", "mode", "code"),
    [
        (STATIC, 0o644, "program-not-executable"),
        (b"", 0o755, "exec-format"),
        (b"echo hello\n", 0o755, "exec-format"),
        (b"\x7fELF\x02\x01\x01", 0o755, "exec-format"),
        (Made(kind=1).bytes(), 0o755, "exec-format"),
        (b"#!/bin/nothing\n", 0o755, "interpreter-missing"),
        (b"#!/bin/sh\r\n", 0o755, "carriage-return"),
        (b"#!/bin/env app\r\n", 0o755, "carriage-return"),
        (b"#!/app\n", 0o755, "interpreter-loop"),
    ],
)
def test_what_the_kernel_refuses_is_a_certain_defect(content: bytes, mode: int, code: str) -> None:
    start = started({"/app": content, "/bin/sh": STATIC, "/bin/env": STATIC}, "/app", modes={"/app": mode})
    assert codes(start) == [(code, Sureness.CERTAIN)]


@pytest.mark.parametrize("name", ["nvidia-smi", "/usr/bin/nvidia-smi", "/proc/self/exe", "npu-smi"])
def test_what_the_runtime_brings_may_be_missing_in_the_image_and_leaves_the_start_open(name: str) -> None:
    start = started({"/bin/app": STATIC}, name)
    assert codes(start) == [("program-missing", Sureness.PROBABLE)]
    assert [one.decides for one in start.unexplored] == [True]


def test_runtimes_differ_in_whether_they_look_into_relative_folders_of_path() -> None:
    files: Files = {"/srv/run": STATIC}
    for search in ("/usr/bin:.", "/usr/bin:", "./:/bin"):
        start = started(files, "run", environment={"PATH": search}, folder="/srv")
        assert codes(start) == [("program-missing", Sureness.PROBABLE)]
    other = started(files, "other", environment={"PATH": "."}, folder="/srv")
    assert codes(other) == [("program-missing", Sureness.CERTAIN)]


@pytest.mark.parametrize(
    "name", ["/usr/bin/qemu-aarch64-static", "/usr/bin/qemu-x86_64", "/usr/bin/box64", LOADER, MUSL_LOADER]
)
def test_what_a_loader_or_an_emulator_runs_is_left_open(name: str) -> None:
    start = started({name: STATIC, "/app": STATIC}, name, "/app")
    assert [(one.what, one.decides) for one in start.unexplored] == [(f"what {name} runs", True)]
    assert started({name: STATIC}, name).unexplored == ()


def test_tools_of_emulators_are_programs_like_others() -> None:
    assert started({"/usr/bin/qemu-img": STATIC}, "qemu-img", "info").unexplored == ()


def test_a_fault_of_what_a_script_most_likely_comes_to_leaves_the_start_open() -> None:
    files: Files = {"/bin/sh": STATIC, "/start": b"#!/bin/sh\nif true; then x=1; fi\nexec /nowhere\n"}
    start = started(files, "/start")
    assert codes(start) == [("program-missing", Sureness.PROBABLE)]
    assert any(one.decides and "/nowhere" in one.why for one in start.unexplored)


def test_an_image_whose_config_names_nothing_to_start_has_no_start_even_with_one_file() -> None:
    tree = MemoryTree({"/app": STATIC})
    said = find_start(tree, index(tree), ImageConfig(platform=Platform("linux", "amd64")))
    assert (said.chain, [one.decides for one in said.unexplored]) == ((), [True])
    assert find_start(tree, index(tree), ImageConfig()).chain == ("/app",)


@pytest.mark.parametrize("name", ["libGL.so.1", "libmpi.so.12", "libamdhip64.so.6", "libOpenCL.so.1"])
def test_libraries_that_some_runtimes_take_from_the_node_are_missing_probably(name: str) -> None:
    start = started({**GLIBC, "/app": app(needed=(name, "libc.so.6"))}, "/app")
    assert codes(start) == [("library-missing", Sureness.PROBABLE)]


def test_a_library_for_some_levels_of_cpus_only_is_missing_probably() -> None:
    folder = "/lib64/glibc-hwcaps/x86-64-v3"
    files: Files = {**GLIBC, f"{folder}/libz.so.1": Made(soname="libz.so.1").bytes()}
    start = started({**files, "/app": app(needed=("libz.so.1", "libc.so.6"))}, "/app")
    assert codes(start) == [("library-missing", Sureness.PROBABLE)]


def test_a_folder_is_no_program() -> None:
    assert codes(started({"/app/x": STATIC}, "/app")) == [("program-not-executable", Sureness.CERTAIN)]


@pytest.mark.parametrize("content", [b"MZ\x90\0", b"PK\x03\x04", b"\0asm\1\0\0\0"])
def test_programs_of_other_systems_are_left_open(content: bytes) -> None:
    start = started({"/app": content}, "/app")
    assert start.defects == ()
    assert [one.decides for one in start.unexplored] == [True]


def test_five_interpreters_of_each_other_are_followed_and_a_sixth_is_refused() -> None:
    scripts: Files = {f"/s{number}": f"#!/s{number + 1}\n".encode() for number in range(1, 6)}
    assert started({**scripts, "/s6": STATIC}, "/s1").defects == ()
    assert codes(started({**scripts, "/s6": b"#!/app\n", "/app": STATIC}, "/s1")) == [
        ("interpreter-loop", Sureness.CERTAIN)
    ]


def test_env_starts_what_its_line_names() -> None:
    files: Files = {"/app.py": b"#!/usr/bin/env python3\n", "/usr/bin/env": STATIC, "/usr/bin/python3": STATIC}
    start = started(files, "/app.py")
    assert start.chain == ("/app.py", "/usr/bin/env", "/usr/bin/python3")
    assert start.sureness("/usr/bin/python3") is Sureness.CERTAIN
    missing = started({path: content for path, content in files.items() if "python" not in path}, "/app.py")
    assert codes(missing) == [("program-missing", Sureness.CERTAIN)]


SHELL: Files = {"/bin/busybox": STATIC, "/bin/sh": "-> /bin/busybox", "/app": STATIC}


def test_the_shell_form_with_one_plain_command_is_certain() -> None:
    start = started(SHELL, "/bin/sh", "-c", "/app --flag")
    assert start.chain == ("/bin/busybox", "/app")
    assert start.sureness("/app") is Sureness.CERTAIN
    assert codes(started(SHELL, "/bin/sh", "-c", "/gone")) == [("program-missing", Sureness.CERTAIN)]


def test_a_name_that_busybox_may_hold_itself_is_only_probably_missing() -> None:
    assert codes(started(SHELL, "/bin/sh", "-c", "httpd -f")) == [("program-missing", Sureness.PROBABLE)]


def test_the_shell_form_with_several_commands_is_probable() -> None:
    start = started(SHELL, "/bin/sh", "-c", "cd / && /app")
    assert start.sureness("/app") is Sureness.PROBABLE
    assert [one.decides for one in start.unexplored] == [False]
    assert codes(started(SHELL, "/bin/sh", "-c", "cd / && /gone")) == [("program-missing", Sureness.PROBABLE)]


def test_an_entrypoint_script_hands_on_to_the_command() -> None:
    script = b'#!/bin/sh\nset -e\nif [ "$1" = app ]; then\n  chown app /data\nfi\nexec "$@"\n'
    start = started({**SHELL, "/entry.sh": script}, "/entry.sh", "/app")
    assert start.chain == ("/entry.sh", "/bin/busybox", "/app")
    assert start.sureness("/bin/busybox") is Sureness.CERTAIN
    assert start.sureness("/app") is Sureness.PROBABLE


def test_a_script_that_does_nothing_else_is_certain() -> None:
    start = started({**SHELL, "/entry.sh": b'#!/bin/sh\nset -eu\nexec "$@"\n'}, "/entry.sh", "/app")
    assert start.sureness("/app") is Sureness.CERTAIN


def test_options_instead_of_a_command_leave_the_question_open() -> None:
    start = started({**SHELL, "/entry.sh": b'#!/bin/sh\nprepare\nexec "$@"\n'}, "/entry.sh", "--verbose")
    assert (start.defects, [one.decides for one in start.unexplored]) == ((), [True])


def test_a_script_that_cannot_be_followed_leaves_the_question_open() -> None:
    start = started({**SHELL, "/entry.sh": b"#!/bin/sh\nwhile :; do /app; done\n"}, "/entry.sh")
    assert start.sureness("/app") is None
    assert [one.decides for one in start.unexplored] == [True]


def test_a_script_given_to_a_shell_needs_no_permission_to_execute() -> None:
    start = started({**SHELL, "/entry.sh": b"exec /app\n"}, "sh", "/entry.sh", modes={"/entry.sh": 0o644})
    assert (start.defects, start.sureness("/app")) == ((), Sureness.CERTAIN)


def test_without_a_config_only_a_single_file_is_what_starts() -> None:
    tree = MemoryTree({"/app": app()})
    alone = find_start(tree, index(tree), ImageConfig())
    assert (alone.chain, alone.defects) == (("/app",), ())
    assert [one.decides for one in alone.unexplored] == [True]
    static = MemoryTree({"/app": STATIC})
    assert find_start(static, index(static), ImageConfig()).unexplored == ()
    folder = MemoryTree({"/app": app(), "/other": STATIC})
    several = find_start(folder, index(folder), ImageConfig())
    assert (several.chain, len(several.unexplored)) == ((), 1)


def test_windows_programs_are_not_followed() -> None:
    tree = MemoryTree({"/app.exe": b"MZ"})
    config = ImageConfig(entrypoint=("app.exe",), platform=Platform("windows", "amd64"))
    start = find_start(tree, index(tree), config)
    assert (start.defects, [one.decides for one in start.unexplored]) == ((), [True])


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"/app": app()}, "loader-missing"),
        ({"/app": app(), LOADER: Made(machine=183, soname="ld-linux-x86-64.so.2").bytes()}, "loader-unusable"),
        ({"/app": app(), LOADER: b"text"}, "loader-unusable"),
        ({**GLIBC, "/app": app(needed=("libfoo.so.1",))}, "library-missing"),
        (
            {**GLIBC, "/app": app(needed=("libfoo.so.1",)), "/usr/lib/libfoo.so.1": Made(machine=183).bytes()},
            "library-other-machine",
        ),
        (
            {**GLIBC, "/app": app(needed=("libfoo.so.1",)), "/usr/lib/libfoo.so.1": Made(machine=3, bits=32).bytes()},
            "library-other-machine",
        ),
        ({**GLIBC, "/app": app(needed=("libfoo.so.1",)), "/usr/lib/libfoo.so.1": b"INPUT(x)"}, "library-unusable"),
        ({**GLIBC, "/app": app(needs={"libc.so.6": ["GLIBC_2.34"]})}, "symbol-version-missing"),
    ],
)
def test_what_the_loader_refuses_is_a_certain_defect(files: Files, code: str) -> None:
    assert codes(started(files, "/app")) == [(code, Sureness.CERTAIN)]


def test_the_newest_missing_version_is_told_beside_what_is_there() -> None:
    files = {**GLIBC, "/app": app(needs={"libc.so.6": ["GLIBC_2.33", "GLIBC_2.34", "GLIBC_2.31"]})}
    (defect,) = started(files, "/app").defects
    assert defect.text == "/app needs GLIBC_2.34 of libc.so.6; /lib64/libc.so.6 has GLIBC_2.31"


@pytest.mark.parametrize(
    "needs", [{"libc.so.6": ["GLIBC_2.31"]}, {"libc.so.6": ["?GLIBC_2.99"]}, {"libplain.so": ["X_1"]}]
)
def test_versions_that_are_there_weak_or_of_a_library_without_any_are_no_defect(needs: dict[str, list[str]]) -> None:
    files = {**GLIBC, "/app": app(needs=needs, needed=("libc.so.6", "libplain.so"))}
    assert started({**files, "/lib64/libplain.so": Made().bytes()}, "/app").defects == ()


def test_drivers_libraries_come_from_the_node_and_leave_the_question_open() -> None:
    start = started({**GLIBC, "/app": app(needed=("libcuda.so.1", "libc.so.6"))}, "/app")
    assert start.defects == ()
    assert ["libcuda.so.1" in one.what for one in start.unexplored] == [True]


@pytest.mark.parametrize(
    ("said", "environment", "place"),
    [
        ({"runpath": "$ORIGIN/../lib"}, {}, "/opt/lib"),
        ({"rpath": "${ORIGIN}/../lib"}, {}, "/opt/lib"),
        ({"rpath": "/nowhere:/opt/lib"}, {}, "/opt/lib"),
        ({"runpath": "/opt/$LIB"}, {}, "/opt/lib64"),
        ({}, {"LD_LIBRARY_PATH": "/x:/opt/lib"}, "/opt/lib"),
        ({}, {"LD_LIBRARY_PATH": ":/x"}, "/srv"),
        ({"rpath": "lib"}, {}, "/srv/lib"),
        ({"needed": ("lib/libfoo.so.1",)}, {}, "/srv/lib"),
        ({}, {}, "/usr/lib/x86_64-linux-gnu"),
    ],
)
def test_libraries_are_looked_for_where_glibc_looks(
    said: dict[str, str], environment: dict[str, str], place: str
) -> None:
    program = app(**{"needed": ("libfoo.so.1",), **said})
    files = {**GLIBC, "/opt/bin/app": program, f"{place}/libfoo.so.1": Made().bytes()}
    start = started(files, "/opt/bin/app", environment=environment, folder="/srv")
    assert start.defects == ()
    assert start.sureness(f"{place}/libfoo.so.1") is Sureness.CERTAIN


def test_the_runpath_of_a_program_does_not_count_for_its_libraries_needs_but_the_rpath_does() -> None:
    files = {
        **GLIBC,
        "/opt/lib/liba.so": Made(needed=("libb.so",)).bytes(),
        "/opt/lib/libb.so": Made().bytes(),
    }
    by_runpath = started({**files, "/app": app(needed=("liba.so",), runpath="/opt/lib")}, "/app")
    by_rpath = started({**files, "/app": app(needed=("liba.so",), rpath="/opt/lib")}, "/app")
    assert codes(by_runpath) == [("library-missing", Sureness.CERTAIN)]
    assert by_rpath.defects == ()


def test_a_folder_of_ld_so_conf_counts_only_through_the_cache() -> None:
    files = {
        **GLIBC,
        "/app": app(needed=("libfoo.so.1",)),
        "/opt/lib/libfoo.so.1": Made().bytes(),
        "/etc/ld.so.conf": b"include /etc/ld.so.conf.d/*.conf\n",
        "/etc/ld.so.conf.d/opt.conf": b"# mine\n/opt/lib\n",
    }
    assert codes(started(files, "/app")) == [("library-missing", Sureness.PROBABLE)]


def test_what_the_cache_lists_for_some_cpus_first_is_not_what_every_cpu_loads() -> None:
    places = ("/opt/lib/glibc-hwcaps/x86-64-v3/libfoo.so.1", "/opt/lib/libfoo.so.1")
    files = {
        **GLIBC,
        "/app": app(needed=("libfoo.so.1",)),
        "/etc/ld.so.cache": cache(*(("libfoo.so.1", path) for path in places)),
        **dict.fromkeys(places, Made().bytes()),
    }
    assert [one.path for one in started(files, "/app").loaded if one.role is Role.LIBRARY] == ["/opt/lib/libfoo.so.1"]
    del files["/opt/lib/libfoo.so.1"]
    assert codes(started(files, "/app")) == [("library-missing", Sureness.PROBABLE)]


def test_preloaded_libraries_run_and_missing_ones_are_passed_over() -> None:
    files = {**GLIBC, "/app": app(), "/hook.so": Made().bytes(), "/etc/ld.so.preload": b"/hook.so /gone.so\n"}
    start = started(files, "/app", environment={"LD_PRELOAD": "/gone-too.so"})
    assert (start.defects, [one.path for one in start.loaded if one.role is Role.PRELOADED]) == ((), ["/hook.so"])


def test_a_search_without_end_is_cut_and_said() -> None:
    folders = ":".join(f"/x{number}" for number in range(2000))
    files = {**GLIBC, "/app": app(needed=tuple(f"lib{number}.so" for number in range(200)))}
    start = started(files, "/app", environment={"LD_LIBRARY_PATH": folders})
    assert ["looked at" in one.why for one in start.unexplored] == [True]


def test_libraries_that_need_each_other_end() -> None:
    files = {
        **GLIBC,
        "/app": app(needed=("liba.so",)),
        "/lib64/liba.so": Made(needed=("libb.so",)).bytes(),
        "/lib64/libb.so": Made(needed=("liba.so",)).bytes(),
    }
    assert len(started(files, "/app").loaded) == 4


def musl_app(**said: object) -> bytes:
    return app(**{"interpreter": MUSL_LOADER, "needed": ("libc.musl-x86_64.so.1",), **said})


def test_musl_is_its_own_libc_and_looks_in_its_own_folders() -> None:
    files = {**MUSL, "/app": musl_app(needed=("libc.so", "libz.so.1")), "/usr/local/lib/libz.so.1": Made().bytes()}
    assert started(files, "/app").defects == ()
    elsewhere = {**files, "/etc/ld-musl-x86_64.path": b"/opt/lib\n"}
    assert codes(started(elsewhere, "/app")) == [("library-missing", Sureness.CERTAIN)]


def test_musl_finds_every_symbol_or_ends() -> None:
    good = {**MUSL, "/app": musl_app(imports=("malloc", "?__gmon_start__"))}
    assert started(good, "/app").defects == ()
    bad = {**MUSL, "/app": musl_app(imports=("malloc", "__printf_chk", "__fdelt_chk"))}
    (defect,) = started(bad, "/app").defects
    assert (defect.code, defect.sureness) == ("symbol-missing", Sureness.CERTAIN)
    assert "__fdelt_chk and 1 more" in defect.text


def test_a_glibc_program_behind_whose_loaders_name_stands_musl_is_judged_by_its_symbols() -> None:
    linked = {**MUSL, LOADER: f"-> {MUSL_LOADER}"}
    assert started({**linked, "/app": app(imports=("malloc",))}, "/app").defects == ()
    assert codes(started({**linked, "/app": app(imports=("__printf_chk",))}, "/app")) == [
        ("symbol-missing", Sureness.CERTAIN)
    ]


def test_musl_knows_itself_by_the_names_of_libc_and_not_by_the_loaders() -> None:
    needed = ("libc.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2")
    files: Files = {**MUSL, LOADER: f"-> {MUSL_LOADER}", "/app": app(needed=needed)}
    assert codes(started(files, "/app")) == [("library-missing", Sureness.CERTAIN)]
    assert started({**files, "/lib/ld-linux-x86-64.so.2": f"-> {MUSL_LOADER}"}, "/app").defects == ()


def test_a_loader_that_is_not_known_leaves_the_question_open() -> None:
    start = started({"/app": app(), LOADER: Made(kind=2, tail=b"libgcompat.so.0").bytes()}, "/app")
    assert (start.defects, [one.decides for one in start.unexplored]) == ((), [True])
