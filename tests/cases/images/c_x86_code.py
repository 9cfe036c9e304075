"""Category C, by code: programs and libraries that gcc builds for other processors than the node's."""

from tests.cases.images.c_x86 import ALDER, AVX512, AVX_ONLY, NO, OPEN, RUNS, SAPPHIRE, UNKNOWN, V1, V2, V3, YES
from tests.cases.images.hosts import with_flags
from tests.cases.images.parts import app
from tests.cases.images.records import Case, Image, Trial
from tests.cases.images.software import compiled, image, python, wheel
from tests.resolver.inspection.instructions.programs import built

_DISPATCH = (
    'static float fast(void) __attribute__((target("avx2,fma"), noinline));'
    "static float a[999]; static float fast(void) { float s = 0; for (int i = 0; i < 999; i++) s += a[i] * 1.5f + s;"
    ' return s; } int main(int c, char **v) { return __builtin_cpu_supports("avx2") ? (int)fast() : c; }'
)
_TILES = '__attribute__((target("amx-tile"))) int main(void) { __asm__ volatile("tilezero %tmm0"); return 0; }'
_WORK = (
    "double a[4096], b[4096]; __attribute__((noinline)) double work(void) { double s = 0;"
    " for (int i = 0; i < 4096; i++) { a[i] = a[i] * 1.5 + b[i]; s += a[i]; } return s; }"
    " int main(void) { return (int)work(); }"
)
_MARKED = (
    "int a[4096]; double d; void work(void) { for (int i = 0; i < 4096; i++) a[i] = a[i] * 7 + 3; d = d * 1.5 + 2; }"
)


def _hardened() -> bytes:
    """A library for Haswell, whose initialiser computes."""
    source = (
        "static double a[999]; __attribute__((constructor)) void early(void) {"
        " for (int i = 0; i < 999; i++) a[i] = a[i] * 1.5 + 2; }"
    )
    return built(source, "-O3 -march=haswell -shared -fPIC -nostdlib")


def _wheel_of(code: bytes, name: str = "fast", version: str = "1.0") -> Image:
    """A package whose extension gcc has built."""
    return python(wheel(name, version, extensions={f"{name}/core": code}), libc="2.36")


CASES = (
    Case(
        "C03",
        "a framework that was compiled for AVX2 on Ivy Bridge",
        (
            Trial(
                "its extension",
                lambda: _wheel_of(built(_MARKED, "-O3 -march=haswell -shared -fPIC -nostdlib"), "tensorflow_rocm"),
                AVX_ONLY,
                UNKNOWN,
                "cpu-instructions",
            ),
            Trial(
                "on Haswell",
                lambda: _wheel_of(built(_MARKED, "-O3 -march=haswell -shared -fPIC -nostdlib"), "tensorflow_rocm"),
                V3,
                YES,
                truth=RUNS,
            ),
        ),
        needs_gcc=True,
    ),
    Case(
        "C18",
        "a Rust program for level 3 on a J4125",
        (
            Trial("level 3", lambda: image(compiled(_WORK, "-O3 -march=x86-64-v3")), V2, NO, "cpu-instructions"),
            Trial("a generic build", lambda: image(compiled(_WORK, "-O3")), V2, YES, truth=RUNS),
        ),
        needs_gcc=True,
    ),
    Case(
        "C19",
        "a preloaded library that was compiled with -march=native",
        (
            Trial(
                "LD_PRELOAD",
                lambda: image(
                    compiled(_WORK, "-O2") | {"/lib/hard.so": _hardened()},
                    environment=("LD_PRELOAD=/lib/hard.so",),
                ),
                V2,
                NO,
                "cpu-instructions",
            ),
            Trial(
                "LD_PRELOAD that the entrypoint's script exports",
                lambda: image(
                    compiled(_WORK, "-O2")
                    | {"/bin/sh": app(), "/lib/hard.so": _hardened()}
                    | {"/entry": b"#!/bin/sh\nexport LD_PRELOAD=/lib/hard.so\nexec /app\n"},
                    "/entry",
                ),
                V2,
                UNKNOWN,
                "cpu-instructions",
            ),
            Trial(
                "not preloaded",
                lambda: image(compiled(_WORK, "-O2") | {"/lib/hard.so": _hardened()}),
                V2,
                YES,
                truth=RUNS,
            ),
        ),
        needs_gcc=True,
    ),
    Case(
        "C20",
        "-march=native on a newer builder",
        (
            Trial(
                "AVX-512 on level 3",
                lambda: image(compiled(_WORK, "-O3 -march=skylake-avx512 -mprefer-vector-width=512")),
                V3,
                NO,
                "cpu-instructions",
            ),
            Trial(
                "on a CPU that has it",
                lambda: image(compiled(_WORK, "-O3 -march=skylake-avx512 -mprefer-vector-width=512")),
                SAPPHIRE,
                YES,
                truth=RUNS,
            ),
            Trial("chosen at run time", lambda: image(compiled(_DISPATCH)), V2, YES, truth=RUNS),
        ),
        needs_gcc=True,
    ),
    Case(
        "C21",
        "a build for AVX-512 alone",
        (
            Trial(
                "Haswell",
                lambda: image(compiled(_WORK, "-O3 -march=icelake-server -mprefer-vector-width=512")),
                V3,
                NO,
                "cpu-instructions",
            ),
            Trial(
                "Zen 4",
                lambda: image(compiled(_WORK, "-O3 -march=x86-64-v4 -mprefer-vector-width=512")),
                AVX512,
                YES,
                truth=RUNS,
            ),
        ),
        needs_gcc=True,
    ),
    Case(
        "C22",
        "an extension of Python for AVX-512",
        (
            Trial(
                "vllm/_C on AVX2",
                lambda: _wheel_of(
                    built(_MARKED, "-O3 -march=x86-64-v4 -mprefer-vector-width=512 -shared -fPIC -nostdlib"), "vllm"
                ),
                V3,
                UNKNOWN,
                "cpu-instructions",
            ),
            Trial(
                "with AVX-512",
                lambda: _wheel_of(
                    built(_MARKED, "-O3 -march=x86-64-v4 -mprefer-vector-width=512 -shared -fPIC -nostdlib"), "vllm"
                ),
                AVX512,
                YES,
                truth=RUNS,
            ),
        ),
        needs_gcc=True,
    ),
    Case(
        "C23",
        "an initialiser of AVX2 code runs before the dispatcher",
        (
            Trial("without AVX2", lambda: image(compiled("before_main")), V2, NO, "cpu-instructions"),
            Trial("with AVX2", lambda: image(compiled("before_main")), V3, YES, truth=RUNS),
            Trial("the dispatcher alone", lambda: image(compiled("if_supported")), V2, YES, truth=RUNS),
        ),
        needs_gcc=True,
    ),
    Case(
        "C25",
        "a vendor's library for AVX2 below site-packages",
        (
            Trial(
                "without AVX2",
                lambda: _wheel_of(built(_MARKED, "-O3 -march=haswell -shared -fPIC -nostdlib"), "onnxruntime"),
                V2,
                UNKNOWN,
                "cpu-instructions",
            ),
            Trial(
                "with it",
                lambda: _wheel_of(built(_MARKED, "-O3 -march=haswell -shared -fPIC -nostdlib"), "onnxruntime"),
                V3,
                YES,
                truth=RUNS,
            ),
        ),
        needs_gcc=True,
    ),
    Case(
        "C27",
        "AMX code that did not ask the kernel for its state",
        (
            Trial("on an AMX CPU", lambda: image(compiled(_TILES)), with_flags(AVX512, "AMXTILE"), YES, truth=OPEN),
            Trial("on a CPU without AMX", lambda: image(compiled(_TILES)), V3, NO, "cpu-instructions"),
        ),
        needs_gcc=True,
        undecidable="whether a program asks for the state of tiles before it uses them is in no single place of it",
    ),
    Case(
        "C28",
        "a virtual machine that shows AMX without having tiles",
        (
            Trial("the detector has looked at XCR0", lambda: image(compiled(_TILES)), AVX512, NO, "cpu-instructions"),
            Trial("AMX that is there", lambda: image(compiled(_TILES)), with_flags(AVX512, "AMXTILE"), YES, truth=OPEN),
        ),
        needs_gcc=True,
        undecidable="the image asks for AMX either way: whether it is there is for the detector to find out",
    ),
    Case(
        "C29",
        "DPDK tests at its start what it was compiled for",
        (
            Trial(
                "qemu64",
                lambda: image(
                    compiled(_WORK, "-O3 -march=corei7 -msse4.2")
                    | {"/usr/bin/pktgen": built(_WORK, "-O3 -march=x86-64-v3")},
                    "/usr/bin/pktgen",
                ),
                V1,
                NO,
                "cpu-instructions",
            ),
            Trial(
                "Haswell",
                lambda: image(
                    compiled(_WORK, "-O3 -march=corei7 -msse4.2")
                    | {"/usr/bin/pktgen": built(_WORK, "-O3 -march=x86-64-v3")},
                    "/usr/bin/pktgen",
                ),
                V3,
                YES,
                truth=RUNS,
            ),
        ),
        needs_gcc=True,
    ),
    Case(
        "C30",
        "odd flags of another CPU's generation",
        (
            Trial(
                "VPCLMULQDQ on Haswell",
                lambda: image(
                    compiled('int main(void) { __asm__ volatile("vpclmulqdq $0, %ymm0, %ymm0, %ymm0"); return 0; }')
                ),
                V3,
                NO,
                "cpu-instructions",
            ),
            Trial(
                "on Alder Lake",
                lambda: image(
                    compiled('int main(void) { __asm__ volatile("vpclmulqdq $0, %ymm0, %ymm0, %ymm0"); return 0; }')
                ),
                ALDER,
                YES,
                truth=RUNS,
            ),
        ),
        needs_gcc=True,
    ),
)
