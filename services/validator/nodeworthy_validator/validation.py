"""The question of the service: do these images run on these nodes?"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from nodeworthy import fleet
from nodeworthy.bus.requests import ValidateReply, ValidateRequest
from nodeworthy.errors import ArtifactError, BusBusyError, BusError, NodeworthyError, RegistryError, UsageError
from nodeworthy.fleet import Declarations, Question
from nodeworthy.images import ImageKnowledge
from nodeworthy_validator.composition import Composition, Outcome
from nodeworthy_validator.image_answers import ImageAnswers, JudgedAnswers, UnreadAnswers
from nodeworthy_validator.image_lookups import ImageLookups
from nodeworthy_validator.inventory import CATCH_UP_SECONDS, Inventory
from nodeworthy_validator.metrics import Metrics
from nodeworthy_validator.node_labels import NodeLabels
from nodeworthy_validator.questions import Asked, read_asked
from nodeworthy_validator.selection import Selection, select_nodes
from nodeworthy_validator.settings import Bounds
from nodeworthy_validator.specifications import Specifications

MARGIN = 0.1
"""The part of the asker's time, at most :data:`MOST_MARGIN_SECONDS`, that is kept for judging and for the way back."""
MOST_MARGIN_SECONDS = 0.25

LOOKS = 4
"""How often images are looked up for one request because nodes of other platforms came; a fleet that starts has a few."""

_UNKNOWN_ERRORS = (RegistryError, ArtifactError, BusError)
"""What keeps an image from being looked at without a mistake in the question: its answer is unknown."""

_Found = Mapping[str, ImageKnowledge | NodeworthyError]


@dataclass(frozen=True)
class Resources:
    """What all questions share."""

    inventory: Inventory
    labels: NodeLabels
    images: ImageLookups
    specifications: Specifications
    declarations: Declarations
    metrics: Metrics
    bounds: Bounds


class Validation:
    """Answers ``validate``."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    async def answer(self, request: ValidateRequest, seconds: float) -> ValidateReply:
        """The verdicts, for somebody who waits so many seconds.

        Raises:
            UsageError: the request asks for what cannot be.
            DocumentError: its specification cannot be read.
            NodeworthyError: its only image cannot be judged.
        """
        end = asyncio.get_running_loop().time() + seconds - min(seconds * MARGIN, MOST_MARGIN_SECONDS)
        inventory = self._resources.inventory
        asked = read_asked(request, self._resources.specifications)
        await inventory.catch_up(asked.cursor.revision, min(CATCH_UP_SECONDS, seconds / 4))
        selection, found = await self._look_up(asked, end)
        # From here on nothing waits, so that all is said of the same facts.
        outcomes = [self._judge(image, found.get(image), selection, asked) for image in asked.images]
        if len(outcomes) == 1 and isinstance(outcomes[0], NodeworthyError):
            raise outcomes[0]
        composition = Composition(
            request, selection, asked.cursor, inventory.revision, self._resources.bounds.reply_bytes
        )
        reply = composition.compose(asked.images, outcomes)
        for total in reply.totals:
            self._resources.metrics.answers.labels(total.answer.value).inc()
        return reply

    async def _look_up(self, asked: Asked, end: float) -> tuple[Selection, _Found]:
        """The nodes as they are now, and the images as all of these see them.

        Nodes may come while images are looked up. What a node of another platform takes was then not looked for, and that
        must not pass for an image that declares nothing: the missing part is looked up too.
        """
        looked: frozenset[str] | None = frozenset()
        found: _Found = {}
        for _ in range(LOOKS):
            selection = self._select(asked)
            needed = self._platforms(selection, asked)
            if looked is None or (needed is not None and needed <= looked):
                return selection, found
            names = None if needed is None else sorted(needed)
            left = end - asyncio.get_running_loop().time()
            found = await self._resources.images.get(asked.images, names, left, asked.inspect)
            looked = needed
        raise BusBusyError("the nodes change too fast to be asked about", todo="ask again in a moment, or about fewer")

    def _select(self, asked: Asked) -> Selection:
        self._resources.inventory.lapse()
        return select_nodes(self._resources.inventory, self._resources.labels, asked.nodes, asked.selector)

    def _platforms(self, selection: Selection, asked: Asked) -> frozenset[str] | None:
        """The platforms for which images have to be looked at; ``None``: any."""
        usable = selection.usable()
        if not usable:
            return frozenset()  # whatever the images are, nothing is known of the nodes
        if asked.platform is not None:
            return frozenset({str(asked.platform)})
        return self._resources.inventory.platforms(None if selection.is_everything else usable)

    def _judge(
        self, image: str, found: ImageKnowledge | NodeworthyError | None, selection: Selection, asked: Asked
    ) -> Outcome:
        inventory = self._resources.inventory
        if isinstance(found, ImageKnowledge):
            question = Question(found, asked.platform, asked.wishes, asked.override)
            nodes = None if selection.is_everything else selection.usable()
            try:
                results = fleet.judge_image(inventory.fleet, question, nodes, self._resources.declarations)
            except NodeworthyError as refusal:
                return refusal
            return ImageAnswers(found.reference, JudgedAnswers(results), selection, found.digest)
        if found is not None and not isinstance(found, _UNKNOWN_ERRORS):
            return found
        # An image that was not looked for: there is no node to say anything of.
        error = found or UsageError("no facts of these nodes are known")
        return ImageAnswers(image, UnreadAnswers(image, error, selection.usable(), inventory), selection)
