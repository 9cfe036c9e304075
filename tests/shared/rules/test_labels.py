import pytest

from nodeworthy.rules import labels


@pytest.mark.parametrize("value", ["", "x" * 63, "a", "a.b-c_d"])
def test_l8_a_good_value_is_taken(value: str) -> None:
    assert labels.label_value_problem(value) is None


@pytest.mark.parametrize("value", ["x" * 64, "-a", "a-", "a b", "a\n"])
def test_l8_a_bad_value_is_told(value: str) -> None:
    assert "at most 63" in str(labels.label_value_problem(value))


def test_l8_names_and_prefixes_have_their_lengths() -> None:
    assert labels.label_name_problem(f"x.org/{'n' * 63}") is None
    assert labels.label_name_problem(f"x.org/{'n' * 64}") is not None
    prefix = ".".join(["p" * 63] * 3 + ["p" * 61])
    assert len(prefix) == 253
    assert labels.label_name_problem(f"{prefix}/n") is None
    assert labels.label_name_problem(f"{prefix}p/n") is not None


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("kubernetes.io/x", False),
        ("node-role.kubernetes.io/x", False),
        ("feature.node.kubernetes.io/x", True),
        ("vendor.feature.node.kubernetes.io/x", True),
        ("profile.node.kubernetes.io/x", True),
        ("vendor.com/x", True),
        ("x", False),
    ],
)
def test_l10_the_namespaces_of_labels(name: str, *, good: bool) -> None:
    assert (labels.label_name_problem(name) is None) == good


def test_the_namespace_for_profiles_is_for_labels_only() -> None:
    assert "Kubernetes' own" in str(labels.annotation_name_problem("profile.node.kubernetes.io/x"))
    assert "Kubernetes' own" in str(labels.taint_name_problem("profile.node.kubernetes.io/x"))


def test_an_annotation_is_measured_in_bytes() -> None:
    assert labels.annotation_value_problem("é" * 512) is None
    assert "1024 bytes" in str(labels.annotation_value_problem("é" * 512 + "x"))
