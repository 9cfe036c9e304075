"""Category F: kernels that are too old, and too new."""

from tests.cases.images import nodes
from tests.cases.images.parts import Files, app, glibc, library, musl, musl_app, static
from tests.cases.images.records import Case, Image, Trial, Truth
from tests.cases.images.shapes import one
from tests.resolver.inspection.elves import abi_tag

from nodeworthy.verdicts import Answer

YES, NO, UNKNOWN = Answer.COMPATIBLE, Answer.INCOMPATIBLE, Answer.UNKNOWN
NAS, ENTERPRISE, OLDER, CURRENT = (
    nodes.amd64(kernel_version=nodes.kernel(release))
    for release in ("3.10.108", "3.10.0-1160.el7.x86_64", "2.6.32-754.el6.x86_64", "6.8.0-45-generic")
)
NEWEST = nodes.amd64(kernel_version=nodes.kernel("6.12.4-200.fc41.x86_64"), kernel_cgroup={"version": "2"})
NEWEST_WITH_V1 = nodes.amd64(kernel_version=nodes.kernel("6.12.4-200.fc41.x86_64"), kernel_cgroup={"version": "1"})
TOO_OLD = b"FATAL: kernel too old\n\0"


def _one(files: Files, *entrypoint: str, environment: tuple[str, ...] = ()) -> Image:
    return one(files, "linux/amd64", *entrypoint, environment=environment)


def _glibc_for(version: str, *floor: int) -> Image:
    return _one({**glibc(version=version, tag=abi_tag(*floor)), "/app": app()})


def _qt(version: str, *, copy: bool = False) -> Files:
    """A program with a library whose ABI tag is Linux 3.17, as Qt's since 5.10."""
    name = "libQt5Core.so.5"
    files: Files = {
        **glibc(version=version, tag=abi_tag(2, 6, 32)),
        f"/lib/x86_64-linux-gnu/{name}": library(name=name, notes=abi_tag(3, 17, 0)),
        "/app": app(needed=(name, "libc.so.6")),
    }
    return files | ({f"/usr/lib/{name}": library(name=name)} if copy else {})


def _asking(version: str, *imports: str) -> Image:
    return _one({**glibc(version=version), "/app": app(imports=imports)})


def _java(version: str, home: str = "/opt/java") -> Image:
    files: Files = {
        **glibc(version="2.31"),
        f"{home}/bin/java": app(),
        f"{home}/lib/server/libjvm.so": library(name="libjvm.so"),
        f"{home}/release": f'JAVA_VERSION="{version}"\n'.encode(),
    }
    return _one(files, f"{home}/bin/java", "-jar", "/app.jar")


CASES = (
    Case(
        "F01",
        "a C library compiled for a newer kernel",
        (
            Trial("4.4 on 3.10", lambda: _glibc_for("2.33", 4, 4, 0), NAS, NO, "kernel-floor"),
            Trial("4.4 on 6.8", lambda: _glibc_for("2.33", 4, 4, 0), CURRENT, YES, truth=Truth.RUNS),
            Trial("3.2 on 2.6.32", lambda: _glibc_for("2.31", 3, 2, 0), OLDER, NO, "kernel-floor"),
            Trial("3.2 on 3.10", lambda: _glibc_for("2.31", 3, 2, 0), ENTERPRISE, YES, truth=Truth.RUNS),
            Trial(
                "a static program that looks itself",
                lambda: _one({"/app": static(notes=abi_tag(4, 4, 0), tail=TOO_OLD)}),
                ENTERPRISE,
                NO,
                "kernel-floor",
            ),
            Trial(
                "a static program that does not",
                lambda: _one({"/app": static(notes=abi_tag(4, 4, 0))}),
                ENTERPRISE,
                YES,
                truth=Truth.RUNS,
            ),
        ),
    ),
    Case(
        "F02",
        "a library that is there and is passed over, for its ABI tag is newer than the kernel",
        (
            Trial("3.17 on 3.10", lambda: _one(_qt("2.31")), ENTERPRISE, NO, "kernel-floor"),
            Trial("3.17 on 6.8", lambda: _one(_qt("2.31")), CURRENT, YES, truth=Truth.RUNS),
            Trial(
                "with musl, which has no tags",
                lambda: _one(
                    {
                        **musl(version="1.1.24"),
                        "/usr/lib/libQt5Core.so.5": library(name="libQt5Core.so.5", notes=abi_tag(3, 17, 0)),
                        "/app": musl_app(needed=("libQt5Core.so.5", "libc.musl-x86_64.so.1")),
                    }
                ),
                ENTERPRISE,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "a copy without a tag stands behind it",
                lambda: _one(_qt("2.31", copy=True)),
                ENTERPRISE,
                UNKNOWN,
                "kernel-floor",
                Truth.RUNS,
            ),
            Trial(
                "one without a tag is found first",
                lambda: _one({**_qt("2.31", copy=True)}, environment=("LD_LIBRARY_PATH=/usr/lib",)),
                ENTERPRISE,
                YES,
                truth=Truth.RUNS,
            ),
        ),
    ),
    Case(
        "F03",
        "Apache's library asks for random bytes by getrandom",
        (
            Trial(
                "3.10",
                lambda: _one(
                    {
                        **glibc(version="2.31"),
                        "/usr/lib/libapr-1.so.0": library(
                            name="libapr-1.so.0", needed=("libc.so.6",), imports=("getrandom",)
                        ),
                        "/usr/sbin/httpd": app(needed=("libapr-1.so.0", "libc.so.6")),
                    },
                    "httpd",
                    "-DFOREGROUND",
                ),
                NAS,
                UNKNOWN,
                "getrandom",
            ),
            Trial(
                "6.8",
                lambda: _one(
                    {
                        **glibc(version="2.31"),
                        "/usr/lib/libapr-1.so.0": library(
                            name="libapr-1.so.0", needed=("libc.so.6",), imports=("getrandom",)
                        ),
                        "/usr/sbin/httpd": app(needed=("libapr-1.so.0", "libc.so.6")),
                    },
                    "httpd",
                    "-DFOREGROUND",
                ),
                CURRENT,
                YES,
                truth=Truth.RUNS,
            ),
            Trial("only a weak symbol", lambda: _asking("2.31", "?getrandom"), CURRENT, YES, truth=Truth.RUNS),
        ),
    ),
    Case(
        "F04",
        "arc4random of glibc 2.36 and later",
        (
            Trial("3.10", lambda: _asking("2.39", "arc4random_buf"), NAS, UNKNOWN, "getrandom"),
            Trial("6.8", lambda: _asking("2.39", "arc4random_buf"), CURRENT, YES, truth=Truth.RUNS),
            Trial(
                "getentropy on 3.19",
                lambda: _asking("2.31", "getentropy"),
                nodes.amd64(kernel_version=nodes.kernel("3.19.8")),
                YES,
                truth=Truth.RUNS,
            ),
        ),
    ),
    Case(
        "F05",
        "programs that call getrandom themselves",
        (
            Trial("3.10", lambda: _asking("2.31", "getrandom"), ENTERPRISE, UNKNOWN, "getrandom"),
            Trial(
                "4.19",
                lambda: _asking("2.31", "getrandom"),
                nodes.amd64(kernel_version=nodes.kernel("4.19.0-27-amd64")),
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "3.16",
                lambda: _asking("2.28", "getrandom"),
                nodes.amd64(kernel_version=nodes.kernel("3.16.0-11-amd64")),
                UNKNOWN,
                "getrandom",
                Truth.OPEN,
            ),
        ),
    ),
    Case(
        "F06",
        "a Java that fails on kernels from 6.12 on",
        (
            Trial("6.12", lambda: _java("17.0.6"), NEWEST, UNKNOWN, "java-cgroup-v2"),
            Trial("6.8", lambda: _java("17.0.6"), CURRENT, YES, truth=Truth.RUNS),
            Trial("6.12 with cgroup v1", lambda: _java("17.0.6"), NEWEST_WITH_V1, YES, truth=Truth.RUNS),
            Trial("the next update", lambda: _java("17.0.7"), NEWEST, YES, truth=Truth.RUNS),
        ),
    ),
    Case(
        "F07",
        "the Java bundled with a search engine",
        (
            Trial("6.12", lambda: _java("16", "/usr/share/elasticsearch/jdk"), NEWEST, UNKNOWN, "java-cgroup-v2"),
            Trial("6.8", lambda: _java("16", "/usr/share/elasticsearch/jdk"), CURRENT, YES, truth=Truth.RUNS),
            Trial("of today", lambda: _java("21.0.7", "/usr/share/elasticsearch/jdk"), NEWEST, YES, truth=Truth.RUNS),
        ),
    ),
    Case(
        "F08",
        "Docker without root, whose overlay mounts want Linux 5.11",
        (
            Trial(
                "5.4",
                lambda: _one({"/usr/bin/rootlesskit": static()}, "rootlesskit", "dockerd"),
                nodes.amd64(kernel_version=nodes.kernel("5.4.0-81-generic")),
                UNKNOWN,
                "kernel-floor",
                Truth.OPEN,
            ),
            Trial(
                "arm64 node",
                lambda: _one({"/usr/bin/rootlesskit": static()}, "rootlesskit", "dockerd"),
                nodes.arm64(),
                NO,
                "platform-mismatch",
            ),
            Trial(
                "6.8",
                lambda: _one({"/usr/bin/rootlesskit": static()}, "rootlesskit", "dockerd"),
                CURRENT,
                YES,
                truth=Truth.RUNS,
            ),
        ),
    ),
    Case(
        "F09",
        "an agent whose eBPF wants Linux 4.8",
        (
            Trial(
                "3.10",
                lambda: _one({"/usr/bin/cilium-agent": static()}, "cilium-agent"),
                ENTERPRISE,
                NO,
                "kernel-floor",
            ),
            Trial(
                "6.8 with its options",
                lambda: _one({"/usr/bin/cilium-agent": static()}, "cilium-agent"),
                nodes.amd64(
                    kernel_config=dict.fromkeys(("BPF_SYSCALL", "NET_CLS_BPF", "NET_SCH_INGRESS", "CGROUP_BPF"), "y")
                ),
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "only asked for its version",
                lambda: _one({"/usr/bin/cilium-agent": static()}, "cilium-agent", "--version"),
                ENTERPRISE,
                YES,
                truth=Truth.RUNS,
            ),
            Trial(
                "another program of that name in a test",
                lambda: _one({"/app": static(), "/opt/tests/cilium-agent": static()}),
                ENTERPRISE,
                YES,
                truth=Truth.RUNS,
            ),
        ),
    ),
)
