from typing import TYPE_CHECKING

import pytest

from nodeworthy.images import ImageKnowledge, PlatformImage
from nodeworthy.platforms import Platform, parse
from nodeworthy_resolver.moves import lost_platforms

if TYPE_CHECKING:
    from collections.abc import Iterable


def known(names: "Iterable[str]") -> ImageKnowledge:
    """An index of images; an empty name is a child that claims nothing."""
    platforms: list[Platform | None] = [parse(name) if name else None for name in names]
    return ImageKnowledge("a", "sha256:1", "", tuple(PlatformImage("sha256:2", platform) for platform in platforms))


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        (["linux/amd64", "linux/arm64"], ["linux/amd64"], ("linux/arm64",)),
        (["linux/amd64"], ["linux/amd64", "linux/arm64"], ()),
        (["linux/arm64", "linux/amd64"], ["linux/s390x"], ("linux/amd64", "linux/arm64")),
        (["linux/arm64"], [], ("linux/arm64",)),
        (["linux/arm64"], ["linux/amd64", ""], ()),
        (["linux/arm64", ""], ["linux/arm64"], ()),
    ],
)
def test_what_a_moved_tag_lost_is_what_only_the_image_before_had(
    before: list[str], after: list[str], lost: tuple[str, ...]
) -> None:
    assert lost_platforms(known(before), known(after))[0] == lost


def test_a_single_images_platform_is_what_its_config_says() -> None:
    single = ImageKnowledge("a", "sha256:1", "", (PlatformImage("sha256:1", None, Platform("linux", "arm64")),))
    assert lost_platforms(single, known(["linux/amd64"])) == (("linux/arm64",), ("linux/amd64",))
