"""Category J: GPUs, their drivers and the code for them."""

from tests.cases.images import nodes
from tests.cases.images.hosts import attributes, flags, instances, with_facts
from tests.cases.images.parts import Files, app, glibc, library, static
from tests.cases.images.records import Case, Image, Trial, Truth
from tests.cases.images.software import image

from nodeworthy.features import FeatureSet
from nodeworthy.verdicts import Answer, NodeFacts

YES, NO, UNKNOWN = Answer.COMPATIBLE, Answer.INCOMPATIBLE, Answer.UNKNOWN
RUNS, OPEN = Truth.RUNS, Truth.OPEN


def nvidia(
    driver: str, model: str = "NVIDIA GeForce RTX 4090", number: str = "2684", base: NodeFacts | None = None
) -> NodeFacts:
    """A node with one GPU and its driver; an empty model or number is not told."""
    module = {"vendor": "nvidia", "where": "module", "name": "nvidia", "version": driver}
    device = {"vendor": "nvidia", "vendor_id": "10de", "kind": "gpu", "model": model, "device_id": number}
    return with_facts(
        base or nodes.amd64(),
        accel_driver=instances(module),
        accel_device=instances({name: text for name, text in device.items() if text}),
        kernel_loadedmodule=flags("nvidia", "nvidia_uvm"),
    )


BARE = with_facts(
    nodes.amd64(),
    accel_driver=instances(),
    accel_device=instances(),
    pci_device=instances(),
    kernel_loadedmodule=flags("ext4"),
)
P100, V100 = ("Tesla P100-PCIE-16GB", "15f8"), ("Tesla V100-SXM2-32GB", "1db5")
GTX1080, RTX5090 = ("NVIDIA GeForce GTX 1080", "1b80"), ("NVIDIA GeForce RTX 5090", "2b85")
A100, H100, T4 = ("NVIDIA A100-SXM4-40GB", "20b0"), ("NVIDIA H100 80GB HBM3", "2330"), ("Tesla T4", "1eb8")
QUADRO, RTX4090 = ("Quadro RTX 6000", "1e30"), ("NVIDIA GeForce RTX 4090", "2684")

STOCK_12_8 = (
    "cuda>=12.8 brand=unknown,driver>=470,driver<471 brand=grid,driver>=470,driver<471 brand=tesla,driver>=470,driver<471"
    " brand=nvidia,driver>=470,driver<471 brand=quadro,driver>=470,driver<471 brand=quadrortx,driver>=470,driver<471"
    " brand=tesla,driver>=535,driver<536 brand=quadrortx,driver>=535,driver<536 brand=tesla,driver>=550,driver<551"
)
STOCK_9_0 = "cuda>=9.0"
STOCK_10_0 = "cuda>=10.0 brand=tesla,driver>=384,driver<385 brand=tesla,driver>=410,driver<411"


def _cuda(require: str, *more: str, devices: str = "all", files: Files | None = None) -> Image:
    """An image of CUDA by its variables."""
    given = (f"NVIDIA_REQUIRE_CUDA={require}",) if require else ()
    environment = (*given, f"NVIDIA_VISIBLE_DEVICES={devices}", "NVIDIA_DRIVER_CAPABILITIES=compute,utility", *more)
    return image({"/app": static(), **(files or {})}, environment=environment)


def _runtime(version: str, machine: str = "amd64") -> Image:
    name = f"libcudart.so.{version}"
    files = {**glibc(machine, "2.31"), "/app": app(machine, needed=("libc.so.6", name))}
    return image(
        files | {f"/usr/local/cuda/lib64/{name}": library(machine, name)},
        platform=f"linux/{machine}",
        environment=("LD_LIBRARY_PATH=/usr/local/cuda/lib64",),
    )


def _compat(version: str, *, used: bool = True) -> Image:
    folder = "/usr/local/cuda/compat"
    files: Files = {
        f"{folder}/libcuda.so.{version}": library(name="libcuda.so.1"),
        f"{folder}/libcuda.so.1": f"-> libcuda.so.{version}",
    }
    environment = (f"LD_LIBRARY_PATH={folder}",) if used else ()
    return image({"/app": static(), **files}, environment=environment)


def _jetson() -> Image:
    return image(
        {"/app": static("arm64"), "/etc/nv_tegra_release": b"# R35 (release), REVISION: 4.1\n"}, platform="linux/arm64"
    )


CASES = (
    Case(
        "J01",
        "NVIDIA_REQUIRE_CUDA",
        (
            Trial(
                "12.8 on driver 535 of a GeForce",
                lambda: _cuda(STOCK_12_8),
                nvidia("535.183.01"),
                NO,
                "nvidia-require",
            ),
            Trial("12.8 on driver 570", lambda: _cuda(STOCK_12_8), nvidia("570.86.10"), YES, truth=RUNS),
            Trial(
                "driver 535 of a Tesla, by another clause",
                lambda: _cuda(STOCK_12_8),
                nvidia("535.183.01", *A100),
                YES,
                truth=RUNS,
            ),
            Trial(
                "driver 545 of a Tesla, between the clauses",
                lambda: _cuda(STOCK_12_8),
                nvidia("545.23.08", *A100),
                NO,
                "nvidia-require",
            ),
            Trial("driver 550 of a Tesla", lambda: _cuda(STOCK_12_8), nvidia("550.90.07", *T4), YES, truth=RUNS),
            Trial(
                "driver 535 of a Quadro RTX", lambda: _cuda(STOCK_12_8), nvidia("535.183.01", *QUADRO), YES, truth=RUNS
            ),
            Trial(
                "switched off, at one's own risk",
                lambda: _cuda(STOCK_12_8, "NVIDIA_DISABLE_REQUIRE=1"),
                nvidia("535.183.01"),
                YES,
                truth=OPEN,
            ),
            Trial(
                "two variables, one of them not met",
                lambda: _cuda("cuda>=11.0", "NVIDIA_REQUIRE_DRIVER=driver>=560"),
                nvidia("550.90.07"),
                NO,
                "nvidia-require",
            ),
            Trial(
                "two variables, both met",
                lambda: _cuda("cuda>=11.0", "NVIDIA_REQUIRE_DRIVER=driver>=550"),
                nvidia("550.90.07"),
                YES,
                truth=RUNS,
            ),
            Trial(
                "an architecture that is wanted",
                lambda: _cuda("cuda>=11.0", "NVIDIA_REQUIRE_ARCH=arch>=7.0"),
                nvidia("550.90.07", *P100),
                NO,
                "nvidia-require",
            ),
            Trial("a node without a GPU", lambda: _cuda(STOCK_12_8), BARE, UNKNOWN, "nvidia-gpu"),
            Trial("no GPU is asked for", lambda: _cuda(STOCK_12_8, devices="void"), BARE, YES, truth=RUNS),
        ),
    ),
    Case(
        "J02",
        "a driver one minor version of CUDA too old",
        (
            Trial("551 has CUDA 12.4", lambda: _cuda("cuda>=12.8"), nvidia("551.78"), NO, "nvidia-require"),
            Trial("12.4 is asked for", lambda: _cuda("cuda>=12.4"), nvidia("551.78"), YES, truth=RUNS),
            Trial("just the first driver with 12.8", lambda: _cuda("cuda>=12.8"), nvidia("570.26"), YES, truth=RUNS),
            Trial("just before it", lambda: _cuda("cuda>=12.8"), nvidia("569.99"), NO, "nvidia-require"),
            Trial("12.4 refused by <", lambda: _cuda("cuda>=12.0,cuda<12.4"), nvidia("551.78"), NO, "nvidia-require"),
        ),
    ),
    Case(
        "J04",
        "a requirement that leaves brands out",
        (
            Trial(
                "a GeForce on driver 470",
                lambda: _cuda("cuda>=11.5 brand=tesla,driver>=418,driver<471"),
                nvidia("470.82.01"),
                NO,
                "nvidia-require",
            ),
            Trial(
                "a Tesla on driver 470",
                lambda: _cuda("cuda>=11.5 brand=tesla,driver>=418,driver<471"),
                nvidia("470.82.01", *V100),
                YES,
                truth=RUNS,
            ),
            Trial(
                "a GeForce that is named",
                lambda: _cuda("cuda>=11.5 brand=geforcertx,driver>=470,driver<471"),
                nvidia("470.82.01"),
                YES,
                truth=RUNS,
            ),
        ),
    ),
    Case(
        "J05",
        "a runtime of CUDA on a driver before its first",
        (
            Trial("CUDA 12 on driver 470", lambda: _runtime("12"), nvidia("470.82.01"), NO, "cuda-runtime"),
            Trial("CUDA 12 on driver 525", lambda: _runtime("12"), nvidia("525.60.13"), YES, truth=RUNS),
            Trial(
                "CUDA 11.0 on driver 450.80.02", lambda: _runtime("11.0"), nvidia("450.80.02", *V100), YES, truth=RUNS
            ),
            Trial("CUDA 11.0 on driver 440", lambda: _runtime("11.0"), nvidia("440.33.01", *V100), NO, "cuda-runtime"),
            Trial("CUDA 13 on driver 570", lambda: _runtime("13"), nvidia("570.86.10"), NO, "cuda-runtime"),
            Trial("CUDA 13 on driver 580", lambda: _runtime("13"), nvidia("580.65.06"), YES, truth=RUNS),
            Trial(
                "CUDA 10.2 on driver 440.33.01", lambda: _runtime("10.2"), nvidia("440.33.01", *V100), YES, truth=RUNS
            ),
        ),
    ),
    Case(
        "J06",
        "a compatibility library on a GeForce",
        (
            Trial(
                "GTX 1050 Ti",
                lambda: _compat("535.54.03"),
                nvidia("470.82.01", "NVIDIA GeForce GTX 1050 Ti", "1c82"),
                UNKNOWN,
                "cuda-compat",
            ),
            Trial("a V100", lambda: _compat("535.54.03"), nvidia("470.82.01", *V100), YES, truth=RUNS),
            Trial(
                "not in the loader's way",
                lambda: _compat("535.54.03", used=False),
                nvidia("470.82.01"),
                YES,
                "cuda-compat",
                truth=OPEN,
            ),
        ),
    ),
    Case(
        "J07",
        "a driver library of another version than the module",
        (
            Trial(
                "libcuda 470 of the image under module 525",
                lambda: _compat("470.82.01"),
                nvidia("525.60.13", *V100),
                UNKNOWN,
                "cuda-compat",
            ),
            Trial("the same version", lambda: _compat("525.60.13"), nvidia("525.60.13", *V100), YES, truth=RUNS),
            Trial(
                "a driver in the usual folder",
                lambda: image(
                    {"/app": static(), "/usr/lib/x86_64-linux-gnu/libcuda.so.470.82.01": library(name="libcuda.so.1")}
                ),
                nvidia("525.60.13"),
                UNKNOWN,
                "nvidia-driver-library",
            ),
        ),
    ),
    Case(
        "J12",
        "a node without NVIDIA's container toolkit",
        (
            Trial(
                "driver and GPU, no toolkit",
                lambda: _cuda("cuda>=11.0"),
                with_facts(nvidia("550.90.07"), system_runtime=attributes(docker="26.1.0", containerd="1.7.0")),
                YES,
                "nvidia-toolkit",
                truth=OPEN,
            ),
            Trial(
                "no driver either",
                lambda: _cuda("cuda>=11.0"),
                with_facts(BARE, system_runtime=attributes(docker="26.1.0")),
                UNKNOWN,
                "nvidia-toolkit",
            ),
            Trial(
                "with the toolkit",
                lambda: _cuda("cuda>=11.0"),
                with_facts(
                    nvidia("550.90.07"),
                    system_runtime=FeatureSet(attributes={"docker": "26.1.0", "nvidia-container-runtime": "1.15.0"}),
                ),
                YES,
                truth=RUNS,
            ),
        ),
        undecidable="how a container is given its GPU (a runtime, CDI, an operator) is no property of image or node",
    ),
    Case(
        "J13",
        "a node without the driver's libraries",
        (
            Trial(
                "a GPU, no driver",
                lambda: _cuda("cuda>=11.0"),
                with_facts(BARE, accel_device=instances({"vendor": "nvidia", "kind": "gpu", "device_id": "2684"})),
                UNKNOWN,
                "nvidia-driver",
            ),
            Trial("with the driver", lambda: _cuda("cuda>=11.0"), nvidia("550.90.07"), YES, truth=RUNS),
        ),
    ),
    Case(
        "J14",
        "an image for Jetson on an Arm server",
        (
            Trial("L4T on a server", _jetson, nvidia("550.90.07", *H100, base=nodes.arm64()), UNKNOWN, "jetson"),
            Trial(
                "L4T on a Jetson", _jetson, nodes.arm64(kernel_version=nodes.kernel("5.10.120-tegra")), YES, truth=RUNS
            ),
        ),
    ),
    Case(
        "J15",
        "a derived image whose own requirement is stricter",
        (
            Trial(
                "a bare cuda>=12.5 on driver 535",
                lambda: _cuda("cuda>=12.5"),
                nvidia("535.183.01", *A100),
                NO,
                "nvidia-require",
            ),
            Trial(
                "the stock expression",
                lambda: _cuda("cuda>=12.5 brand=tesla,driver>=535,driver<536"),
                nvidia("535.183.01", *A100),
                YES,
                truth=RUNS,
            ),
        ),
    ),
)
