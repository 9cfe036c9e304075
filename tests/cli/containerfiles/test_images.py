"""Which images a Containerfile pulls: the syntax, build arguments, stages."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeworthy import platforms
from nodeworthy.errors import DocumentError
from nodeworthy_cli.containerfiles import Use, list_images

ARM64, AMD64 = platforms.parse("linux/arm64"), platforms.parse("linux/amd64")


def images_of(text: str, **arguments: str) -> list[str]:
    """The images, built on amd64 for arm64, as ``IMAGE PLATFORM``; nothing may be wrong."""
    uses, problems = list_images(text, "Containerfile", ARM64, AMD64, arguments)
    assert problems == ()
    return [f"{use.image} {use.platform}" for use in uses]


def problems_of(text: str, **arguments: str) -> list[tuple[int, str]]:
    _, problems = list_images(text, "Containerfile", ARM64, AMD64, arguments)
    return [(problem.line, problem.message) for problem in problems]


def test_every_stage_is_looked_at_and_earlier_stages_are_no_images() -> None:
    text = """
FROM golang:1.24 AS Build
FROM --platform=linux/amd64 node:22 as web
FROM build
FROM scratch
COPY --from=web /x /x
COPY --from=0 /x /x
COPY --from=later /x /x
FROM alpine AS later
"""
    assert images_of(text) == ["golang:1.24 linux/arm64", "node:22 linux/amd64", "alpine linux/arm64"]


def test_a_stage_is_only_known_after_it() -> None:
    assert images_of("FROM build\nFROM a AS build\n") == ["build linux/arm64", "a linux/arm64"]


def test_images_that_are_copied_or_mounted_from_count_for_the_target() -> None:
    text = """FROM --platform=$BUILDPLATFORM a
COPY --chown=0:0 --from=ghcr.io/x/tool:1 --link /t /t
RUN --mount=type=cache,target=/c --mount=type=bind,from=busybox:1,source=/,target=/b echo --from=none
ADD --checksum=sha256:00 https://example.com/x /x
ONBUILD COPY --from=never /x /x
"""
    assert images_of(text) == ["a linux/amd64", "ghcr.io/x/tool:1 linux/arm64", "busybox:1 linux/arm64"]
    for mount in ('type=bind,"from=b:1",target=/t', "type=bind,From=b:1", '"type=bind,from=b:1"'):
        assert images_of(f"FROM a\nRUN --mount={mount} x") == ["a linux/arm64", "b:1 linux/arm64"]


def test_the_line_is_where_the_instruction_begins() -> None:
    uses, _ = list_images("# c\n\nARG X\nFROM \\\n  a\nCOPY --from=b /x /x\n", "C", ARM64, AMD64, {})
    assert uses == (Use("a", ARM64, 4), Use("b", ARM64, 6))


@pytest.mark.parametrize(
    ("text", "image"),
    [
        ("ARG V=1\nFROM a:$V", "a:1"),
        ("ARG V=1\nFROM a:${V}-slim", "a:1-slim"),
        ("ARG V\nFROM a:${V:-2}", "a:2"),
        ("ARG V=\nFROM a:${V:-2}", "a:2"),
        ("ARG V=\nFROM a${V-2}", "a"),
        ("FROM a${V-2}", "a2"),
        ("ARG V=1\nFROM a${V:+:x}", "a:x"),
        ("FROM a${V:+:x}", "a"),
        ("ARG A=1 B=2\nFROM a:$A.$B", "a:1.2"),
        ("ARG A=1\nARG B=${A}0\nFROM a:$B", "a:10"),
        ("ARG A='x y' B=\"2\"\nFROM a:$B", "a:2"),
        ('FROM "a:1"', "a:1"),
        ("ARG V=1\nFROM a:\\$V", "a:$V"),
        ("ARG V=1\nFROM '$V'", "$V"),
        ("ARG A=\nFROM a${A:-${B:-b}}", "ab"),
        ("FROM a-$TARGETARCH:$BUILDARCH", "a-arm64:amd64"),
        ("FROM a\nARG V=1\nFROM b:${V:-2}", "b:2"),
        ("\ufeff# syntax=docker/dockerfile:1\r\nFROM a:1\r\n", "a:1"),
        ("from a\\\n# a comment between\n\n:1", "a:1"),
        ("# escape=`\nFROM a`\n:1", "a:1"),
        ("# syntax=x\n# escape=`\nFROM a:\\\\x", "a:\\\\x"),
        ("\n# escape=`\nFROM a\\\n:1", "a:1"),
        ("FROM a\\  \n:1", "a:1"),
    ],
)
def test_words_are_read_as_builders_read_them(text: str, image: str) -> None:
    uses, problems = list_images(text, "C", ARM64, AMD64, {})
    assert problems == ()
    assert uses[-1].image == image


def test_build_arguments_count_for_what_is_declared() -> None:
    assert images_of("ARG V=1\nFROM a:${V}${W}", V="2", W="3") == ["a:2 linux/arm64"]
    assert images_of("ARG V\nFROM a:$V", V="2") == ["a:2 linux/arm64"]
    assert images_of("FROM --platform=$BUILDPLATFORM a", BUILDPLATFORM="linux/s390x") == ["a linux/s390x"]
    assert images_of("FROM --platform=arm a") == ["a linux/arm/v7"]


@pytest.mark.parametrize(
    "heredoc",
    [
        "RUN <<EOF\nFROM x\nEOF",
        "RUN <<-EOF\n\tFROM x\n\tEOF",
        'RUN cat <<"E-1" > /x && cat <<B\nFROM x\nE-1\nFROM y\nB',
        "COPY <<a.txt <<b.txt /d/\nFROM x\na.txt\nFROM y\nb.txt",
        "ONBUILD RUN <<EOF\nFROM x\nEOF",
        "RUN cat 3<<EOF\nFROM x \\\nEOF",
        "RUN cat <<\\EOF\nFROM x\nEOF",
        'RUN cat <<E"O"F\nFROM x\nEOF',
        "RUN cat <<'the end'\nFROM x\nthe end",
        "RUN echo it\\'s <<EOF it\\'s\nFROM x\nEOF",
    ],
)
def test_what_a_heredoc_holds_is_no_instruction(heredoc: str) -> None:
    assert images_of(f"FROM a\n{heredoc}\nFROM b") == ["a linux/arm64", "b linux/arm64"]


def test_what_only_looks_like_a_heredoc_is_none() -> None:
    text = 'FROM a\nRUN echo "<<EOF" $((1<<2))\nENV X=<<EOF\nFROM b'
    assert images_of(text) == ["a linux/arm64", "b linux/arm64"]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("FROM ${V}", 1, "${V} is empty"),
        ("FROM a\nFROM a b", 2, "is not: FROM"),
        ("FROM", 1, "is not: FROM"),
        ("FROM a:${V:?no version}", 1, "no version"),
        ("FROM a:${V#x}", 1, "not known here"),
        ("FROM a:${V", 1, "without its end"),
        ("FROM --platform=$NOTHING a", 1, "--platform=$NOTHING"),
        ("FROM --platform=a/b/c/d a", 1, "not a platform"),
        ("FROM a\nCOPY --from=$X /x /x", 2, "replace no variables"),
        ("FROM a\nCOPY --from=7 /x /x", 2, "there are fewer stages"),
    ],
)
def test_what_cannot_be_told_is_said_and_the_rest_is_still_told(text: str, line: int, says: str) -> None:
    (problem,) = problems_of(text)
    assert problem[0] == line
    assert says in problem[1]
    assert images_of("FROM other")[0] in [
        f"{use.image} {use.platform}" for use in list_images(f"{text}\nFROM other", "C", ARM64, AMD64, {})[0]
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no FROM"),
        ("RUN x", "no FROM"),
        ("FROM a\nRUN <<EOF\nnever ends", "no end"),
        ("# escape=x\nFROM a", "escape"),
        ("FROM a\n{}", "no instruction"),
    ],
)
def test_what_is_no_containerfile_is_refused(text: str, says: str) -> None:
    with pytest.raises(DocumentError, match=says):
        list_images(text, "C", ARM64, AMD64, {})


@given(st.text("FROM ARG\n\\$<{}:-=\"'`#ab/", max_size=120))
def test_any_text_is_told_or_refused(text: str) -> None:
    with contextlib.suppress(DocumentError):
        uses, problems = list_images(f"FROM a\n{text}", "C", ARM64, AMD64, {})
        assert uses or problems


@pytest.mark.parametrize(
    "text",
    [
        "# a=" + " " * 200_000 + "x\nFROM a",
        "FROM " + "\\a" * 100_000 + '"',
        "FROM a\nRUN " + "--a " * 100_000,
        "FROM a\nRUN " + '"' * 200_001,
        "ARG A=xxxxxxxxxxxxxxxx\n" + "ARG A=$A$A\n" * 60 + "FROM a",
        "FROM " + "${A:-" * 10_000,
        "FROM a" + "\\\n" * 100_000,
    ],
)
def test_texts_made_to_be_slow_are_not(text: str) -> None:
    # Each of these would take hours with a step that goes back over what it has read.
    uses, problems = list_images(text, "C", ARM64, AMD64, {})
    assert uses or problems
