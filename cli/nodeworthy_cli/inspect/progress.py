"""A bar that tells how far the layers of an image are read; only for people who look."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import click
from click._termui_impl import ProgressBar

from nodeworthy_resolver.inspection.sources import Progress
from nodeworthy_resolver.inspection.sources.opened import no_progress


@contextmanager
def progress_bar(label: str) -> Iterator[Progress]:
    """Something that is told bytes done and bytes in all, and shows them on a terminal's standard error."""
    if not sys.stderr.isatty():
        yield no_progress
        return
    with ExitStack() as stack:
        bars: list[ProgressBar[int]] = []

        def tell(done: int, total: int) -> None:
            if not bars:
                bar = click.progressbar(length=total, label=label, file=sys.stderr)
                bars.append(stack.enter_context(bar))
            bars[0].update(done - bars[0].pos)

        yield tell
