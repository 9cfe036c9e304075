"""Small C programs, built here: each shows one way in which code asks for a CPU."""

import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest
from tests.resolver.inspection.trees import MemoryTree

from nodeworthy.requirements import Sureness
from nodeworthy_resolver.inspection.closure.records import Loaded, Role, Start
from nodeworthy_resolver.inspection.elf import read_elf
from nodeworthy_resolver.inspection.instructions import read_instructions
from nodeworthy_resolver.inspection.subject import ImageConfig, Outcome, Subject

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="programs are built with gcc")

_HEAD = """
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static float a[4096], b[4096];
static float sum(void) {
  float s = 0; for (int i = 0; i < 4096; i++) { a[i] = i * 1.5f; b[i] = a[i] * a[i]; s += b[i]; } return s; }
#define FAST __attribute__((target("avx2,fma,bmi2"), noinline))
#define PLAIN __attribute__((noinline))
FAST static float fast(void) {
  float s = 0; for (int i = 0; i < 4096; i++) { a[i] = i * 1.5f; b[i] = a[i] * a[i] + s; s += b[i]; } return s; }
PLAIN static float plain(void) { return sum(); }
"""
_CLOSURE = """
#define APART __attribute__((noipa))
struct methods { void (*drop)(void *); unsigned long size, align; int (*once)(void *), (*mut)(void *), (*call)(void *); };
void panic(void) __asm__("_RNvNtCs6d7GoaNTBIz_4core9panicking9panic_fmt");
APART void panic(void) { _exit(101); }
APART static void own(void) { OWN }
APART static int call(void *data) { (*(void (**)(void))data)(); return 0; }
static const struct methods table = { 0, 8, 8, call, call, call };
APART static int start(void *data, const struct methods *with, long c, char **v) { return with->call(data); }
int main(int c, char **v) { void *data = own; return start(&data, &table, c, v); }
"""

SOURCES = {
    "sums": 'int main(void) { printf("%f\\n", plain()); }',
    "structures": "struct s { char q[200]; }; static struct s g[4];"
    "int main(int c, char **v) { g[0].q[c] = 1; g[1] = g[0]; return 0; }",
    "directly": 'int main(void) { printf("%f\\n", fast()); }',
    "if_supported": 'int main(void) { printf("%f\\n", __builtin_cpu_supports("avx2") ? fast() : plain()); }',
    "exits_well": 'int main(void) { if (!__builtin_cpu_supports("avx2")) exit(0); printf("%f\\n", fast()); }',
    "exits_badly": 'int main(void) { if (!__builtin_cpu_supports("avx2")) exit(1); printf("%f\\n", fast()); }',
    "exits_in_helper": 'PLAIN void need(void) { if (!__builtin_cpu_supports("avx2")) { puts("no"); exit(0); } }'
    'int main(void) { need(); printf("%f\\n", fast()); }',
    "becomes_another": 'int main(void) { if (!__builtin_cpu_supports("avx2")) execl("/bin/true", "true", (char *)0);'
    ' printf("%f\\n", fast()); }',
    "if_asked": 'int main(int c, char **v) { printf("%f\\n", c > 3 ? fast() : 0); }',
    "before_main": "static float r; __attribute__((constructor)) static void early(void) { r = fast(); }"
    'int main(void) { if (__builtin_cpu_supports("avx2")) puts("x"); printf("%f\\n", r); }',
    "by_pointer": "static float (*f)(void); __attribute__((constructor)) static void pick(void) {"
    ' f = __builtin_cpu_supports("avx2") ? fast : plain; } int main(void) { printf("%f\\n", f()); }',
    "by_variable": 'float (*volatile f)(void) = fast; int main(void) { printf("%f\\n", f()); }',
    "by_signal": "static sigjmp_buf j; static void h(int s) { siglongjmp(j, 1); }"
    'int main(void) { signal(SIGILL, h); printf("%f\\n", sigsetjmp(j, 1) ? plain() : fast()); }',
    "waits_for_ever": 'int main(void) { char c; for (;;) { if (read(0, &c, 1) == 1 && c == 65) printf("%f\\n", fast());'
    " if (c == 66) pause(); } }",
    "options": 'int main(int c, char **v) { int o, k = 0; double d = c; while ((o = getopt(c, v, "abcdefg")) != -1) {'
    " switch (o) { case 'a': k += 3; break; case 'b': k = puts(\"x\"); break; case 'c': k *= 7; break;"
    " case 'd': k ^= 9; break;"
    ' case \'e\': k -= puts("y"); break; case \'g\': puts("z"); break; } } printf("%d %f\\n", k, d * 1.5); }',
    "clones": '__attribute__((target_clones("default", "avx2", "avx512f"))) float chosen(void) { float s = 0;'
    " for (int i = 0; i < 4096; i++) { a[i] = i * 1.5f; s = s * 1.5f + a[i]; } return s; }"
    'int main(void) { printf("%f %f\\n", chosen(), plain()); }',
    "counts_bits": '__attribute__((target("popcnt"), noinline)) int f(unsigned x) { return __builtin_popcount(x); }'
    'int main(int c, char **v) { printf("%d\\n", f(c * 77)); }',
    "counts_zeros": 'int main(int c, char **v) { printf("%d\\n", __builtin_ctz(c * 78)); }',
    "ends_in_another": 'PLAIN int say(void) { return puts("x"); }int main(void) { say(); printf("%f\\n", fast()); }',
    # As Rust's programs begin: C's main hands the program's own to be called, as a closure with a table of methods.
    "in_closure": _CLOSURE.replace("OWN", 'printf("%f\\n", fast());'),
    "in_closure_if_supported": _CLOSURE.replace(
        "OWN", 'printf("%f\\n", __builtin_cpu_supports("avx2") ? fast() : plain());'
    ),
    "in_closure_or_panics": _CLOSURE.replace(
        "OWN", 'if (!__builtin_cpu_supports("avx2")) panic(); printf("%f\\n", fast());'
    ),
    "gives_up": 'int main(void) { if (getpid() == 1) abort(); printf("%f\\n", fast()); }',
}


@cache
def built(source: str, options: str = "-O2", library: bytes = b"") -> bytes:
    """The program, or with ``-shared`` the library, of one of the sources, or of C code itself; linked with a library."""
    folder = Path(mkdtemp(prefix="nodeworthy-test-"))
    try:
        (folder / "p.c").write_text(_HEAD + SOURCES[source] if source in SOURCES else source)
        (folder / "l.so").write_bytes(library)
        command = ["gcc", "-w", *options.split(), "p.c", "-o", "p", *(["./l.so"] if library else [])]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        return (folder / "p").read_bytes()
    finally:
        shutil.rmtree(folder)


def subject_of(
    files: Mapping[str, bytes], start: Mapping[str, tuple[Role, Sureness]], *, clock: float = 0.0, deadline: float = 1.0
) -> Subject:
    """An image of some files, of which some are started."""
    loaded = tuple(Loaded(path, role, "", sureness) for path, (role, sureness) in start.items())
    elves = {path: elf for path, content in sorted(files.items()) if (elf := read_elf(content))}
    return Subject(MemoryTree(files), ImageConfig(), Start(loaded=loaded), elves, lambda: clock, deadline)


def read_program(content: bytes, **libraries: bytes) -> Outcome:
    """What is found of a program that is started, with libraries that it surely loads."""
    files = {"/app": content, **{f"/lib/{name}.so": library for name, library in libraries.items()}}
    start = {path: (Role.LIBRARY if path != "/app" else Role.PROGRAM, Sureness.CERTAIN) for path in files}
    return read_instructions(subject_of(files, start))


def asked(outcome: Outcome, sureness: Sureness) -> set[str]:
    """The flags of ``cpu.cpuid`` that are asked so surely."""
    terms = (term for one in outcome.requirements if one.sureness is sureness for term in one.match_features)
    return {name for term in terms for name in term.expressions or {}}
