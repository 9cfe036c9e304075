"""Nodes as files of features, and the specification of requirement E9, in the folder that the program runs in."""

import json
from pathlib import Path
from typing import Any, Protocol

import pytest

E9 = Path(__file__).parents[2] / "data" / "specifications" / "e9.yaml"


class MakeFacts(Protocol):
    """A file of features; without ``card`` it is not known what cards the node has."""

    def __call__(self, vendor: str = "Intel", card: str | None = "10de", architecture: str = "amd64") -> str: ...


@pytest.fixture
def make_facts() -> MakeFacts:
    def make(vendor: str = "Intel", card: str | None = "10de", architecture: str = "amd64") -> str:
        document: dict[str, Any] = {
            "flags": {"kernel.loadedmodule": {"elements": {"vfio_pci": {}}}},
            "attributes": {
                "cpu.model": {"elements": {"vendor_id": vendor}},
                "system.architecture": {"elements": {"architecture": architecture}},
            },
            "instances": {},
            "sets": {},
            "catalogue": ["cpu.model", "kernel.loadedmodule", "pci.device", "system.architecture"],
        }
        if card is None:
            document["sets"] = {"pci.device": {"state": "unknown", "reason": "sys/bus/pci/devices: Permission denied"}}
        else:
            document["instances"]["pci.device"] = {"elements": [{"attributes": {"vendor": card, "class": "0302"}}]}
        return json.dumps(document)

    return make


@pytest.fixture
def spec() -> str:
    """Two compatibility sets: with the card, and without it."""
    return E9.read_text()


@pytest.fixture
def folder(tmp_path: Path, spec: str, make_facts: MakeFacts) -> Path:
    """The folder with ``spec.yaml``, a node for each of its sets, one for none, and one that tells nothing of its cards."""
    (tmp_path / "spec.yaml").write_text(spec)
    (tmp_path / "both.json").write_text(make_facts())
    (tmp_path / "second.json").write_text(make_facts(card="8086"))
    (tmp_path / "none.json").write_text(make_facts(vendor="AMD"))
    (tmp_path / "blind.json").write_text(make_facts(card=None))
    return tmp_path


@pytest.fixture(params=["referrers_registry", "distribution_registry"])
def registry(request: pytest.FixtureRequest) -> str:
    """A registry with the referrers API and one without it."""
    host: str = request.getfixturevalue(request.param)
    return host
