"""The table of signatures: every row can be used, and every message that is known belongs to its row."""

import re

import pytest
from tests.shared.diagnosis.cases import explain

from nodeworthy.diagnosis import load
from nodeworthy.diagnosis.observations import POD_FACTS
from nodeworthy.diagnosis.signatures import DefectNeed, Hypothesis, NodeNeed, PodNeed, SignalNeed, TextNeed
from nodeworthy.rules import compile_term

TABLE = load()
HYPOTHESES = [(row.code, one) for row in TABLE.signatures for one in row.hypotheses]


def needs_of(one: Hypothesis) -> list[object]:
    return [*one.needs, *one.any_of, *one.excludes, *one.wants]


def test_every_row_has_a_name_of_its_own_a_source_and_something_to_find() -> None:
    codes = [row.code for row in TABLE.signatures]
    assert len(codes) == len(set(codes))
    for row in TABLE.signatures:
        assert row.source, row.code
        assert row.speaker, row.code
        assert row.rank in {1, 2, 3, 4}, row.code
        assert row.hypotheses, row.code
        assert row.fragments or row.patterns or row.signals or row.exit_codes, row.code
        assert all(fragment == fragment.lower() for fragment in row.fragments), row.code


def test_every_hypothesis_can_be_told_apart_and_asks_what_can_be_answered() -> None:
    codes = {row.code for row in TABLE.signatures}
    for row, one in HYPOTHESES:
        assert one.separates, (row, one.code)
        for need in needs_of(one):
            if isinstance(need, NodeNeed):
                compile_term(need.term({"features": "avx2", "level": "3", "module": "fuse"}))
            elif isinstance(need, PodNeed):
                assert need.fact in POD_FACTS
            elif isinstance(need, SignalNeed):
                assert need.code in codes
            elif isinstance(need, DefectNeed):
                re.compile(need.codes)
            elif isinstance(need, TextNeed):
                re.compile(need.pattern)


def test_names_in_texts_are_captured_by_a_pattern_or_known_of_the_case() -> None:
    known = {"image_architecture", "feature", "syscall", "architecture", "xid_text", "build"}
    for row in TABLE.signatures:
        captured = {name for pattern in row.patterns for name in re.compile(pattern).groupindex}
        for one in row.hypotheses:
            texts = " ".join([one.text, one.separates, one.cure, *one.selector, *one.selector.values()])
            assert set(re.findall(r"\{(\w+)\}", texts)) <= captured | known, (row.code, one.code)


MESSAGES = [
    ("exec /manager: exec format error", "exec-format-error"),
    ("standard_init_linux.go:228: exec user process caused: exec format error", "exec-format-error"),
    (
        "./steamcmd.sh: line 37: /root/steamcmd/linux32/steamcmd: cannot execute binary file: Exec format error",
        "nested-exec-format-error",
    ),
    (
        "Error loading shared library libcrypto.so.3: Exec format error (needed by /usr/bin/mysql)",
        "library-exec-format-error",
    ),
    ("modprobe: ERROR: could not insert 'nvidia': Exec format error", "module-exec-format-error"),
    ("OSError: [Errno 8] Exec format error: '/app/run.sh'", "python-exec-format-error"),
    ("no matching manifest for linux/arm64/v8 in the manifest list entries", "no-manifest-for-platform"),
    ("no matching manifest for linux/arm64/unknown in the manifest list entries", "malformed-platform"),
    ("no matching manifest for unknown in the manifest list entries", "malformed-platform"),
    (
        "WARNING: The requested image's platform (linux/amd64) does not match the detected host platform (linux/arm64/v8)",
        "platform-warning",
    ),
    ("rosetta error: failed to open elf at /lib64/ld-linux-x86-64.so.2", "rosetta-loader"),
    ("qemu-x86_64: Could not open '/lib64/ld-linux-x86-64.so.2': No such file or directory", "qemu-loader"),
    ("qemu: uncaught target signal 11 (Segmentation fault) - core dumped", "qemu-signal"),
    ("exec /entrypoint.sh: no such file or directory", "exec-no-such-file"),
    ("sh: ./app: not found", "exec-no-such-file"),
    ("/usr/bin/env: 'bash\\r': No such file or directory", "bad-interpreter"),
    (
        "error while loading shared libraries: libboost.so.1: cannot open shared object file: No such file or directory",
        "library-missing",
    ),
    ("error while loading shared libraries: liba.so: wrong ELF class: ELFCLASS32", "library-wrong-class"),
    ("Error loading shared library libgcc_s.so.1: No such file or directory (needed by /app)", "musl-library-missing"),
    ("/app: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by /app)", "glibc-version"),
    ("Error relocating /usr/lib/libfoo.so: __memcpy_chk: symbol not found", "relocation-failed"),
    ("/app: symbol lookup error: /usr/lib/libx.so: undefined symbol: foo_v2", "undefined-symbol"),
    ("Fatal glibc error: CPU does not support x86-64-v2", "glibc-level"),
    ("/usr/lib/libfoo.so.1: CPU ISA level is lower than required", "isa-level"),
    ("Fatal glibc error: CPU lacks ISA 3.00 support (POWER9 or later required)", "power-level"),
    ("Fatal glibc error: CPU lacks VXE support (z14 or later required)", "z-level"),
    ("This program can only be run on AMD64 processors with v3 microarchitecture support.", "go-level"),
    (
        "NumPy was built with baseline optimizations: (X86_V2) but your machine doesn't support: (X86_V2).",
        "numpy-baseline",
    ),
    (
        "WARNING: MongoDB 5.0+ requires a CPU with AVX support, and your current system does not appear to have that!",
        "application-needs-feature",
    ),
    ("error: CPU lacks AVX support. Please consider upgrading to a newer CPU.", "application-needs-feature"),
    ('This system does not support "SSE4_2".', "application-needs-feature"),
    ("fatal error: the cpu feature AVX was required at build time but isn't available", "application-needs-feature"),
    (
        "WARNING: MongoDB requires ARMv8.2-A or higher, and your current system does not appear to implement any",
        "mongo-arm",
    ),
    ("#  SIGILL (0x4) at pc=0x0000ffff8, java.lang.System.registerNatives()V", "java-sve"),
    ("Illegal instruction (core dumped)", "illegal-instruction"),
    ("zsh: illegal hardware instruction  ./app", "illegal-instruction"),
    ('EAL: does not support "RDSEED"', "application-needs-feature"),
    ("./node: GLIBC_2.28 not found", "glibc-version"),
    ("traps: app[77] trap invalid opcode ip:55d0 sp:7ffd error:0 in app[55d000+1000]", "illegal-instruction"),
    ("<jemalloc>: Unsupported system page size", "jemalloc-page-size"),
    ("libcef.so: ELF load command alignment not page-aligned", "segment-alignment"),
    ("_multiarray_umath.so: ELF load command address/offset not properly aligned", "segment-alignment"),
    ("third_party/tcmalloc/system-alloc.cc:625] MmapAligned() failed", "address-space"),
    ("Your kernel has a bug that could lead to data corruption during background save. ARM64-COW-BUG", "arm64-cow-bug"),
    ("FATAL: kernel too old", "kernel-too-old"),
    ("(38)Function not implemented: AH00141: Could not initialize random number generator", "no-getrandom"),
    ("Fatal glibc error: cannot get entropy for arc4random", "no-getrandom"),
    ("getrandom() error. Reason: Function not implemented", "no-getrandom"),
    (
        'java.lang.NullPointerException: Cannot invoke "CgroupInfo.getMountPoint()" because "anyController" is null',
        "java-cgroup",
    ),
    ("pthread_create failed: Operation not permitted", "thread-not-permitted"),
    ("make: /bin/sh: Operation not permitted", "thread-not-permitted"),
    ("io_uring_setup: Operation not permitted", "io-uring-not-permitted"),
    ("E: Release file for http://x/InRelease is not valid yet (invalid for another 2d)", "time64"),
    ("exec /app: permission denied", "exec-permission-denied"),
    ("fuse: device not found, try 'modprobe fuse' first", "fuse-device"),
    ("ERROR: Cannot open TUN/TAP dev /dev/net/tun: No such file or directory (errno=2)", "tun-device"),
    ("/dev/kvm is not found. Hardware acceleration is off", "kvm-device"),
    ("EAL: cannot open VFIO container, error 2 (No such file or directory)", "vfio-device"),
    ("modprobe: FATAL: Module rbd not found in directory /lib/modules/5.4", "module-missing"),
    (
        "iptables v1.8.7 (legacy): can't initialize iptables table `nat': Table does not exist (do you need to insmod?)",
        "iptables-backend",
    ),
    ("RTNETLINK answers: Operation not supported", "rtnetlink"),
    ("max virtual memory areas vm.max_map_count [65530] is too low, increase to at least [262144]", "max-map-count"),
    ('level=fatal msg="failed to find memory cgroup (v2)"', "memory-controller"),
    ("socket() [::]:80 failed (97: Address family not supported by protocol)", "ipv6-off"),
    ("No usable sandbox! Update your kernel", "no-sandbox"),
    (
        "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update your driver",
        "nvidia-require",
    ),
    ('could not select device driver "" with capabilities: [[gpu]]', "nvidia-toolkit-missing"),
    (
        "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open",
        "nvidia-library-missing",
    ),
    ("CUDA driver version is insufficient for CUDA runtime version", "cuda-driver-insufficient"),
    ("Error 803: system has unsupported display driver / cuda driver combination", "cuda-803"),
    ("Error 804: forward compatibility was attempted on non supported HW", "cuda-804"),
    ("Failed to initialize NVML: Driver/library version mismatch", "nvml-mismatch"),
    ("CUDA error: no kernel image is available for execution on the device", "no-kernel-image"),
    ("NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible", "no-kernel-image"),
    ("hipErrorNoBinaryForGpu: Unable to find code object for all current devices!", "no-gfx-target"),
    ("rocBLAS error: Cannot read TensileLibrary.dat for GPU arch : gfx1036", "no-gfx-target"),
    ("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", "nvidia-xid-hardware"),
    ("The container operating system does not match the host operating system.", "windows-version"),
    ("hcsshim: 0xc0370101", "windows-version"),
    ("Bus error (core dumped)", "bus-error"),
    ("0/4 nodes are available: 4 node(s) didn't match Pod's node affinity/selector.", "pending-selector"),
    ("0/4 nodes are available: 4 Insufficient nvidia.com/gpu.", "pending-resources"),
    # The same in words of other runtimes, shells, languages and releases.
    ("Error: spawn /app/node_modules/esbuild/bin/esbuild ENOEXEC", "exec-format-error"),
    ("/app: 1: ELF: not found", "exec-format-error"),
    ("crun: executable file `foo` not found in $PATH: No such file or directory", "exec-no-such-file"),
    ("/bin/bash: line 1: /app: cannot execute: required file not found", "exec-no-such-file"),
    ("bash: ./app: No such file or directory", "exec-no-such-file"),
    ('exec: "/entrypoint.sh": permission denied: unknown', "exec-permission-denied"),
    ("crun: open executable: Permission denied: OCI permission denied", "exec-permission-denied"),
    ('no image found in image index for architecture "arm64", variant "v8", OS "linux"', "no-manifest-for-platform"),
    ("no image found in manifest list for architecture arm64, variant v8, OS linux", "no-manifest-for-platform"),
    ("does not match the specified platform: wanted linux/arm64, actual: linux/amd64", "no-manifest-for-platform"),
    ('image operating system "windows" cannot be used on this platform', "no-manifest-for-platform"),
    ("OSError: /app/x.so: invalid ELF header", "library-no-elf"),
    (
        "/app/x.so: cannot open shared object file: No such file (can't load AMD 64 .so on a AARCH64 platform)",
        "library-wrong-class",
    ),
    ("libfoo.so.1: cannot open shared object file: Permission denied", "library-not-readable"),
    ("(X86_V2) but your machine doesn't support:\n(X86_V2).", "numpy-baseline"),
    ("app.service: Main process exited, code=dumped, status=4/ILL", "illegal-instruction"),
    ("app.service: Main process exited, code=killed, status=11/SEGV", "segmentation-fault"),
    ("CUDA error: an illegal instruction was encountered", "gpu-illegal-instruction"),
    ("runtime: failed to create new OS thread (have 2 already; errno=1)", "thread-not-permitted"),
    ("Bad system call (core dumped)", "seccomp-killed"),
    ('type=SECCOMP msg=audit(1.2:3): comm="a" exe="/a" sig=31 arch=c000003e syscall=425 code=0x0', "seccomp-killed"),
    ("modprobe: module wireguard not found in modules.dep", "module-missing"),
    ("nfs module is not loaded in the Docker host's kernel", "module-missing"),
    (
        "nvidia-container-cli: load library failed: libnvidia-ml.so.1: cannot open shared object file: no such file",
        "nvidia-library-missing",
    ),
    ("nvidia-container-cli: initialization error: nvml error: driver not loaded", "nvidia-library-missing"),
    ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", "nvidia-library-missing"),
    ("The NVIDIA driver on your system is too old (found version 11040).", "cuda-driver-insufficient"),
    ("the provided PTX was compiled with an unsupported toolchain.", "cuda-driver-insufficient"),
    ("kernel version 470.82.1 does not match DSO version 525.60.13", "nvml-mismatch"),
    ("CUDA error: invalid device function", "no-kernel-image"),
    ("HIP error: invalid device function", "no-gfx-target"),
    ("Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: for GPU arch : gfx1032", "no-gfx-target"),
    ("Out of memory: Kill process 77 (java) score 900 or sacrifice child", "out-of-memory"),
    ("java invoked oom-killer: gfp_mask=0x14000c0, order=0", "out-of-memory"),
    (
        "iptables v1.8.4 (legacy): can't initialize iptables table `filter': Permission denied (you must be root)",
        "iptables-not-permitted",
    ),
    ("env: can't execute 'bash': No such file or directory", "bad-interpreter"),
    ("./run.sh: line 2: $'\\r': command not found", "bad-interpreter"),
    ("fusermount: fuse device not found, try 'modprobe fuse' first", "fuse-device"),
    ("qemu-aarch64-static: Could not open '/lib/ld-linux-aarch64.so.1': No such file or directory", "qemu-loader"),
    ("Failed to start thread - pthread_create failed (EPERM) for attributes: stacksize: 1024k", "thread-not-permitted"),
    ("\tat jdk.internal.platform.cgroupv2.CgroupV2Subsystem.initSubSystem(CgroupV2Subsystem.java:85)", "java-cgroup"),
    ("Instruction check fail. The CPU does not support SSSE3 instruction set.", "application-needs-feature"),
    ("traps: app[77] trap int3 ip:55d0 sp:7ffd error:0 in app[55d000+1000]", "trap-signal"),
    (
        "The engine plan file is generated on an incompatible device, expecting compute 8.6 got compute 7.5",
        "no-kernel-image",
    ),
    # What people report with, and what stands in a quick table.
    ("illegal instruction", "illegal-instruction"),
    ("CrashLoopBackOff", "crash-loop"),
    ("Pending", "pending"),
    ("segmentation fault", "segmentation-fault"),
    ("device not found", "device-not-found"),
    ("driver or library version mismatch", "nvml-mismatch"),
]


@pytest.mark.parametrize(("message", "code"), MESSAGES)
def test_a_message_belongs_to_its_row_and_no_weaker_one(message: str, code: str) -> None:
    signals = explain(message).signals
    assert signals[0].code == code
    assert {one.rank for one in signals} == {signals[0].rank}


@pytest.mark.parametrize(
    "text",
    [
        '"OOMKilled": false, "Error": ""',
        "sysctl: vm.max_map_count = 262144",
        "error: module foo not found",
        "SSL module is not loaded",
        "ERROR: 2 insufficient funds",
        "JDBC driver version mismatch",
        'File "cuda.py", line 803, in cuda_init',
        'error mounting "/dev/mqueue" to rootfs at "/dev/mqueue": permission denied: unknown',
        'audit: type=1326 audit(1.2:3): comm="a" exe="/a" sig=0 arch=c000003e syscall=435 code=0x7ffc0000',
        "This page requires hardware acceleration",
    ],
)
def test_words_that_only_look_like_a_cause_are_no_sign(text: str) -> None:
    assert explain(text).signals == ()


@pytest.mark.parametrize(
    "text", ["", "listening on :8080", "exited normally with status 0", "pending review of 3 files"]
)
def test_what_is_no_sign_is_none(text: str) -> None:
    found = explain(text)
    assert not found.signals
    assert not found.explained
    assert found.summary == "not explained: nothing of it is a known sign"
