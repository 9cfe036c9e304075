"""What the tests of default labels share: the labels of one content of one set, without the source's prefix."""

from collections.abc import Callable

import pytest

from nodeworthy.features import FeatureSet, SetState, SetStatus, Snapshot
from nodeworthy.labels import DefaultLabels, DefaultLabelSettings, compile_defaults, make_default_labels

PREFIX = "feature.node.kubernetes.io/"


@pytest.fixture(scope="session")
def make_labels() -> Callable[..., dict[str, str]]:
    """``make_labels(set, content)`` gives the labels, short where they have the default prefix."""

    def make(name: str, content: FeatureSet, settings: DefaultLabelSettings | None = None) -> dict[str, str]:
        found = Snapshot({name: content}, catalogue=frozenset())
        made = make_default_labels(found, compile_defaults(settings or DefaultLabelSettings()))
        assert all(label.sets == (name,) for label in made.labels)
        return {label.key.removeprefix(PREFIX): label.value for label in made.labels}

    return make


@pytest.fixture(scope="session")
def make_unknown() -> Callable[..., DefaultLabels]:
    """``make_unknown(set)`` gives what is made where this set could not be found out and every other one is absent."""

    def make(name: str) -> DefaultLabels:
        status = {name: SetStatus(SetState.UNKNOWN, "permission denied")}
        return make_default_labels(
            Snapshot({}, status, catalogue=frozenset()), compile_defaults(DefaultLabelSettings())
        )

    return make
