from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy.errors import InvalidReferenceError
from nodeworthy_resolver.oci.reference import (
    AnyReference,
    ArchiveReference,
    LayoutReference,
    Reference,
    SifReference,
    is_same_image,
    parse_reference,
)

SHA256 = "sha256:" + "0123456789abcdef" * 4
SHA512 = "sha512:" + "0123456789abcdef" * 8


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("nginx", "docker.io/library/nginx:latest"),
        ("nginx:1.27", "docker.io/library/nginx:1.27"),
        ("docker.io/nginx", "docker.io/library/nginx:latest"),
        ("index.docker.io/library/nginx", "docker.io/library/nginx:latest"),
        ("grafana/grafana", "docker.io/grafana/grafana:latest"),
        ("localhost/a", "localhost/a:latest"),
        ("localhost:5000", "docker.io/library/localhost:5000"),
        ("localhost:5000/a", "localhost:5000/a:latest"),
        ("quay.io/a/b/c_d__e-f.g:V1.2-x_", "quay.io/a/b/c_d__e-f.g:V1.2-x_"),
        ("Example.com/a", "Example.com/a:latest"),
        ("[2001:db8::1]:5000/a:v1", "[2001:db8::1]:5000/a:v1"),
        ("[::1]/a", "[::1]/a:latest"),
        (f"host:5000/a/b@{SHA256}", f"host:5000/a/b@{SHA256}"),
        (f"host:5000/a/b:tag@{SHA256}", f"host:5000/a/b:tag@{SHA256}"),
        (f"nginx@{SHA512}", f"docker.io/library/nginx@{SHA512}"),
    ],
)
def test_short_names_mean_what_docker_means_by_them(text: str, canonical: str) -> None:
    assert str(parse_reference(text)) == canonical


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no repository"),
        ("docker.io/", "no repository"),
        ("host:5000/", "no repository"),
        ("UPPER/x", "upper-case"),
        ("reg.io/App", "upper-case"),
        ("reg.io/a:bad tag", "tag"),
        ("reg.io/a:", "tag"),
        ("reg.io/a:-x", "tag"),
        ("reg.io/a:" + "x" * 129, "tag"),
        ("a:b:c", "'a:b'"),
        ("reg.io/a//b", "empty"),
        ("reg.io/a/", "empty"),
        ("reg.io/a..b", "'a..b'"),
        ("reg.io/-a", "'-a'"),
        ("reg.io/" + "a" * 256, "255"),
        ("a_b.io/x", "host name"),
        ("-a.io/x", "host name"),
        ("x" * 64 + ".io/a", "host name"),
        ("host:0/a", "port"),
        ("host:65536/a", "port"),
        ("host:\uff15000/a", "port"),
        ("host:/a", "port"),
        ("[::1:5000/a", "IPv6"),
        ("[nonsense]:5000/a", "IPv6"),
        ("[[::1]:5000/a", "IPv6"),
        ("[::1]]:5000/a", "IPv6"),
        ("[fe80::1%eth0]:5000/a", "IPv6"),
        ("a@sha256:abc", "digest"),
        ("a@" + SHA256.upper(), "digest"),
        ("a@md5:" + "0" * 32, "digest"),
        ("a@", "digest"),
        (f"a@{SHA256}@{SHA256}", "digest"),
        ("https://ghcr.io/a/b", "https://"),
        ("docker://nginx", "docker://"),
        ("0123456789abcdef" * 4, "local engine"),
        ("nginx\n", "'nginx\\n'"),
        (" nginx", "' nginx'"),
        ("oci:", "folder"),
        ("oci:@" + SHA256, "folder"),
        ("oci:dir:bad tag", "tag"),
        ("oci:dir@sha256:abc", "digest"),
        ("oci:a\0b", "folder"),
        ("oci-archive:", "no file"),
        ("docker-archive::app", "no file"),
        ("docker-archive:a.tar:", "name"),
        ("docker-archive:a.tar:a b", "name"),
        ("oci-archive:a.tar@sha256:abc", "digest"),
        ("oci-archive://a.tar", "oci-archive://"),
        ("sif:", "no file"),
    ],
)
def test_what_is_no_reference_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(InvalidReferenceError) as caught:
        parse_reference(text)
    assert why in caught.value.why
    assert repr(text) in caught.value.what


def test_docker_hub_has_three_names() -> None:
    reference = parse_reference("nginx")
    assert isinstance(reference, Reference)
    assert reference.api_host == "registry-1.docker.io"
    assert reference.credentials_key == "https://index.docker.io/v1/"


def test_another_host_has_one_name() -> None:
    reference = parse_reference("ghcr.io:443/a/b")
    assert isinstance(reference, Reference)
    assert reference.api_host == reference.credentials_key == "ghcr.io:443"


def test_the_digest_wins_over_the_tag() -> None:
    assert parse_reference(f"reg.io/a:tag@{SHA256}").target == SHA256


@pytest.mark.parametrize(
    ("text", "folder", "tag", "digest"),
    [
        ("oci:build", "build", "", None),
        ("oci:build:v1", "build", "v1", None),
        ("oci:/a/b.c/d:v1", "/a/b.c/d", "v1", None),
        ("oci:a:b/c", "a:b/c", "", None),
        ("oci:./a@b", "a@b", "", None),
        (f"oci:a@{SHA256}", "a", "", SHA256),
        (f"oci:a:v1@{SHA512}", "a", "v1", SHA512),
    ],
)
def test_a_layout_folder_is_named_with_tag_or_digest(text: str, folder: str, tag: str, digest: str | None) -> None:
    reference = parse_reference(text)
    assert isinstance(reference, LayoutReference)
    assert (reference.folder, reference.tag, reference.digest) == (Path(folder), tag, digest)


@pytest.mark.parametrize(
    ("text", "file", "image", "digest"),
    [
        ("oci-archive:a.tar", "a.tar", "", None),
        ("oci-archive:/x/a.tar:v1", "/x/a.tar", "v1", None),
        ("docker-archive:a.tar:docker.io/library/app:1", "a.tar", "docker.io/library/app:1", None),
        ("docker-archive:a.tar:host:5000/app:1", "a.tar", "host:5000/app:1", None),
        (f"docker-archive:a@b.tar@{SHA256}", "a@b.tar", "", SHA256),
        (f"oci-archive:a.tar:v1@{SHA512}", "a.tar", "v1", SHA512),
    ],
)
def test_an_archive_ends_at_the_first_colon(text: str, file: str, image: str, digest: str | None) -> None:
    reference = parse_reference(text)
    assert isinstance(reference, ArchiveReference)
    assert (reference.file, reference.image, reference.digest) == (Path(file), image, digest)
    assert str(reference) == text


@pytest.mark.parametrize(
    "text", ["app.sif", "./app.sif", "/a/b.c/app.sif", "example.com/app.sif", "sif:app", "sif:a:b.sif"]
)
def test_a_singularity_file_is_told_by_its_ending_or_its_scheme(text: str) -> None:
    reference = parse_reference(text)
    assert reference == SifReference(Path(text.removeprefix("sif:")))
    assert parse_reference(str(reference)) == reference


@pytest.mark.parametrize("text", ["example.com/app.sif:1", "app.sif:latest", "example.com/app:1.sif"])
def test_with_a_tag_it_is_in_a_registry(text: str) -> None:
    assert isinstance(parse_reference(text), Reference)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("app:1", "docker.io/library/app:1", True),
        ("library/app:1", "app:1", True),
        ("app:1", "app:2", False),
        ("app:1", "host:5000/app:1", False),
        ("1", "1", False),
        ("", "", False),
        ("app:1", "UPPER/x", False),
        ("oci:x", "oci:x", False),
    ],
)
def test_two_names_are_one_image_if_they_mean_the_same(one: str, other: str, *, same: bool) -> None:
    assert is_same_image(one, other) is same


part = st.from_regex(r"[a-z0-9]+((\.|_|__|-{1,3})[a-z0-9]+){0,2}", fullmatch=True)
host = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?(\.[a-z0-9]{1,8}){1,2}(:[1-9][0-9]{0,3})?", fullmatch=True)
tag = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True)


@given(host, st.lists(part, min_size=1, max_size=4), tag, st.sampled_from(["", "@" + SHA256, "@" + SHA512]))
def test_a_full_reference_is_its_own_canonical_form(host: str, parts: list[str], tag: str, digest: str) -> None:
    text = f"{host}/{'/'.join(parts)}:{tag}{digest}"
    assert str(parse_reference(text)) == text


@given(st.text(max_size=80) | st.text("ab/:@.[]-_A0 \n", max_size=40))
def test_any_text_is_a_reference_that_reads_back_as_itself_or_an_error_that_says_why(text: str) -> None:
    reference: AnyReference | None = None
    why = ""
    try:
        reference = parse_reference(text)
    except InvalidReferenceError as error:
        why = error.why
    assert why or (reference is not None and parse_reference(str(reference)) == reference)
