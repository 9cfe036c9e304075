import pytest

from nodeworthy.errors import DocumentError
from nodeworthy.rules.trees import MAX_DEPTH, MappingNode, ScalarNode, SequenceNode, tree_from_json


def test_decoded_json_keeps_the_kinds_of_its_scalars() -> None:
    root = tree_from_json({"a": ["x", True, None, 5, 1.5]}, "object")
    assert isinstance(root, MappingNode)
    items = root.entries["a"]
    assert isinstance(items, SequenceNode)
    scalars = [item for item in items.items if isinstance(item, ScalarNode)]
    assert [one.scalar.kind for one in scalars] == ["text", "bool", "null", "number", "fraction"]
    assert all(one.exact for one in scalars)


def test_decoded_json_nested_too_deeply_is_refused() -> None:
    value: object = "x"
    for _ in range(MAX_DEPTH):
        value = [value]
    with pytest.raises(DocumentError, match="nested deeper"):
        tree_from_json(value, "object")


def test_what_json_does_not_have_is_refused() -> None:
    with pytest.raises(DocumentError, match="bytes is nothing that JSON has"):
        tree_from_json({"a": b"x"}, "object")
