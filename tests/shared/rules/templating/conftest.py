"""How tests of templates expand one."""

from collections.abc import Callable
from typing import TypeAlias

import pytest

from nodeworthy.errors import RuleError
from nodeworthy.rules.templates import Elements, Template

Expand: TypeAlias = Callable[..., str]

DATA: Elements = {
    "pci": {
        "device": [
            {"class": "0300", "vendor": "10de", "device": "2204", "numa": "0"},
            {"class": "0200", "vendor": "8086", "device": "1572", "numa": "1"},
        ]
    },
    "cpu": {
        "cpuid": [{"Name": "AVX"}, {"Name": "AVX2"}],
        "m": [{"Name": "a", "Value": "7"}, {"Name": "b", "Value": ""}],
    },
    "x-y": {"q.r": []},
}


@pytest.fixture(scope="session")
def data() -> Elements:
    """What the rule of the recorded answers has matched."""
    return DATA


@pytest.fixture(scope="session")
def expand() -> Expand:
    """Expands a template on the recorded answers' data."""
    return lambda text, data=DATA: Template(text).expand_text(data)


@pytest.fixture(scope="session")
def failure() -> Callable[[str], str]:
    """Why a template fails, in words."""

    def fail(text: str) -> str:
        with pytest.raises(RuleError) as caught:
            Template(text).expand_text(DATA)
        return str(caught.value)

    return fail
