"""Kinds of objects, and the paths under which the API serves them."""

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True)
class Resource:
    """One kind of objects in one version (Kubernetes API concepts, "Resource URIs")."""

    group: str
    """Empty: the core group, under ``/api`` and not ``/apis``."""
    version: str
    plural: str
    kind: str
    is_namespaced: bool

    @property
    def api_version(self) -> str:
        """As objects name it: ``v1``, ``coordination.k8s.io/v1``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, name: str = "", *, namespace: str = "", subresource: str = "") -> str:
        """The path of one object, or of all where no name is given (of every namespace, where none is given)."""
        parts = ["apis", self.group] if self.group else ["api"]
        parts.append(self.version)
        if namespace and self.is_namespaced:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, subresource) if part]
        # Names come from objects of strangers: a slash or a question mark in one must not become another path.
        return "/" + "/".join(quote(part, safe="") for part in parts)

    def describe(self, name: str, namespace: str = "") -> str:
        """What a person calls the object: ``Node n1``, ``Lease nodeworthy/one``."""
        return f"{self.kind} {namespace}/{name}" if namespace and self.is_namespaced else f"{self.kind} {name}"


NODES = Resource("", "v1", "nodes", "Node", is_namespaced=False)
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease", is_namespaced=True)
EVENTS = Resource("events.k8s.io", "v1", "events", "Event", is_namespaced=True)
