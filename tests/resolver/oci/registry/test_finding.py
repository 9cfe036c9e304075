import pytest

from nodeworthy_resolver.oci.registry.finding import best_key

HUB = "https://index.docker.io/v1/"


@pytest.mark.parametrize(
    ("keys", "repository", "best"),
    [
        (["quay.io", "quay.io/team", "quay.io/team/app"], "team/app", "quay.io/team/app"),
        (["quay.io", "quay.io/team", "quay.io/team/app"], "team/other", "quay.io/team"),
        (["quay.io", "quay.io/team"], "teams/app", "quay.io"),
        (["quay.io/team"], "", None),
        (["quay.io/team"], "other/app", None),
        (["https://quay.io/team/"], "team/app", "https://quay.io/team/"),
        (["https://quay.io/v2/"], "v2/app", "https://quay.io/v2/"),
        (["quay.io:5000"], "team/app", None),
        (["*.io"], "team/app", "*.io"),
        (["*"], "team/app", None),
        (["*.quay.io", "quay.*"], "team/app", "quay.*"),
        (["*.io", "quay.io"], "team/app", "quay.io"),
        (["*.io/team", "quay.io"], "team/app", "*.io/team"),
        ([], "team/app", None),
    ],
)
def test_the_longest_path_counts_and_then_the_plainest_host(keys: list[str], repository: str, best: str | None) -> None:
    assert best_key(keys, "quay.io", repository) == best


@pytest.mark.parametrize("key", ["docker.io", "index.docker.io", "registry-1.docker.io", HUB])
def test_docker_hub_is_known_by_all_its_names(key: str) -> None:
    assert best_key([key], HUB, "library/debian") == key
    assert best_key(["docker.io/library", HUB], HUB, "library/debian") == "docker.io/library"
    assert best_key(["hub.docker.io"], HUB, "library/debian") is None


def test_a_patterns_port_is_the_registrys() -> None:
    assert best_key(["*.example.com:5000"], "a.example.com:5000", "x") == "*.example.com:5000"
    assert best_key(["*.example.com"], "a.example.com:5000", "x") is None
