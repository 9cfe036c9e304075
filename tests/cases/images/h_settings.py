"""Category H, by settings: sysctls, control groups and what a cluster gives to a pod."""

from tests.cases.images import nodes
from tests.cases.images.h_kernel import NO, RECORDED, RUNS, UNKNOWN, YES, config, only
from tests.cases.images.hosts import attributes, with_facts
from tests.cases.images.parts import Files, app, busybox, glibc
from tests.cases.images.records import Case, Image, Trial
from tests.cases.images.software import image, program

from nodeworthy.features import FeatureSet
from nodeworthy.verdicts import NodeFacts


def _sysctl(kernel: str = "6.8.0-45-generic", **values: str) -> NodeFacts:
    settings = {name.replace("__", "."): value for name, value in values.items()}
    return with_facts(
        nodes.amd64(), kernel_sysctl=FeatureSet(attributes=settings), kernel_version=attributes(full=kernel)
    )


def _cgroup(version: str, *controllers: str) -> NodeFacts:
    content = FeatureSet(flags=frozenset(controllers), attributes={"version": version})
    return with_facts(nodes.amd64(), kernel_cgroup=content)


def _systemd(version: int) -> Image:
    systemd = app(tail=f"\0systemd {version}\0".encode())
    return image(
        glibc("amd64", "2.31") | {"/usr/lib/systemd/systemd": systemd, "/sbin/init": "-> ../usr/lib/systemd/systemd"},
        "/sbin/init",
    )


def _elasticsearch(version: str) -> Image:
    files: Files = {
        **busybox(),
        **glibc("amd64", "2.31"),
        "/usr/share/elasticsearch/bin/elasticsearch": b"#!/bin/sh\nexec /usr/share/elasticsearch/jdk/bin/java\n",
        "/usr/share/elasticsearch/jdk/bin/java": app(),
        "/usr/local/bin/docker-entrypoint.sh": b"#!/bin/sh\nexec /usr/share/elasticsearch/bin/elasticsearch\n",
    }
    return image(files, "/usr/local/bin/docker-entrypoint.sh", environment=(f"ELASTIC_VERSION={version}",))


def _nginx(listen: str) -> Image:
    settings = {
        "/etc/nginx/nginx.conf": b"http { include /etc/nginx/conf.d/*.conf; }\n",
        "/etc/nginx/conf.d/default.conf": f"server {{\n    {listen}\n}}\n".encode(),
    }
    return image(program("/usr/sbin/nginx") | settings, "nginx", "-g", "daemon off;")


CASES = (
    Case(
        "H10",
        "PostgreSQL takes huge pages that its pod may not use",
        (
            Trial(
                "huge pages on the node",
                lambda: only("postgres", environment=("PG_VERSION=16.2",)),
                with_facts(nodes.amd64(), memory_hugepages=attributes(enabled="true")),
                UNKNOWN,
                "huge-pages",
            ),
            Trial(
                "none",
                lambda: only("postgres", environment=("PG_VERSION=16.2",)),
                with_facts(nodes.amd64(), memory_hugepages=attributes(enabled="false")),
                YES,
                truth=RUNS,
            ),
        ),
    ),
    Case(
        "H11",
        "Elasticsearch and vm.max_map_count",
        (
            Trial(
                "the kernel's default",
                lambda: _elasticsearch("8.13.0"),
                _sysctl(vm__max_map_count="65530"),
                UNKNOWN,
                "max-map-count",
            ),
            Trial("raised", lambda: _elasticsearch("8.13.0"), _sysctl(vm__max_map_count="262144"), YES, truth=RUNS),
            Trial("Ubuntu 24.04's", lambda: _elasticsearch("8.13.0"), RECORDED, YES, truth=RUNS),
        ),
    ),
    Case(
        "H12",
        "systemd of CentOS 7 on the unified hierarchy",
        (
            Trial("219 on cgroup v2", lambda: _systemd(219), _cgroup("2", "memory"), UNKNOWN, "systemd-cgroup-v2"),
            Trial("252 on cgroup v2", lambda: _systemd(252), _cgroup("2", "memory"), YES, truth=RUNS),
            Trial("219 on cgroup v1", lambda: _systemd(219), _cgroup("1", "memory"), YES, truth=RUNS),
            Trial("219 on both", lambda: _systemd(219), _cgroup("hybrid", "memory"), YES, truth=RUNS),
        ),
    ),
    Case(
        "H13",
        "k3s without the memory controller",
        (
            Trial("Raspberry Pi OS", lambda: only("k3s", "server"), _cgroup("2", "cpu", "io"), NO, "cgroup-memory"),
            Trial(
                "another command of it",
                lambda: only("k3s", "kubectl", "get", "nodes"),
                _cgroup("2", "cpu"),
                YES,
                truth=RUNS,
            ),
            Trial("with it", lambda: only("k3s", "server"), _cgroup("2", "cpu", "memory"), YES, truth=RUNS),
        ),
    ),
    Case(
        "H17",
        "a web server that listens on IPv6",
        (
            Trial(
                "IPv6 off in the kernel",
                lambda: _nginx("listen [::]:8080;"),
                _sysctl(vm__max_map_count="65530"),
                UNKNOWN,
                "ipv6",
            ),
            Trial(
                "IPv6 on",
                lambda: _nginx("listen [::]:8080;"),
                _sysctl(net__ipv6__conf__all__disable_ipv6="0"),
                YES,
                truth=RUNS,
            ),
            Trial("on IPv4 alone", lambda: _nginx("listen 8080;"), _sysctl(vm__max_map_count="65530"), YES, truth=RUNS),
        ),
    ),
    Case(
        "H18",
        "an overlay in an overlay",
        (
            Trial(
                "rootless Docker on Linux 5.4", lambda: only("rootlesskit"), config("5.4.0"), UNKNOWN, "kernel-floor"
            ),
            Trial("on Linux 6.8", lambda: only("rootlesskit"), config("6.8.0"), YES, truth=RUNS),
        ),
        undecidable="which file system lies below the container is decided when it starts",
    ),
    Case(
        "H19",
        "Chromium's sandbox under AppArmor",
        (
            Trial(
                "Ubuntu 23.10 and later",
                lambda: only("chromium"),
                _sysctl(kernel__apparmor_restrict_unprivileged_userns="1"),
                UNKNOWN,
                "user-namespaces",
            ),
            Trial(
                "switched off",
                lambda: only("chromium"),
                _sysctl(kernel__apparmor_restrict_unprivileged_userns="0"),
                YES,
                truth=RUNS,
            ),
            Trial(
                "without a sandbox",
                lambda: only("chromium", "--no-sandbox"),
                _sysctl(kernel__apparmor_restrict_unprivileged_userns="1"),
                YES,
                truth=RUNS,
            ),
            Trial(
                "CentOS 7, where no namespace of users may be made",
                lambda: only("chromium"),
                _sysctl(user__max_user_namespaces="0"),
                UNKNOWN,
                "user-namespaces",
            ),
            Trial(
                "an older Debian, where only root makes them",
                lambda: only("chromium"),
                _sysctl(user__max_user_namespaces="31325", kernel__unprivileged_userns_clone="0"),
                UNKNOWN,
                "user-namespaces",
            ),
            Trial(
                "both settings as they are today",
                lambda: only("chromium"),
                _sysctl(user__max_user_namespaces="31325", kernel__unprivileged_userns_clone="1"),
                YES,
                truth=RUNS,
            ),
            Trial(
                "Debian, which has no such setting",
                lambda: only("chromium"),
                _sysctl(vm__max_map_count="65530"),
                YES,
                truth=RUNS,
            ),
        ),
    ),
)
