"""Category J, by code: for which GPUs a library was compiled."""

from tests.cases.images import nodes
from tests.cases.images.hosts import flags, instances, with_facts
from tests.cases.images.j_gpu import (
    BARE,
    GTX1080,
    NO,
    P100,
    RTX4090,
    RTX5090,
    RUNS,
    UNKNOWN,
    V100,
    YES,
    nvidia,
)
from tests.cases.images.parts import app, glibc, library
from tests.cases.images.records import Case, Image, Trial
from tests.cases.images.software import SITE, image, python, wheel
from tests.resolver.inspection.elves import Made
from tests.resolver.inspection.readings.sections import with_sections
from tests.resolver.inspection.readings.test_gpu_code import CODE, PTX, fatbin

from nodeworthy.verdicts import NodeFacts

K80 = ("Tesla K80", "102d")


def _amd(target: str) -> NodeFacts:
    return with_facts(
        nodes.amd64(),
        accel_device=instances({"vendor": "amd", "kind": "gpu", "gfx_target": target}),
        accel_driver=instances(),
        kernel_loadedmodule=flags("amdgpu"),
    )


def _torch(*entries: tuple[int, int], version: str = "2.6.0") -> Image:
    code = with_sections(Made(soname="libtorch_cuda.so"), {".nv_fatbin": fatbin(*entries)})
    return python(wheel("torch", version) | {f"{SITE}/torch/lib/libtorch_cuda.so": code})


def _rocm(*targets: str, override: str = "") -> Image:
    folder = "/opt/rocm/lib"
    kernels = {f"{folder}/rocblas/library/TensileLibrary_{target}.dat": b"x" for target in targets}
    files = {**glibc("amd64", "2.31"), "/app": app(needed=("libc.so.6", "librocblas.so.4"))}
    return image(
        files | kernels | {f"{folder}/librocblas.so.4": library(name="librocblas.so.4")},
        environment=(f"LD_LIBRARY_PATH={folder}", *((f"HSA_OVERRIDE_GFX_VERSION={override}",) if override else ())),
    )


CASES = (
    Case(
        "J08",
        "PyTorch without code for the newest GPUs",
        (
            Trial(
                "up to sm_90 on Blackwell",
                lambda: _torch((CODE, 50), (CODE, 80), (CODE, 86), (CODE, 90)),
                nvidia("570.86.10", *RTX5090),
                NO,
                "gpu-code",
            ),
            Trial(
                "with sm_120",
                lambda: _torch((CODE, 80), (CODE, 90), (CODE, 120), version="2.7.0"),
                nvidia("570.86.10", *RTX5090),
                YES,
                truth=RUNS,
            ),
            Trial(
                "with PTX for 9.0",
                lambda: _torch((CODE, 80), (CODE, 90), (PTX, 90)),
                nvidia("570.86.10", *RTX5090),
                YES,
                truth=RUNS,
            ),
            Trial(
                "up to sm_90 on Ada",
                lambda: _torch((CODE, 80), (CODE, 86), (CODE, 90)),
                nvidia("570.86.10", *RTX4090),
                YES,
                truth=RUNS,
            ),
            Trial("up to sm_90 on a node without a GPU", lambda: _torch((CODE, 80), (CODE, 90)), BARE, YES, truth=RUNS),
            Trial(
                "on a kernel without loadable modules",
                lambda: _torch((CODE, 80), (CODE, 90)),
                with_facts(nodes.amd64(), kernel_enabledmodule=flags("ext4")),
                YES,
                truth=RUNS,
            ),
            Trial(
                "a library of Python that is no framework",
                lambda: python(
                    wheel("x", "1.0")
                    | {f"{SITE}/x/lib/libx.so": with_sections(Made(), {".nv_fatbin": fatbin((CODE, 80))})}
                ),
                nvidia("570.86.10", *RTX5090),
                UNKNOWN,
                "gpu-code",
            ),
        ),
    ),
    Case(
        "J09",
        "PyTorch that has left out older GPUs",
        (
            Trial(
                "from sm_75 on, on Pascal",
                lambda: _torch((CODE, 75), (CODE, 80), (CODE, 90), (CODE, 120), (PTX, 120)),
                nvidia("570.86.10", *GTX1080),
                NO,
                "gpu-code",
            ),
            Trial("with sm_60", lambda: _torch((CODE, 60), (CODE, 80)), nvidia("570.86.10", *GTX1080), YES, truth=RUNS),
            Trial("on a P100", lambda: _torch((CODE, 75), (CODE, 80)), nvidia("570.86.10", *P100), NO, "gpu-code"),
            Trial(
                "from sm_75 on, on Volta",
                lambda: _torch((CODE, 75), (CODE, 80), (PTX, 75)),
                nvidia("570.86.10", *V100),
                NO,
                "gpu-code",
            ),
            Trial(
                "sm_61 alone on a P100, which is 6.0",
                lambda: _torch((CODE, 61)),
                nvidia("570.86.10", *P100),
                NO,
                "gpu-code",
            ),
            Trial(
                "sm_37 on a K80, whose number is among those of chips of 3.5",
                lambda: _torch((CODE, 37), (CODE, 50), (CODE, 60)),
                nvidia("470.256.02", *K80),
                YES,
                truth=RUNS,
            ),
            Trial(
                "from sm_50 on, on a K80",
                lambda: _torch((CODE, 50), (CODE, 60)),
                nvidia("470.256.02", *K80),
                NO,
                "gpu-code",
            ),
            Trial("PTX for 6.0 on Volta", lambda: _torch((PTX, 60)), nvidia("570.86.10", *V100), YES, truth=RUNS),
        ),
    ),
    Case(
        "J10",
        "ROCm without code for a GPU's target",
        (
            Trial("gfx1032", lambda: _rocm("gfx1030", "gfx90a"), _amd("gfx1032"), NO, "gpu-code"),
            Trial("gfx1030", lambda: _rocm("gfx1030", "gfx90a"), _amd("gfx1030"), YES, truth=RUNS),
            Trial("gfx1103 where gfx1100 is", lambda: _rocm("gfx1100"), _amd("gfx1103"), NO, "gpu-code"),
            Trial(
                "overridden within the family",
                lambda: _rocm("gfx1030", override="10.3.0"),
                _amd("gfx1032"),
                YES,
                truth=RUNS,
            ),
            Trial("no AMD driver", lambda: _rocm("gfx1030"), BARE, YES, truth=RUNS),
        ),
    ),
    Case(
        "J11",
        "an override to another family",
        (
            Trial(
                "gfx90c as gfx1030",
                lambda: _rocm("gfx1030", "gfx900", override="10.3.0"),
                _amd("gfx90c"),
                UNKNOWN,
                "gpu-code",
            ),
            Trial(
                "gfx90c as gfx900",
                lambda: _rocm("gfx1030", "gfx900", override="9.0.0"),
                _amd("gfx90c"),
                YES,
                truth=RUNS,
            ),
        ),
    ),
)
