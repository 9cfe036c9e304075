import base64
import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import RegistryContentError
from nodeworthy.platforms import Platform
from nodeworthy_resolver.oci import manifests
from nodeworthy_resolver.oci.digests import compute
from nodeworthy_resolver.oci.manifests import (
    DOCKER_LIST,
    DOCKER_MANIFEST,
    IMAGE_INDEX,
    IMAGE_MANIFEST,
    Descriptor,
    Index,
    Manifest,
    claimed_platform,
    media_type_of,
    parse_config,
    parse_manifest,
    verify,
)

DIGEST = compute(b"x")
ENTRY = {"mediaType": "m", "digest": DIGEST, "size": 1}


def dump(document: Any) -> bytes:
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("served", "document", "expected"),
    [
        (IMAGE_MANIFEST, {"mediaType": IMAGE_MANIFEST, "config": {}}, IMAGE_MANIFEST),
        (f"{IMAGE_MANIFEST.upper()}; charset=utf-8", {"config": {}}, IMAGE_MANIFEST),
        ("application/json", {"mediaType": DOCKER_LIST, "manifests": []}, DOCKER_LIST),
        ("", {"config": {}, "layers": []}, IMAGE_MANIFEST),
        ("application/octet-stream", {"manifests": []}, IMAGE_INDEX),
        ("text/plain", {}, ""),
    ],
)
def test_the_type_is_what_is_said_or_else_what_the_fields_show(served: str, document: Any, expected: str) -> None:
    assert media_type_of(dump(document), served, "image") == expected


@pytest.mark.parametrize(
    ("served", "document"),
    [
        (IMAGE_INDEX, {"mediaType": IMAGE_MANIFEST, "config": {}}),
        (IMAGE_MANIFEST, {"manifests": [], "layers": []}),
        (IMAGE_INDEX, {"manifests": [], "config": {}}),
    ],
)
def test_a_document_that_may_be_read_in_two_ways_is_refused(served: str, document: Any) -> None:
    with pytest.raises(RegistryContentError, match="ambiguous"):
        media_type_of(dump(document), served, "image")


def test_a_manifest_tells_its_parts() -> None:
    document = {"config": ENTRY, "layers": [ENTRY], "subject": ENTRY, "annotations": {"a": "b"}, "artifactType": "t"}
    found = parse_manifest(dump(document), IMAGE_MANIFEST, "image")
    assert isinstance(found, Manifest)
    assert (found.artifact_type, found.annotations, len(found.layers)) == ("t", {"a": "b"}, 1)
    assert found.subject == found.config


def test_a_manifest_without_a_type_has_its_configs() -> None:
    assert parse_manifest(dump({"config": ENTRY, "layers": None}), DOCKER_MANIFEST, "image").artifact_type == "m"


@pytest.mark.parametrize("entries", [[], None])
def test_an_index_may_list_nothing(entries: Any) -> None:
    found = parse_manifest(dump({"manifests": entries}), IMAGE_INDEX, "image")
    assert isinstance(found, Index)
    assert (found.manifests, found.artifact_type) == ((), "")


@pytest.mark.parametrize(
    ("media_type", "document"),
    [
        (IMAGE_MANIFEST, []),
        (IMAGE_MANIFEST, {}),
        (IMAGE_MANIFEST, {"config": ENTRY | {"size": -1}}),
        (IMAGE_MANIFEST, {"config": ENTRY | {"digest": "../../etc/passwd"}}),
        (IMAGE_MANIFEST, {"config": ENTRY, "layers": [{"digest": "sha256:abc", "size": 1}]}),
        (IMAGE_MANIFEST, {"config": ENTRY, "layers": {}}),
        (IMAGE_INDEX, {"manifests": [ENTRY | {"size": "1"}]}),
        (IMAGE_INDEX, {"manifests": [ENTRY | {"digest": DIGEST.upper()}]}),
        (IMAGE_INDEX, {"manifests": [ENTRY | {"annotations": {"a": 1}}]}),
        (IMAGE_INDEX, {"manifests": [ENTRY] * 10_001}),
        ("application/vnd.docker.distribution.manifest.v1+prettyjws", {}),
        ("application/vnd.oci.artifact.manifest.v1+json", {}),
        ("application/pdf", {}),
        ("", {}),
    ],
)
def test_what_is_no_manifest_is_refused_by_its_name(media_type: str, document: Any) -> None:
    with pytest.raises(RegistryContentError, match=r"^reg\.io/a:v1 "):
        parse_manifest(dump(document), media_type, "reg.io/a:v1")


@pytest.mark.parametrize("data", [b"", b"\xff", b"<html>", b'{"a":' * 100_000, b'{"mediaType": "\xff"}'])
def test_what_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(RegistryContentError, match="cannot be read"):
        media_type_of(data, "", "image")


def test_a_manifest_of_docker_schema_1_gets_its_own_words() -> None:
    with pytest.raises(RegistryContentError, match="schema 1") as caught:
        parse_manifest(b"{}", "application/vnd.docker.distribution.manifest.v1+json", "image")
    assert "current engine" in caught.value.todo


@pytest.mark.parametrize(
    ("claimed", "expected"),
    [
        (None, None),
        ({"os": "linux"}, None),
        ({"os": "linux", "architecture": "\x1b[2J"}, None),
        ({"os": "linux", "architecture": "arm64", "variant": "v8"}, Platform("linux", "arm64")),
        (
            {"os": "windows", "architecture": "amd64", "os.version": "10.0.1"},
            Platform("windows", "amd64", "", "10.0.1"),
        ),
    ],
)
def test_a_claim_is_a_platform_only_if_it_names_system_and_architecture(claimed: Any, expected: Any) -> None:
    index = parse_manifest(dump({"manifests": [ENTRY | {"platform": claimed}]}), IMAGE_INDEX, "image")
    assert isinstance(index, Index)
    assert claimed_platform(index.manifests[0]) == expected


def test_a_config_tells_platform_and_environment() -> None:
    data = dump(
        {"os": "linux", "architecture": "arm", "variant": "v6", "config": {"Env": ["A=1", "A=2"]}, "history": []}
    )
    found = parse_config(data, "config")
    assert (found.platform, found.has_variant) == (Platform("linux", "arm", "v6"), True)
    assert found.environment == ("A=1", "A=2")


@pytest.mark.parametrize("document", [{}, {"os": "linux"}, {"os": "", "architecture": "amd64", "config": None}])
def test_a_config_that_does_not_say_where_it_runs_has_no_platform(document: Any) -> None:
    assert parse_config(dump(document), "config").platform is None


@pytest.mark.parametrize("document", [[], {"os": 1}, {"config": {"Env": "A=1"}}])
def test_a_config_of_another_shape_is_refused(document: Any) -> None:
    with pytest.raises(RegistryContentError, match="config cannot be read"):
        parse_config(dump(document), "config")


def test_content_is_verified_by_digest_and_size() -> None:
    assert verify(b"x", DIGEST, "blob", size=1) == b"x"
    with pytest.raises(RegistryContentError, match=compute(b"y")):
        verify(b"y", DIGEST, "blob")
    with pytest.raises(RegistryContentError, match="1 bytes, not 2"):
        verify(b"x", DIGEST, "blob", size=2)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just(DIGEST),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["mediaType", "digest", "size", "config", "layers", "manifests", "platform", "os", "annotations"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(json_values, st.sampled_from([*manifests.READABLE_TYPES, "", "application/json"]))
def test_any_json_is_parsed_or_refused_in_words(document: Any, served: str) -> None:
    data = dump(document)
    found: Any = None
    why = ""
    try:
        found = parse_manifest(data, media_type_of(data, served, "image"), "image")
    except RegistryContentError as error:
        why = error.why
    assert why or isinstance(found, Manifest | Index)


def test_the_kind_of_a_document_is_told_without_making_objects_of_all_that_it_holds() -> None:
    data = b'{"layers": [' + b"[]," * 1_300_000 + b"[]]}"  # each would be an object of 64 bytes
    tracemalloc.start()
    assert media_type_of(data, "", "image") == IMAGE_MANIFEST
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000_000


def test_what_a_descriptor_carries_and_is_no_content_is_not_kept() -> None:
    found = parse_manifest(dump({"config": ENTRY | {"data": [[]] * 1000}, "layers": []}), IMAGE_MANIFEST, "image")
    assert isinstance(found, Manifest)
    assert found.config.data is None


def test_a_manifest_has_so_many_layers_at_most() -> None:
    with pytest.raises(RegistryContentError, match="more than 10000 layers"):
        parse_manifest(dump({"config": ENTRY, "layers": [ENTRY] * 10_001}), IMAGE_MANIFEST, "image")


def embed(content: bytes, **changes: Any) -> Descriptor:
    said = {"digest": compute(content), "size": len(content), "data": base64.b64encode(content).decode()}
    return Descriptor(**{**said, **changes})


@given(st.binary(max_size=100))
def test_content_that_a_descriptor_carries_is_taken_from_it(data: bytes) -> None:
    assert manifests.embedded(embed(data)) == data


@pytest.mark.parametrize(
    "changes",
    [
        {"data": None},
        {"data": 1},
        {"data": "%%%"},
        {"data": "eA=="},
        {"data": "A" * (manifests.MAX_MANIFEST_BYTES + 4)},
        {"size": 99},
        {"digest": "md5:1"},
        {"digest": "sha256:" + "0" * 64},
    ],
)
def test_what_a_descriptor_carries_and_does_not_promise_is_not_taken(changes: dict[str, Any]) -> None:
    assert manifests.embedded(embed(b"a document", **changes)) is None
