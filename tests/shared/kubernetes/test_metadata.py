import msgspec
import pytest

from nodeworthy.kubernetes.metadata import PartialObject, is_older, read_identity


@pytest.mark.parametrize(
    ("version", "than", "expected"),
    [
        ("9", "10", True),
        ("10", "9", False),
        ("10", "10", False),
        ("a9", "10", False),
        ("9", "b10", False),
        ("9", "", False),
        ("", "9", False),
        ("\u0661", "9", False),
    ],
)
def test_versions_are_compared_as_numbers_and_not_at_all_where_they_are_none(
    version: str, than: str, *, expected: bool
) -> None:
    assert is_older(version, than) is expected


def test_an_object_is_known_by_its_name_and_namespace() -> None:
    data = b'{"metadata": {"name": "a", "namespace": "b", "uid": "u", "resourceVersion": "1", "x": {}}, "spec": 1}'
    assert read_identity(data).key == "b/a"


@pytest.mark.parametrize("data", [b"{}", b'{"metadata": {"name": "a"}}', b'{"metadata": null}', b""])
def test_an_object_without_an_identity_is_none(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        read_identity(data)


def test_metadata_is_read_with_the_empty_maps_of_go() -> None:
    data = b"""{"metadata": {"name": "n", "labels": null, "annotations": {"a": "b"}, "managedFields":
        [{"manager": "m", "operation": "Apply", "fieldsV1": {"f:metadata": {}}, "time": "2031-05-06T07:08:09Z"}]}}"""
    metadata = msgspec.json.decode(data, type=PartialObject).metadata
    assert metadata.labels is None
    (field,) = metadata.managed_fields or ()
    assert (field.manager, field.operation, bytes(field.fields)) == ("m", "Apply", b'{"f:metadata": {}}')
