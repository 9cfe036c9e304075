"""What the validator does with a request: bytes are decoded before it and encoded after it, by the bus or by HTTP.

A failure is told to whoever asked, and the next request is served; nothing is done twice and nothing is stored.
"""

from nodeworthy.bus.requests import (
    ExplainReply,
    ExplainRequest,
    NodesReply,
    NodesRequest,
    ValidateReply,
    ValidateRequest,
)
from nodeworthy.bus.serving import seconds_left
from nodeworthy_validator.explanation import Explanation
from nodeworthy_validator.metrics import Metrics
from nodeworthy_validator.node_pages import NodePages
from nodeworthy_validator.validation import Validation


async def handle_validate(request: ValidateRequest, *, validation: Validation, metrics: Metrics) -> ValidateReply:
    """Whether images run on nodes, in the time that the asker has left."""
    with metrics.seconds.labels("validate").time():
        return await validation.answer(request, seconds_left())


async def handle_explain(request: ExplainRequest, *, explanation: Explanation, metrics: Metrics) -> ExplainReply:
    """One verdict in full."""
    with metrics.seconds.labels("explain").time():
        return await explanation.answer(request, seconds_left())


async def handle_nodes(request: NodesRequest, *, pages: NodePages, metrics: Metrics) -> NodesReply:
    """A page of the nodes that are known."""
    with metrics.seconds.labels("nodes").time():
        return await pages.answer(request, seconds_left())
