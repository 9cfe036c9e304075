"""Specifications that come with requests."""

import pytest

from nodeworthy.errors import DocumentError
from nodeworthy_validator.specifications import Specifications

SPEC = """
version: v1alpha1
compatibilities:
- weight: {weight}
  rules:
  - name: card
    matchFeatures: [{{feature: pci.device, matchExpressions: {{vendor: {{op: Exists}}}}}}]
"""


def test_the_same_text_is_read_once() -> None:
    specifications = Specifications(most=2, most_bytes=10_000)
    first = specifications.read(SPEC.format(weight=1))
    specifications.read(SPEC.format(weight=2))
    assert specifications.read(SPEC.format(weight=1)) is first
    specifications.read(SPEC.format(weight=3))
    assert specifications.read(SPEC.format(weight=1)) is first
    assert specifications.read(SPEC.format(weight=2)).spec.compatibilities[0].weight == 2


def test_no_more_text_is_kept_than_allowed() -> None:
    specifications = Specifications(most=100, most_bytes=len(SPEC) * 2)
    for weight in range(10):
        assert specifications.read(SPEC.format(weight=weight)).spec.compatibilities[0].weight == weight
    assert len(specifications._kept) == 2


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "version: v9",
        SPEC.format(weight="heavy"),
        SPEC.format(weight=1).replace("matchFeatures", "matchFeature"),
        "\ud800",
    ],
)
def test_a_text_that_is_wrong_in_any_part_is_refused(text: str) -> None:
    with pytest.raises(DocumentError):
        Specifications(most=2, most_bytes=10_000).read(text)
