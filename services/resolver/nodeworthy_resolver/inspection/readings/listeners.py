"""Addresses of IPv6 on which a web server is told to listen: where the kernel has no IPv6, it then does not start.

``listen [::]:80`` of nginx (https://nginx.org/en/docs/http/ngx_http_core_module.html#listen) asks for a socket of a family
that a kernel with ``ipv6.disable=1`` does not have (Documentation/networking/ipv6.rst): "Address family not supported".
"""

import re
from collections.abc import Iterator
from posixpath import basename

from nodeworthy.requirements import Effect, Evidence, Layer, Requirement, Sureness
from nodeworthy.requirements.conditions import has_value
from nodeworthy.rules import Operator
from nodeworthy_resolver.inspection.readings.findings import Findings, reach, weaker
from nodeworthy_resolver.inspection.subject import Outcome, Subject

_SERVERS = frozenset({"nginx", "nginx-debug", "openresty", "angie"})
_FILES = ("/etc/nginx/nginx.conf", "/usr/local/openresty/nginx/conf/nginx.conf", "/etc/angie/angie.conf")
_FOLDERS = ("/etc/nginx/conf.d", "/etc/nginx/http.d", "/etc/nginx/sites-enabled", "/etc/angie/http.d")
"""What the main file includes in nginx's own packages, Alpine's and Debian's."""
_MAX_FILES = 64
_LISTEN = re.compile(r"^[^#\n]*?\blisten\s+\[[0-9A-Fa-f:.]*\][^;\n#]*;", re.MULTILINE)


def read_listeners(subject: Subject) -> Outcome:
    """What the settings of a web server that starts ask of the kernel's network."""
    findings = Findings()
    server = next((path for path in subject.elves if basename(path) in _SERVERS and reach(subject, path)), None)
    if server is not None:
        evidence = tuple(_listening(subject, findings))
        if evidence:
            findings.requirements.append(_requirement(evidence, weaker(Sureness.PROBABLE, reach(subject, server))))
    return findings.outcome()


def _listening(subject: Subject, findings: Findings) -> Iterator[Evidence]:
    names = [*_FILES, *(f"{folder}/{name}" for folder in _FOLDERS for name in subject.tree.names(folder))]
    for path in names[:_MAX_FILES]:
        found = _LISTEN.search(findings.text(subject, path) or "")
        if found is not None:
            yield Evidence(path, found[0].strip(), found.start(), rule="nginx, listen")


def _requirement(evidence: tuple[Evidence, ...], sureness: Sureness) -> Requirement:
    return Requirement(
        code="ipv6",
        text="IPv6 in the kernel, on which the web server is told to listen",
        layer=Layer.KERNEL_AND_LIBRARIES,
        effect=Effect.DOES_NOT_START,
        sureness=sureness,
        # A kernel without the family has none of its settings.
        match_features=(has_value("kernel.sysctl", "net.ipv6.conf.all.disable_ipv6", Operator.EXISTS),),
        evidence=evidence,
        remedy="take the listen lines with [::] out of the settings, or a kernel without ipv6.disable=1",
    )
