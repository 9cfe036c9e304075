"""What the resolver does with a request: bytes are decoded before it and encoded after it, by the bus."""

from nodeworthy.bus.requests import AttachReply, AttachRequest, ResolveReply, ResolveRequest
from nodeworthy_resolver.attaching import Attachments
from nodeworthy_resolver.inspections import Inspections
from nodeworthy_resolver.lookups import Lookups, parse_question
from nodeworthy_resolver.metrics import Metrics


async def handle_resolve(
    request: ResolveRequest, *, lookups: Lookups, inspections: Inspections, metrics: Metrics
) -> ResolveReply:
    """What an image is made of, declares and holds. A failure is told to the asker, and the next request is served."""
    with metrics.seconds.labels("resolve").time():
        question = parse_question(request)
        return await inspections.complete(await lookups.answer(question), question.platforms or (), request.inspect)


async def handle_attach(request: AttachRequest, *, attachments: Attachments, metrics: Metrics) -> AttachReply:
    """Attach a specification to an image. A failure is told to the asker; what was written before it stays written."""
    with metrics.seconds.labels("attach").time():
        return await attachments.attach(request)
