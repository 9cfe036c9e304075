"""From the answers about each image to a reply within its size: totals and groups of all, and a page of single verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass

from nodeworthy.bus.failures import error_reply
from nodeworthy.bus.requests import ImageProblem, ImageTotals, ValidateReply, ValidateRequest
from nodeworthy.errors import NodeworthyError
from nodeworthy.verdicts import Answer, Verdict
from nodeworthy_validator.cursors import Cursor, write_cursor
from nodeworthy_validator.image_answers import ImageAnswers
from nodeworthy_validator.replies import Budget, cut, fitting, json_size, overall, share, shorten_group, shorten_verdict
from nodeworthy_validator.selection import Selection

MAX_PROBLEM = 2000
"""Letters of the reason why there is no verdict on one of several images."""

Outcome = ImageAnswers | NodeworthyError
"""How the nodes fare with an image; an error where the question about this image cannot be answered."""


@dataclass(frozen=True)
class Composition:
    """One reply."""

    request: ValidateRequest
    selection: Selection
    cursor: Cursor
    """Where the page begins."""
    revision: int
    """How far this replica has read, for the next page."""
    reply_bytes: int

    def compose(self, images: Sequence[str], outcomes: Sequence[Outcome]) -> ValidateReply:
        """The reply about these images, as they were asked."""
        budget = Budget(self.reply_bytes)
        part = share(budget.left // 2, images)
        totals = tuple(self._total(image, one, part) for image, one in zip(images, outcomes, strict=True))
        budget.left -= sum(map(json_size, totals))
        page, ended = self._page(outcomes, budget)
        return ValidateReply(
            verdicts=tuple(page),
            totals=totals,
            cursor="" if ended is None else write_cursor(ended._replace(revision=self.revision)),
            undecided=self.selection.undecided,
            notices=tuple(self._notices()),
        )

    def _total(self, image: str, outcome: Outcome, limit: int) -> ImageTotals:
        if isinstance(outcome, NodeworthyError):
            told = error_reply(outcome)
            why = told.why[: min(MAX_PROBLEM, limit // 8)]
            return ImageTotals(
                image, {}, Answer.UNKNOWN, problem=ImageProblem(told.code, cut(told.what), why, told.todo)
            )
        counts = outcome.counts()
        answer = overall(counts, self.request.require, undecided=self.selection.undecided)
        groups, more = outcome.groups(self.request.groups)
        told_groups = tuple(fitting(map(shorten_group, groups), Budget(limit), self.request.groups))
        more += len(groups) - len(told_groups)
        return ImageTotals(image, counts, answer, outcome.digest, told_groups, more_groups=more)

    def _page(self, outcomes: Sequence[Outcome], budget: Budget) -> tuple[list[Verdict], Cursor | None]:
        """The verdicts after the cursor, as many as may be and fit, and where the next page goes on, if there is one."""
        page: list[Verdict] = []
        last, limit, largest = self.cursor, self.request.limit, budget.left // 2
        for number, outcome in enumerate(outcomes if limit else ()):
            if number < self.cursor.image or isinstance(outcome, NodeworthyError):
                continue
            after = self.cursor.node if number == self.cursor.image else ""
            for verdict in outcome.verdicts(after, self.request.only, limit):
                told = shorten_verdict(verdict, largest)
                if len(page) == limit or not budget.take(told):
                    return page, last
                page.append(told)
                last = Cursor(0, number, verdict.node)
        return page, None

    def _notices(self) -> list[str]:
        """What whoever asks should know of the selection."""
        count = self.selection.undecided
        told = f"the labels of {count:,} nodes are not known, so whether they are meant is not known either"
        return [told] if count else []
