"""What Go's text/template with sprig answers to two thousand templates, recorded (recorder/main.go)."""

import json
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from nodeworthy.errors import RuleError
from nodeworthy.rules.templates import Elements, Template

Json: TypeAlias = dict[str, Any]

# Not splitlines: some texts hold other characters that Python takes for ends of lines.
ANSWERS: list[Json] = [
    json.loads(line) for line in (Path(__file__).parent / "answers.jsonl").read_text().strip().split("\n")
]
PART = 100


@pytest.mark.parametrize("start", range(0, len(ANSWERS), PART))
def test_templates_have_the_answers_of_go(start: int, data: Elements) -> None:
    part = ANSWERS[start : start + PART]
    assert [answer(one["template"], data) for one in part] == part


def answer(text: str, data: Elements) -> Json:
    template = Template(text)
    if template.problem() is not None:
        return {"template": text, "error": "parse"}
    try:
        return {"template": text, "text": template.expand_text(data)}
    except RuleError:
        return {"template": text, "error": "execute"}
