"""A list of images in a file: one on a line, ``#`` begins a comment."""

from nodeworthy.errors import UsageError

MAX_LIST_BYTES = 16 * 1024 * 1024
"""A hundred thousand long names."""


def parse_list(data: bytes, name: str) -> tuple[str, ...]:
    """The images, each once, in their order.

    ::

        # what runs in production
        registry.example/shop/cart:1.2
        nginx   # a comment may follow

    Raises:
        UsageError: it is not UTF-8, or names no image.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"image list {name} cannot be read", why="it is not UTF-8") from error
    images = [_strip(line) for line in text.splitlines()]
    found = tuple(dict.fromkeys(image for image in images if image))
    if not found:
        raise UsageError(f"image list {name} names no image", why="it is empty", todo="write one image on each line")
    return found


def _strip(line: str) -> str:
    """The line without its comment: a mark within a word is part of a name."""
    words = line.split()
    comment = next((place for place, word in enumerate(words) if word.startswith("#")), len(words))
    return " ".join(words[:comment])
