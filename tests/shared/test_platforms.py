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
        ("windows(10.0.17763)/amd64", Platform("windows", "amd64", os_version="10.0.17763")),  # as containerd writes it
        ("linux()/arm64", Platform("linux", "arm64")),
        ("linux/loongarch64", Platform("linux", "loong64")),
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


# The order of containerd's platformVector (package platforms, compare.go), as its comments list it.
ORDERS = {
    "linux/amd64/v3": ["amd64/v3", "amd64/v2", "amd64", "386"],
    "linux/arm/v7": ["arm/v7", "arm/v6", "arm/v5"],
    "linux/arm64": ["arm64", "arm/v8", "arm/v7", "arm/v6", "arm/v5"],
    "linux/arm64/v8.2": ["arm64/v8.2", "arm64/v8.1", "arm64", "arm/v8", "arm/v7"],
    "linux/arm64/v9.1": ["arm64/v9.1", "arm64/v9", "arm64/v8.6", "arm64/v8.5", "arm64", "arm/v8", "arm/v7"],
}


@pytest.mark.parametrize(("node", "order"), ORDERS.items())
def test_children_are_preferred_in_containerds_order(node: str, order: list[str]) -> None:
    children = [(parse(f"linux/{name}"), name) for name in order]
    for place in range(len(order)):
        assert choose(parse(node), reversed(children[place:])) == order[place]


@pytest.mark.parametrize(
    ("node", "image", "runs"),
    [
        ("10.0.17763.1", "10.0.17763.5000", True),  # before 2022 the build must be the same
        ("10.0.17763.1", "10.0.18362.1", False),
        ("10.0.20348.1", "10.0.17763.1", False),
        ("10.0.20348.1", "10.0.20348.2", True),
        ("10.0.26100.1", "10.0.20348.1", True),  # from 2022 on, the builds since then
        ("10.0.20348.1", "10.0.26100.1", False),
        ("10.0.26100.1", "6.3.20348.1", False),
        ("10.0.20348.1", "", True),
        ("", "10.0.17763.1", True),
    ],
)
def test_a_windows_node_runs_the_builds_that_microsoft_and_containerd_name(
    node: str, image: str, *, runs: bool
) -> None:
    have, want = (Platform("windows", "amd64", os_version=version) for version in (node, image))
    assert (preference(have, want) is not None) is runs


def test_of_windows_builds_that_run_the_newest_is_taken() -> None:
    versions = ["10.0.20348.900", "10.0.20348.1000", "10.0.17763.1", "10.0.26100.1"]
    children = [(Platform("windows", "amd64", os_version=version), version) for version in versions]
    assert choose(Platform("windows", "amd64", os_version="10.0.20348"), children) == "10.0.20348.1000"
    assert choose(Platform("windows", "amd64", os_version="10.0.17763.9"), children) == "10.0.17763.1"
    shorter = [
        (Platform("windows", "amd64", os_version=version), version) for version in ("", "10.0.20348", versions[0])
    ]
    assert choose(Platform("windows", "amd64", os_version="10.0.20348"), shorter) == versions[0]
    assert choose(Platform("windows", "amd64", os_version="10.0.20348"), shorter[:2]) == "10.0.20348"


def test_versions_of_other_systems_exclude_nothing() -> None:
    assert (
        preference(Platform("linux", "amd64", os_version="10.0.1"), Platform("linux", "amd64", os_version="10.0.2"))
        == 0
    )


@pytest.mark.parametrize(
    ("wanted", "offered", "is_covered"),
    [
        ("linux/arm64", "linux/arm64/v8", True),
        ("linux/arm64", "linux/arm/v7", False),
        ("linux/amd64", "linux/amd64/v2", False),
        ("linux/amd64/v2", "linux/amd64", False),
        ("windows/amd64", "windows/amd64:10.0.20348.1", True),
        ("windows/amd64:10.0.20348", "windows/amd64:10.0.20348.1", True),
        ("windows/amd64:10.0.20348", "windows/amd64:10.0.203480.1", False),
        ("windows/amd64:10.0.20348", "windows/amd64", False),
    ],
)
def test_what_is_wanted_is_covered_by_itself_alone(wanted: str, offered: str, *, is_covered: bool) -> None:
    assert platforms.covers(parse(wanted), parse(offered)) is is_covered


@pytest.mark.parametrize(
    ("claimed", "configured", "is_contradiction"),
    [
        ("linux/arm64/v8", "linux/arm64", False),
        ("linux/arm/v6", "linux/arm/v7", True),
        ("linux/amd64", "linux/arm64", True),
        ("linux/amd64", "windows/amd64", True),
        ("windows/amd64:10.0.20348.1", "windows/amd64", False),
        ("windows/amd64:10.0.20348", "windows/amd64:10.0.20348.1", False),
        ("windows/amd64:10.0.20348.1", "windows/amd64:10.0.17763.1", True),
    ],
)
def test_less_is_no_contradiction(claimed: str, configured: str, *, is_contradiction: bool) -> None:
    assert platforms.contradict(parse(claimed), parse(configured)) is is_contradiction


def test_names_lists_platforms() -> None:
    assert platforms.names([AMD64, normalize("linux", "arm64")]) == "linux/amd64, linux/arm64"
    assert platforms.names([]) == "none"
