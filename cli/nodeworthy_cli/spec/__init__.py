"""``nodeworthy spec``: compatibility specifications, from a first draft to an image and back.

A verb each in a module of its own; ``targets`` is what those share that take children of an index.
"""

import click

from nodeworthy_cli.lazy_verbs import LazyVerbs

VERBS = {
    "new": "A specification to begin with, with its explanation.",
    "validate": "Everything that is wrong with specification files.",
    "show": "The specification that is attached to an image.",
    "attach": "Attach a specification to an image.",
    "remove": "Remove what is attached to an image.",
}
"""Verb to its line in the help."""


@click.group(name="spec", cls=LazyVerbs, verbs=VERBS, package=__name__)
def command() -> None:
    """Write, validate, show, attach and remove compatibility specifications."""
