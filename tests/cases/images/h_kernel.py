"""Category H: options and modules of the kernel, devices, settings, control groups."""

from tests.cases.images import nodes
from tests.cases.images.hosts import attributes, flags, instances, nobody_knows, recorded, with_facts
from tests.cases.images.parts import Files, app, busybox, glibc, library, static
from tests.cases.images.records import Case, Image, Trial, Truth
from tests.cases.images.software import image, program

from nodeworthy.features import FeatureSet
from nodeworthy.verdicts import Answer, NodeFacts

YES, NO, UNKNOWN = Answer.COMPATIBLE, Answer.INCOMPATIBLE, Answer.UNKNOWN
RUNS, OPEN = Truth.RUNS, Truth.OPEN

RECORDED = recorded("linux-ubuntu24.04-kvm_node")


def _modules(*loaded: str, available: tuple[str, ...] = ()) -> NodeFacts:
    return with_facts(
        nodes.amd64(),
        kernel_module=flags(*loaded),
        kernel_loadedmodule=flags(*loaded),
        kernel_availablemodule=flags(*loaded, *available),
    )


def _devices(*paths: str) -> NodeFacts:
    return with_facts(nodes.amd64(), system_device=flags(*paths))


def config(kernel: str = "6.8.0", **options: str) -> NodeFacts:
    """A node by its kernel and the options of it."""
    return with_facts(
        nodes.amd64(), kernel_config=FeatureSet(attributes=options), kernel_version=attributes(full=kernel)
    )


def _needing(*libraries: str) -> Image:
    """A program that is linked to these libraries."""
    files: Files = {**glibc("amd64", "2.31"), "/app": app(needed=("libc.so.6", *libraries))}
    return image(files | {f"/lib/x86_64-linux-gnu/{name}": library(name=name) for name in libraries})


def _starting(script: str, **programs: bytes | str) -> Image:
    """A script as entrypoint, and the programs that it calls."""
    files: Files = {**busybox(), **glibc("amd64", "2.31"), "/entry.sh": f"#!/bin/sh\n{script}\n".encode()}
    return image(files | {path.replace("__", "/"): content for path, content in programs.items()}, "/entry.sh")


def _iptables(backend: str) -> Image:
    script = "iptables -t nat -A POSTROUTING -j MASQUERADE\nexec /app"
    return _starting(
        script,
        __usr__sbin__iptables=f"-> xtables-{backend}-multi",
        **{f"__usr__sbin__xtables-{backend}-multi": app(), "__app": static()},
    )


def only(name: str, *arguments: str, environment: tuple[str, ...] = ()) -> Image:
    """A program and what it is called with."""
    path = f"/usr/bin/{name}"
    return image(program(path), path, *arguments, environment=environment)


CASES = (
    Case(
        "H01",
        "iptables of one backend where the kernel has the other",
        (
            Trial(
                "legacy on a kernel with nf_tables alone",
                lambda: _iptables("legacy"),
                _modules("nf_tables"),
                UNKNOWN,
                "iptables-legacy",
            ),
            Trial(
                "legacy where ip_tables is loaded",
                lambda: _iptables("legacy"),
                _modules("ip_tables", "iptable_nat"),
                YES,
                truth=RUNS,
            ),
            Trial("nft on a kernel with nf_tables", lambda: _iptables("nft"), _modules("nf_tables"), YES, truth=RUNS),
            Trial(
                "nft that the kernel loads by itself",
                lambda: _iptables("nft"),
                _modules("x_tables", available=("nf_tables",)),
                YES,
                truth=RUNS,
            ),
            Trial(
                "nft on an old kernel",
                lambda: _iptables("nft"),
                _modules("ip_tables", "iptable_nat"),
                UNKNOWN,
                "iptables-nft",
            ),
            Trial(
                "legacy, and nobody knows the modules",
                lambda: _iptables("legacy"),
                nobody_knows(nodes.amd64(), "kernel.module", "kernel.availablemodule"),
                UNKNOWN,
                "iptables-legacy",
                truth=OPEN,
            ),
        ),
    ),
    Case(
        "H02",
        "FUSE without /dev/fuse",
        (
            Trial("s3fs on OpenVZ", lambda: only("s3fs"), _devices("net/tun"), UNKNOWN, "device-fuse"),
            Trial("s3fs with the device", lambda: only("s3fs"), _devices("fuse", "net/tun"), YES, truth=RUNS),
            Trial(
                "a program linked to libfuse3",
                lambda: _needing("libfuse3.so.3"),
                _devices("net/tun"),
                UNKNOWN,
                "device-fuse",
            ),
            Trial("on the recorded node", lambda: only("s3fs"), RECORDED, YES, truth=RUNS),
        ),
    ),
    Case(
        "H03",
        "Ceph's block devices on a kernel without them",
        (
            Trial("no rbd", lambda: only("rbd", "map", "x"), _modules("ext4"), UNKNOWN, "module-rbd"),
            Trial(
                "rbd there to be loaded",
                lambda: only("rbd", "map", "x"),
                _modules("ext4", available=("rbd",)),
                YES,
                truth=RUNS,
            ),
            Trial(
                "another program of an image with rbd",
                lambda: image(program("/usr/bin/rbd") | {"/app": static()}),
                _modules("ext4"),
                YES,
                truth=RUNS,
            ),
        ),
    ),
    Case(
        "H04",
        "WireGuard that the kernel does not have",
        (
            Trial(
                "a custom kernel",
                lambda: only("wg-quick", "up", "wg0"),
                with_facts(
                    _modules("ext4"),
                    kernel_config=attributes(MODULES="y"),
                    kernel_version=attributes(full="5.10.60-qnap"),
                ),
                UNKNOWN,
                "wireguard",
            ),
            Trial(
                "there to be loaded",
                lambda: only("wg-quick", "up", "wg0"),
                _modules("ext4", available=("wireguard",)),
                YES,
                truth=RUNS,
            ),
            Trial(
                "built in, as the configuration says",
                lambda: only("wg-quick", "up", "wg0"),
                with_facts(
                    nobody_knows(nodes.amd64(), "kernel.module", "kernel.availablemodule"),
                    kernel_config=attributes(WIREGUARD="y"),
                ),
                YES,
                truth=RUNS,
            ),
        ),
    ),
    Case(
        "H05",
        "a VPN without /dev/net/tun",
        (
            Trial("Synology", lambda: only("openvpn"), _devices("fuse"), UNKNOWN, "device-tun"),
            Trial("with the device", lambda: only("openvpn"), _devices("net/tun"), YES, truth=RUNS),
            Trial("tailscaled", lambda: only("tailscaled"), _devices("fuse"), UNKNOWN, "device-tun"),
        ),
    ),
    Case(
        "H06",
        "an Android emulator without /dev/kvm",
        (
            Trial("no nested virtualization", lambda: only("emulator"), _devices("fuse"), UNKNOWN, "device-kvm"),
            Trial("bare metal", lambda: only("emulator"), _devices("fuse", "kvm"), YES, truth=RUNS),
            Trial(
                "qemu emulates without",
                lambda: only("qemu-system-x86_64"),
                _devices("fuse"),
                YES,
                "device-kvm",
                truth=OPEN,
            ),
            Trial("firecracker", lambda: only("firecracker"), _devices("fuse"), UNKNOWN, "device-kvm"),
        ),
    ),
    Case(
        "H07",
        "an NFS server, and a kernel without nfsd",
        (
            Trial(
                "a cloud's kernel",
                lambda: _starting(
                    "rpc.nfsd 8\nexec rpc.mountd -F",
                    **{"__usr__sbin__rpc.nfsd": app(), "__usr__sbin__rpc.mountd": app()},
                ),
                _modules("ext4"),
                UNKNOWN,
                "module-nfsd",
            ),
            Trial(
                "built in",
                lambda: _starting(
                    "rpc.nfsd 8\nexec rpc.mountd -F",
                    **{"__usr__sbin__rpc.nfsd": app(), "__usr__sbin__rpc.mountd": app()},
                ),
                with_facts(_modules("ext4"), kernel_module=flags("ext4", "nfsd")),
                YES,
                truth=RUNS,
            ),
        ),
    ),
    Case(
        "H08",
        "DPDK without VFIO",
        (
            Trial(
                "no IOMMU",
                lambda: only("dpdk-testpmd"),
                with_facts(_modules("ext4"), system_device=flags("fuse")),
                UNKNOWN,
                "device-vfio",
            ),
            Trial(
                "with VFIO",
                lambda: only("dpdk-testpmd"),
                with_facts(_modules("vfio_pci"), system_device=flags("vfio/vfio")),
                YES,
                truth=RUNS,
            ),
        ),
    ),
    Case(
        "H09",
        "RDMA where locked memory is limited",
        (
            Trial(
                "no RDMA device",
                lambda: _needing("librdmacm.so.1"),
                with_facts(nodes.amd64(), network_rdma=instances()),
                YES,
                "rdma-device",
                truth=OPEN,
            ),
            Trial(
                "a program for RDMA of another architecture",
                lambda: image({"/app": static("arm64")}, platform="linux/arm64"),
                nodes.amd64(),
                NO,
                "platform-mismatch",
            ),
        ),
        undecidable="limits of locked memory are given to a container, not to an image or a node",
    ),
    Case(
        "H14",
        "eBPF agents without the kernel's types",
        (
            Trial("no BTF", lambda: only("tetragon"), config("5.4.0", BPF="y"), UNKNOWN, "kernel-btf"),
            Trial("with BTF", lambda: only("tetragon"), config(DEBUG_INFO_BTF="y"), YES, truth=RUNS),
        ),
    ),
    Case(
        "H15",
        "Cilium and the options of the kernel",
        (
            Trial(
                "Ubuntu's kvm flavour",
                lambda: only("cilium-agent"),
                config(BPF_SYSCALL="y", NET_CLS_BPF="m"),
                UNKNOWN,
                "kernel-config",
            ),
            Trial(
                "the generic one",
                lambda: only("cilium-agent"),
                config(BPF_SYSCALL="y", NET_CLS_BPF="m", NET_SCH_INGRESS="m", CGROUP_BPF="y"),
                YES,
                truth=RUNS,
            ),
            Trial(
                "Linux 3.10", lambda: only("cilium-agent"), config("3.10.0-1160", BPF_SYSCALL="y"), NO, "kernel-floor"
            ),
            Trial(
                "the configuration cannot be read",
                lambda: only("cilium-agent"),
                nobody_knows(nodes.amd64(), "kernel.config"),
                UNKNOWN,
                "kernel-config",
                truth=OPEN,
            ),
        ),
    ),
)
