"""Which children of an index a verb is about: ``--platform``, as often as there are some, or ``all``."""

from collections.abc import Callable
from typing import Literal

import click

from nodeworthy import platforms
from nodeworthy.platforms import Platform

Targets = Literal["all"] | list[Platform] | None
"""``None``: what the reference itself resolves to."""


def targets_option(verb: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The option ``--platform`` of a verb that takes several, as ``names``."""
    return click.option(
        "--platform", "names", multiple=True, help=f"{verb} this child of an index; 'all' for every child."
    )


def read_targets(names: tuple[str, ...]) -> Targets:
    """What the option's values mean.

    Raises:
        UsageError: one is no platform.
    """
    if not names:
        return None
    return "all" if "all" in names else [platforms.parse(name) for name in names]
