"""A NodeFeatureRule as NFD decodes it from a file: the shape and the liberties of Go's JSON decoder behind a YAML reader.

It is not how nodeworthy reads rules (:mod:`nodeworthy.rules.documents`); it is needed to say whether NFD's own tools and a
cluster will take a file. There every part has to have its kind: the short forms do not decode, fields that nobody knows are
dropped, and one wrong part spoils the whole document.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

from nodeworthy.errors import DocumentError
from nodeworthy.rules.fields import is_null, join, kind_of
from nodeworthy.rules.timestamps import is_timestamp
from nodeworthy.rules.trees import MappingNode, Node, ScalarNode, SequenceNode, tree_error

Json: TypeAlias = dict[str, Any]
_Item = TypeVar("_Item")

_TEXTS = ("labelsTemplate", "varsTemplate")
_TEXT_MAPS = ("labels", "vars", "annotations", "extendedResources")


def decode_rule_object(root: Node, source: str) -> Json:
    """The object as NFD has it in memory: ``apiVersion``, ``kind``, ``name`` and ``rules``, without what is empty.

    Raises:
        DocumentError: it does not decode.
    """
    return _Decoding(source).object(root)


class _Decoding:
    def __init__(self, source: str) -> None:
        self.source = source

    def object(self, root: Node) -> Json:
        fields = self.fields(root, "", ("apiVersion", "kind", "metadata", "spec"))
        metadata = self.fields(fields.get("metadata"), "metadata", ("name", "labels", "annotations"))
        for name in ("labels", "annotations"):
            self.texts(metadata.get(name), f"metadata.{name}")
        spec = self.fields(fields.get("spec"), "spec", ("rules",))
        return {
            "apiVersion": self.text(fields.get("apiVersion"), "apiVersion"),
            "kind": self.text(fields.get("kind"), "kind"),
            "name": self.text(metadata.get("name"), "metadata.name"),
            "rules": self.items(spec.get("rules"), "spec.rules", self.rule) or [],
        }

    def rule(self, node: Node, path: str) -> Json:
        lists = {"taints": self.taint, "matchFeatures": self.term, "matchAny": self.alternative}
        fields = self.fields(node, path, ("name", *_TEXTS, *_TEXT_MAPS, *lists))
        decoded: Json = {}
        for name in _TEXTS:
            decoded[name] = self.text(fields.get(name), join(path, name))
        for name in _TEXT_MAPS:
            decoded[name] = self.texts(fields.get(name), join(path, name))
        for name, read in lists.items():
            decoded[name] = self.items(fields.get(name), join(path, name), read)
        return {"name": self.text(fields.get("name"), join(path, "name"))} | _filled(decoded)

    def alternative(self, node: Node, path: str) -> Json:
        fields = self.fields(node, path, ("matchFeatures",))
        return {"matchFeatures": self.items(fields.get("matchFeatures"), join(path, "matchFeatures"), self.term)}

    def term(self, node: Node, path: str) -> Json:
        fields = self.fields(node, path, ("feature", "matchExpressions", "matchName"))
        decoded: Json = {"feature": self.text(fields.get("feature"), join(path, "feature"))}
        expressions = fields.get("matchExpressions")
        if not is_null(expressions):
            place = join(path, "matchExpressions")
            decoded["matchExpressions"] = {
                name: self.expression(value, join(place, name)) for name, value in self.entries(expressions, place)
            }
        name_expression = self.expression(fields.get("matchName"), join(path, "matchName"))
        return decoded if name_expression is None else decoded | {"matchName": name_expression}

    def expression(self, node: Node | None, path: str) -> Json | None:
        if node is None or is_null(node):
            return None
        fields = self.fields(node, path, ("op", "value", "type"))
        decoded = {
            "value": self.items(fields.get("value"), join(path, "value"), self.text),
            "type": self.text(fields.get("type"), join(path, "type")),
        }
        return {"op": self.text(fields.get("op"), join(path, "op"))} | _filled(decoded)

    def taint(self, node: Node, path: str) -> Json:
        fields = self.fields(node, path, ("key", "value", "effect", "timeAdded"))
        texts = {
            name: self.text(fields.get(name), join(path, name)) for name in ("key", "effect", "value", "timeAdded")
        }
        if texts["timeAdded"] and not is_timestamp(texts["timeAdded"]):
            raise self.refusal(fields["timeAdded"], join(path, "timeAdded"), "a time")
        return {"key": texts.pop("key"), "effect": texts.pop("effect")} | _filled(texts)

    def fields(self, node: Node | None, path: str, known: Iterable[str]) -> dict[str, Node]:
        """The known fields under their names; case is ignored, the last one counts, and others are dropped."""
        names = {name.lower(): name for name in known}
        return {names[key.lower()]: value for key, value in self.entries(node, path) if key.lower() in names}

    def entries(self, node: Node | None, path: str) -> Iterable[tuple[str, Node]]:
        if node is None or is_null(node):
            return ()
        if not isinstance(node, MappingNode):
            raise self.refusal(node, path, "a map")
        return node.entries.items()

    def texts(self, node: Node | None, path: str) -> dict[str, str]:
        return {key: self.text(value, join(path, key)) for key, value in self.entries(node, path)}

    def items(self, node: Node | None, path: str, read: Callable[[Node, str], _Item]) -> list[_Item] | None:
        if node is None or is_null(node):
            return None
        if not isinstance(node, SequenceNode):
            raise self.refusal(node, path, "a list")
        return [read(item, f"{path}[{place}]") for place, item in enumerate(node.items)]

    def text(self, node: Node | None, path: str) -> str:
        if node is None:
            return ""
        if not isinstance(node, ScalarNode):
            raise self.refusal(node, path, "text")
        return node.scalar.text

    def refusal(self, node: Node, path: str, wanted: str) -> DocumentError:
        return tree_error(self.source, node.line, f"NFD wants {wanted} at {path[:80]}, and this is {kind_of(node)}")


def _filled(decoded: Json) -> Json:
    return {name: value for name, value in decoded.items() if value}
