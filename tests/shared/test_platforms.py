import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy import platforms
from nodeworthy.errors import UsageError
from nodeworthy.platforms import Platform, choose, normalize, parse, preference

AMD64 = Platform("linux", "amd64")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("linux/amd64", AMD64),
        ("linux/x86_64", AMD64),
        ("Linux/AMD64/v1", AMD64),
        ("linux/amd64/v3", Platform("linux", "amd64", "v3")),
        ("linux/aarch64", Platform("linux", "arm64")),
        ("linux/arm64/v8", Platform("linux", "arm64")),  # I14
        ("linux/arm64/v8.2", Platform("linux", "arm64", "v8.2")),  # I14
        ("linux/arm64/v9", Platform("linux", "arm64", "v9")),  # I14
        ("linux/arm", Platform("linux", "arm", "v7")),
        ("linux/armhf", Platform("linux", "arm", "v7")),
        ("linux/arm/6", Platform("linux", "arm", "v6")),
        ("linux/armv5tejl", Platform("linux", "arm", "v5")),
        ("linux/armv6l", Platform("linux", "arm", "v6")),
        ("linux/armv7b", Platform("linux", "armv7b")),
        ("linux/i686", Platform("linux", "386")),
        ("linux/riscv64", Platform("linux", "riscv64")),
        ("windows/amd64:10.0.20348.2113", Platform("windows", "amd64", os_version="10.0.20348.2113")),
    ],
)
def test_platforms_are_read_into_normal_form(text: str, expected: Platform) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize("text", ["", "linux", "/", "linux/", "/amd64", "a/b/c/d", "linux/am d64", "linux/ä"])
def test_what_is_no_platform_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a platform"):
        parse(text)


@given(st.text(max_size=30))
def test_any_text_is_a_platform_or_refused(text: str) -> None:
    try:
        platform = parse(text)
    except UsageError:
        return
    assert parse(str(platform)) == platform


@pytest.mark.parametrize(
    ("node", "image", "runs"),
    [
        ("linux/amd64", "linux/amd64", True),
        ("linux/amd64", "linux/arm64", False),
        ("linux/amd64", "windows/amd64", False),
        ("linux/amd64/v2", "linux/amd64/v3", False),
        ("linux/amd64/v4", "linux/amd64/v3", True),
        ("linux/amd64/v3", "linux/amd64", True),
        ("linux/arm64", "linux/arm64/v8.2", False),
        ("linux/arm64/v8.4", "linux/arm64/v8.2", True),
        ("linux/arm64/v9", "linux/arm64/v8.5", True),  # Armv9.0 contains Armv8.5
        ("linux/arm64/v8.5", "linux/arm64/v9", False),  # ... and more
        ("linux/arm64", "linux/arm/v7", True),
        ("linux/amd64", "linux/386", True),
        ("linux/386", "linux/amd64", False),
        ("linux/arm/v6", "linux/arm/v7", False),
        ("linux/arm/v7", "linux/arm/v6", True),
        ("linux/ppc64le", "linux/ppc64le", True),
        ("linux/ppc64le", "linux/ppc64le/power10", False),
        ("linux/amd64", "linux/amd64/strange", False),
    ],
)
def test_an_image_runs_where_the_node_has_all_it_claims(node: str, image: str, *, runs: bool) -> None:
    assert (preference(parse(node), parse(image)) is not None) is runs


def test_a_node_takes_the_nearest_variant() -> None:
    children = [(parse(p), p) for p in ("linux/386", "linux/amd64", "linux/amd64/v2", "linux/amd64/v4", "linux/arm64")]
    assert choose(parse("linux/amd64/v3"), children) == "linux/amd64/v2"
    assert choose(parse("linux/amd64"), children) == "linux/amd64"
    assert choose(parse("linux/s390x"), children) is None


def test_a_32_bit_child_comes_after_every_64_bit_one() -> None:
    children = [(parse(p), p) for p in ("linux/arm/v7", "linux/arm/v6", "linux/arm64")]
    assert choose(parse("linux/arm64"), children) == "linux/arm64"
    assert choose(parse("linux/arm64"), children[:2]) == "linux/arm/v7"


def test_of_equal_children_the_first_is_taken() -> None:
    assert choose(AMD64, [(AMD64, "first"), (AMD64, "second")]) == "first"


def test_names_lists_platforms() -> None:
    assert platforms.names([AMD64, normalize("linux", "arm64")]) == "linux/amd64, linux/arm64"
    assert platforms.names([]) == "none"
