"""``nodeworthy checkup --file``: the installed program on a list of images, with nodes in features files."""

import csv
import io
import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cli.checkup.conftest import PushImage, WriteNode, report_of

from nodeworthy_cli import exits

if TYPE_CHECKING:
    from tests.cli.conftest import Nodeworthy


def test_the_worst_image_comes_first_with_the_reason_for_its_rank(
    nodeworthy: "Nodeworthy", write_node: WriteNode, layout: Callable[..., str]
) -> None:
    both, one = layout("both", "amd64", "arm64"), layout("one", "amd64")
    on = ("--on", write_node("n1"), "--on", write_node("n2", "arm64", "ARMv8.2"))

    done = nodeworthy("checkup", "--file", "-", *on, "-o", "json", input=f"{both}\n{one}\n", code=exits.NO)

    images = json.loads(done.stdout)["images"]
    assert [(image["image"], image["risk"]) for image in images] == [
        (one, "platform-missing"),
        (both, "unknown"),
    ]
    assert images[0]["missing"] == ["linux/arm64"]
    assert images[0]["counts"] == {"incompatible": 1, "unknown": 1}
    assert images[0]["failing"][0]["nodes"] == ["n2"]
    assert images[0]["reason"].startswith("not offered for linux/arm64; cannot run on 1 of the 2 nodes")


def test_an_image_that_no_node_can_run_is_worst_of_all(
    nodeworthy: "Nodeworthy", write_node: WriteNode, layout: Callable[..., str]
) -> None:
    done = nodeworthy("checkup", "--file", "-", "--on", write_node("n1", "arm64"), input=layout("app"), code=exits.NO)

    assert "1 image on 1 node: 1 cannot-run" in done.stdout
    assert "no node where it could be placed can run it" in done.stdout


def test_a_level_that_part_of_the_nodes_lacks_is_told(
    nodeworthy: "Nodeworthy", write_node: WriteNode, variant_layout: Callable[[str, str], str]
) -> None:
    old, new = write_node("old", "amd64", "X86_64_V1"), write_node("new", "amd64", "X86_64_V1", "X86_64_V3")

    done = nodeworthy(
        *("checkup", "--file", "-", "--on", old, "--on", new, "-o", "json"),
        input=variant_layout("fast", "v3"),
        code=exits.NO,
    )

    report = json.loads(done.stdout)["images"][0]
    assert (report["risk"], report["levels"]) == ("nodes-lack", ["linux/amd64/v3"])
    assert report["failing"][0]["nodes"] == ["old"]
    assert "missing" not in report


def test_an_image_that_declares_nothing_and_was_not_inspected_is_only_undeclared(
    nodeworthy: "Nodeworthy", write_node: WriteNode, layout: Callable[..., str]
) -> None:
    done = nodeworthy(
        *("checkup", "--file", "-", "--on", write_node("n1"), "--no-inspect", "-o", "json"),
        input=layout("app"),
        code=exits.UNKNOWN,
    )

    report = json.loads(done.stdout)["images"][0]
    assert (report["risk"], report["rank"], report["declared"]) == ("undeclared", 6, "no")
    assert report["counts"] == {"unknown": 1}


def test_a_registry_that_is_down_and_a_bad_line_harm_only_themselves(
    nodeworthy: "Nodeworthy", write_node: WriteNode, push: PushImage
) -> None:
    image = push("app", "amd64")
    dead = "127.0.0.1:1/team/app:1"

    done = nodeworthy(
        *("checkup", "--file", "-", "--on", write_node("n1"), "--plain-http", "-o", "json"),
        input=f"# in use\n{dead}\nhttp://bad name\n{image}  # ours\n",
        code=exits.UNKNOWN,
    )

    assert report_of(done.stdout, image)["risk"] == "undeclared"
    assert "127.0.0.1:1" in report_of(done.stdout, dead)["reason"]
    assert report_of(done.stdout, "http://bad name")["reason"].startswith("it could not be looked up: ")


def test_the_files_of_images_in_registries_are_looked_at_if_asked(
    nodeworthy: "Nodeworthy", write_node: WriteNode, push: PushImage
) -> None:
    image = push("app", "amd64", "arm64")
    on = ("--on", write_node("n1"), "--on", write_node("n2", "arm64", "ARMv8.2"))

    options = ("--file", "-", *on, "--plain-http", "--inspect", "-o", "json")
    done = nodeworthy("checkup", *options, input=image, code=exits.UNKNOWN)

    assert report_of(done.stdout, image)["inspected"]
    assert "neither an entrypoint nor a command is named" in report_of(done.stdout, image)["reason"]


def test_an_image_that_is_written_in_two_ways_is_asked_for_once(
    nodeworthy: "Nodeworthy", write_node: WriteNode
) -> None:
    names = "127.0.0.1:1/app\n127.0.0.1:1/app:latest\n"

    done = nodeworthy(
        *("checkup", "--file", "-", "--on", write_node("n1"), "-o", "json"), input=names, code=exits.UNKNOWN
    )

    assert [one["image"] for one in json.loads(done.stdout)["images"]] == ["127.0.0.1:1/app:latest"]


def test_the_table_shows_the_most_risky_images_and_all_of_them_if_asked(
    nodeworthy: "Nodeworthy", write_node: WriteNode
) -> None:
    names = "".join(f"127.0.0.1:1/app:{number}\n" for number in range(25))
    arguments = ("checkup", "--file", "-", "--on", write_node("n1"))

    short = nodeworthy(*arguments, input=names, code=exits.UNKNOWN).stdout
    full = nodeworthy(*arguments, "--all", input=names, code=exits.UNKNOWN).stdout

    assert "and 5 more images of less risk: --all shows them" in short
    assert sum("127.0.0.1:1/app:" in line for line in full.splitlines()) == 2 * 25


def test_csv_has_a_row_for_each_image_and_no_formula(nodeworthy: "Nodeworthy", write_node: WriteNode) -> None:
    done = nodeworthy(
        *("checkup", "--file", "-", "--on", write_node("n1"), "-o", "csv"),
        input="=HYPERLINK(1)\n127.0.0.1:1/app:1\n",
        code=exits.UNKNOWN,
    )

    rows = list(csv.DictReader(io.StringIO(done.stdout, newline="")))
    assert {row["image"] for row in rows} == {"'=HYPERLINK(1)", "127.0.0.1:1/app:1"}
    assert all(row["risk"] == "unknown" for row in rows)


class _Rows(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in {"src", "href"}]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_is_one_file_in_which_what_others_wrote_is_text(nodeworthy: "Nodeworthy", write_node: WriteNode) -> None:
    hostile = "<script>alert(1)</script><img src=x>"

    done = nodeworthy(
        *("checkup", "--file", "-", "--on", write_node("n1"), "-o", "html"), input=hostile, code=exits.UNKNOWN
    )

    page = _Rows()
    page.feed(done.stdout)
    assert hostile in page.text
    assert page.tags.count("script") == 1  # the page's own, which sorts
    assert page.links == []
    assert "img" not in page.tags


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "one of --from-cluster and --file LIST is needed"),
        (("--from-cluster", "--file", "-"), "one of --from-cluster and --file LIST is needed"),
        (("--file", "-", "--on", "n1", "--on", "./n1.json"), "--on ./n1.json says nothing here"),
        (("--file", "-", "--on", "all", "--plain-http"), "--plain-http says nothing here"),
        (("--file", "-", "--namespace", "shop"), "--namespace says nothing here"),
        (("--file", "-", "--kubeconfig", "x"), "--kubeconfig says nothing here"),
        (("--file", "-", "--on", "./n1.json", "--cluster", "x"), "--cluster says nothing here"),
        (("--file", "none.txt"), "image list none.txt cannot be read"),
        (("--file", "-"), "no bus is known"),
    ],
)
def test_what_makes_no_question_is_a_usage_error(
    arguments: tuple[str, ...], told: str, nodeworthy: "Nodeworthy", tmp_path: Path
) -> None:
    (tmp_path / "n1.json").write_text("{}")

    assert told in nodeworthy("checkup", *arguments, input="nginx", code=exits.USAGE).stderr


def test_an_empty_list_is_a_usage_error(nodeworthy: "Nodeworthy", write_node: WriteNode) -> None:
    done = nodeworthy("checkup", "--file", "-", "--on", write_node("n1"), input="# none\n", code=exits.USAGE)

    assert "names no image" in done.stderr


def test_two_files_of_one_node_are_refused(nodeworthy: "Nodeworthy", write_node: WriteNode) -> None:
    on = write_node("n1")

    done = nodeworthy("checkup", "--file", "-", "--on", on, "--on", on, input="nginx", code=exits.USAGE)

    assert "two files are of node n1" in done.stderr
