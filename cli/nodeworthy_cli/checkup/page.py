"""A checkup as one HTML file: nothing is loaded from anywhere, and all that others wrote is text."""

from collections.abc import Iterable
from html import escape

from nodeworthy.bus.requests import NodeGroup
from nodeworthy.verdicts import Answer
from nodeworthy_cli.checkup.records import Checkup, ImageReport, Risk
from nodeworthy_cli.checkup.text import MANY_WORKLOADS, summarize, tell_uses
from nodeworthy_cli.output import printable

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""A browser then refuses whatever would be loaded (Content Security Policy Level 3)."""

_STYLE = """
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; color: #222; background: #fff }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .3em .6em; border-bottom: 1px solid #ddd; overflow-wrap: anywhere }
th { position: sticky; top: 0; background: #fff; white-space: nowrap }
th button { all: unset; cursor: pointer; font-weight: bold }
th button:focus-visible { outline: 2px solid }
td.number { text-align: right }
tr.no td:first-child { border-left: .4em solid #c62828 }
tr.unknown td:first-child { border-left: .4em solid #f9a825 }
tr.yes td:first-child { border-left: .4em solid #2e7d32 }
small { color: #555; display: block }
"""

_SCRIPT = """
document.querySelectorAll("th button").forEach((button, column) => button.addEventListener("click", () => {
  const body = document.querySelector("tbody"), head = button.parentNode;
  const down = head.getAttribute("aria-sort") === "ascending";
  document.querySelectorAll("th").forEach(one => one.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const text = row => row.cells[column].textContent;
  [...body.rows].sort((a, b) => (down ? -1 : 1) * text(a).localeCompare(text(b), undefined, {numeric: true}))
    .forEach(row => body.append(row));
}));
"""

_HEADS = (
    "Rank",
    "Risk",
    "Image",
    "Why",
    "Platforms",
    "Missing",
    "Level",
    "Declared",
    "Compatible",
    "Incompatible",
    "Unknown",
    "Defect",
    "Cannot run on",
    "Used by",
)


def write_page(checkup: Checkup) -> str:
    """The file's text."""
    heads = "".join(f'<th scope="col"><button type="button">{escape(head)}</button></th>' for head in _HEADS)
    rows = "\n".join(_row(one) for one in checkup.images)
    notices = "".join(f"<li>{_text(notice)}</li>" for notice in checkup.notices)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<title>nodeworthy checkup</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>Images in use</h1>
<p>{_text(summarize(checkup))}</p>
{f"<ul>{notices}</ul>" if notices else ""}
<table>
<thead><tr>{heads}</tr></thead>
<tbody>
{rows}
</tbody>
</table>
<script>{_SCRIPT}</script>
</body>
</html>"""


def _row(one: ImageReport) -> str:
    kind = "yes" if one.risk is Risk.NONE else "unknown" if one.risk.rank >= Risk.UNKNOWN.rank else "no"
    counts = (Answer.COMPATIBLE, Answer.INCOMPATIBLE, Answer.UNKNOWN, Answer.IMAGE_DEFECT)
    cells = (
        _cell(str(one.rank), is_number=True),
        _cell(one.risk.value),
        _cell(one.image, [one.digest, *one.notices]),
        _cell(one.reason, one.defects),
        _cell(", ".join(one.platforms)),
        _cell(", ".join(one.missing)),
        _cell("; ".join(one.levels)),
        _cell(one.declared),
        *(_cell(str(one.counts.get(answer, 0)), is_number=True) for answer in counts),
        _cell("", map(_group, one.failing)),
        _cell(tell_uses(one.workloads, MANY_WORKLOADS)),
    )
    return f'<tr class="{kind}">{"".join(cells)}</tr>'


def _group(group: NodeGroup) -> str:
    return f"{', '.join(group.nodes)} ({group.count:,}): {group.reason}"


def _cell(text: str, more: Iterable[str] = (), *, is_number: bool = False) -> str:
    small = "".join(f"<small>{_text(line)}</small>" for line in more if line)
    kind = ' class="number"' if is_number else ""
    return f"<td{kind}>{_text(text)}{small}</td>"


def _text(text: str) -> str:
    return escape(printable(text))
