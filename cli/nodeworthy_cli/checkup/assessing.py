"""The risk of an image, and the reason for its rank; pure.

The order is documented in docs/checkup.md: what cannot run where it is meant to be, then what may come to nodes that cannot
run it, then what is not known.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nodeworthy import platforms
from nodeworthy.bus.requests import NodeGroup
from nodeworthy.errors import NodeworthyError
from nodeworthy.images import PlatformImage
from nodeworthy.platforms import Platform
from nodeworthy.requirements import Layer, Sureness
from nodeworthy.verdicts import Answer
from nodeworthy_cli.checkup.judging import Fare, Known
from nodeworthy_cli.checkup.pools import Pools
from nodeworthy_cli.checkup.records import ImageReport, Risk, Standing, WorkloadUse
from nodeworthy_cli.checkup.surveying import Fares, is_declared, is_inspected
from nodeworthy_cli.checkup.uses import Use, WorkloadName

_NAMED = 2
"""Rollbacks that a reason names."""
_DECLARED = {True: "yes", False: "no", None: "unknown"}


class Subject(NamedTuple):
    """One image with its users and the nodes that matter to it."""

    image: str
    uses: Mapping[WorkloadName, Use]
    pools: Pools


class _Rank(NamedTuple):
    risk: Risk
    reason: str


def assess(subject: Subject, known: Known, fares: Fares, nodes: Mapping[str, Platform | None]) -> ImageReport:
    """The report on an image that was looked up; ``nodes`` are all of them with their platforms."""
    images = known.knowledge.images
    rank = _rank(fares, subject, _missing(images, subject.pools.free, nodes), nodes)
    workloads = _tell_workloads(subject.uses)
    return ImageReport(
        image=subject.image,
        rank=rank.risk.rank,
        risk=rank.risk,
        reason=rank.reason + _rollbacks(workloads, rank.risk),
        digest=known.knowledge.digest,
        platforms=tuple(dict.fromkeys(str(platform) for one in images if (platform := _offered(one)))),
        missing=_missing(images, subject.pools.every, nodes),
        levels=tuple(dict.fromkeys(level for one in images for level in _levels(one))),
        declared=_DECLARED[is_declared(known)],
        inspected=is_inspected(known),
        counts=fares.everything.counts,
        failing=tuple(
            group for answer in (Answer.IMAGE_DEFECT, Answer.INCOMPATIBLE) for group in fares.everything.having(answer)
        ),
        defects=tuple(
            dict.fromkeys(
                f"{defect.text} ({defect.sureness.value})"
                for one in images
                if one.inspection
                for defect in one.inspection.defects
            )
        ),
        workloads=workloads,
        notices=tuple(dict.fromkeys((*known.knowledge.notices, *_moved(known, subject.uses)))),
    )


def assess_unread(subject: Subject, error: NodeworthyError, nodes: int) -> ImageReport:
    """The report on an image that could not be looked up: unknown on every node."""
    workloads = _tell_workloads(subject.uses)
    return ImageReport(
        image=subject.image,
        rank=Risk.UNKNOWN.rank,
        risk=Risk.UNKNOWN,
        reason=f"it could not be looked up: {error}",
        counts={Answer.UNKNOWN: nodes} if nodes else {},
        workloads=workloads,
    )


def order(reports: Sequence[ImageReport]) -> tuple[ImageReport, ...]:
    """The greatest risk first, of equal ones what more workloads use, then by name."""
    return tuple(sorted(reports, key=lambda one: (one.rank, -len(one.workloads), one.image)))


def _rank(fares: Fares, subject: Subject, missing: Sequence[str], nodes: Mapping[str, Platform | None]) -> _Rank:
    """``missing``: platforms of nodes that nothing keeps it from, and that it is not offered for."""
    ranks = (_cannot_run(fares), _defect(fares), _may_not_run(fares.free, missing, nodes), _not_known(fares))
    found = next(filter(None, ranks), None)
    if found is not None:
        return found
    if not subject.pools.every:
        wanted = " and ".join(sorted({str(one) for use in subject.uses.values() for one in use.placements if str(one)}))
        return _Rank(Risk.UNKNOWN, f"there is no node for it{f': none has {wanted}' if wanted else ''}")
    return _Rank(Risk.NONE, "it runs on every node where it is or could be placed")


def _cannot_run(fares: Fares) -> _Rank | None:
    for fare, where in ((fares.running, "where it runs"), (fares.chosen, "that its workloads select")):
        if fare.count(Answer.INCOMPATIBLE):
            return _Rank(Risk.CANNOT_RUN, _tell(fare, Answer.INCOMPATIBLE, f"cannot run on {{}} {where}"))
    free = fares.free
    if free.size and free.count(Answer.INCOMPATIBLE) == free.size:
        return _Rank(Risk.CANNOT_RUN, f"no node where it could be placed can run it: {free.groups[0].reason}")
    return None


def _defect(fares: Fares) -> _Rank | None:
    group = next((one for fare in fares.mattering for one in fare.having(Answer.IMAGE_DEFECT)), None)
    return _Rank(Risk.IMAGE_DEFECT, f"fails on every node: {group.reason}") if group else None


def _may_not_run(free: Fare, missing: Sequence[str], nodes: Mapping[str, Platform | None]) -> _Rank | None:
    if not free.count(Answer.INCOMPATIBLE):
        return None
    sentence = "cannot run on {} where it could be placed, as it selects none"
    if not missing:
        return _Rank(Risk.NODES_LACK, _tell(free, Answer.INCOMPATIBLE, sentence))
    # The reason to tell first is the one that names the platform.
    of_platform = [one for one in free.groups if _kinds(one.nodes, nodes) & set(missing)]
    told = _tell(free._replace(groups=(*of_platform, *free.groups)), Answer.INCOMPATIBLE, sentence)
    return _Rank(Risk.PLATFORM_MISSING, f"not offered for {', '.join(missing)}; {told}")


def _not_known(fares: Fares) -> _Rank | None:
    fare = next((one for one in fares.mattering if one.count(Answer.UNKNOWN)), None)
    if fare is None:
        return None
    if fares.is_only_undeclared:
        reason = "its platform fits, and nobody knows what else it needs: it declares nothing, and was not inspected"
        return _Rank(Risk.UNDECLARED, reason)
    return _Rank(Risk.UNKNOWN, _tell(fare, Answer.UNKNOWN, "not known on {} where it is or could be placed"))


def _tell(fare: Fare, answer: Answer, sentence: str) -> str:
    """How many of the nodes have an answer, the first of them, and the first reason."""
    groups = fare.having(answer)
    count, size = fare.count(answer), fare.size
    nodes = f"{count:,} of the {size:,} nodes" if size > 1 else "the only node"
    if not groups:
        return sentence.format(nodes)
    others = count - groups[0].count
    more = f"; on {others:,} more for other reasons" if others else ""
    return f"{sentence.format(nodes)} ({_first(groups[0])}): {groups[0].reason}{more}"


def _first(group: NodeGroup) -> str:
    more = f" and {group.count - 1:,} more" if group.count > 1 else ""
    return (group.nodes[0] if group.nodes else "") + more


def _rollbacks(workloads: Sequence[WorkloadUse], risk: Risk) -> str:
    """The workloads that a rollback would bring to the image, as far as it is at risk."""
    told = [str(one) for one in workloads if one.standing is Standing.ROLLBACK]
    if risk is Risk.NONE or not told:
        return ""
    more = f" and {len(told) - _NAMED} more" if len(told) > _NAMED else ""
    return f"; a rollback would start it: {', '.join(told[:_NAMED])}{more}"


def _offered(image: PlatformImage) -> Platform | None:
    # As a node chooses: by what the index says, without an index by what the config says.
    return image.claimed or image.configured


def _missing(
    images: Sequence[PlatformImage], pool: frozenset[str], nodes: Mapping[str, Platform | None]
) -> tuple[str, ...]:
    """The operating systems and architectures of nodes for which there is no image at all."""
    offered = [platform for one in images if (platform := _offered(one))]
    if not offered:
        return ()  # what says no platform may be for any
    kinds = {platform for name in pool if (platform := nodes.get(name)) is not None}
    return tuple(sorted({_kind(one) for one in kinds if not any(_is_for(one, image) for image in offered)}))


def _kinds(names: Sequence[str], nodes: Mapping[str, Platform | None]) -> set[str]:
    return {_kind(platform) for name in names if (platform := nodes.get(name)) is not None}


def _kind(platform: Platform) -> str:
    return f"{platform.os}/{platform.architecture}"


def _is_for(node: Platform, image: Platform) -> bool:
    """Whether an image is for a node's architecture; what level of it is another question."""
    same = (node.os, node.architecture) == (image.os, image.architecture)
    return same or platforms.preference(node, image) is not None


def _levels(image: PlatformImage) -> Iterator[str]:
    platform = _offered(image)
    if platform and platform.variant and platform.architecture in {"amd64", "arm64"}:
        yield str(platform)
    for one in image.inspection.requirements if image.inspection else ():
        if one.layer is Layer.INSTRUCTION_SET and one.sureness is not Sureness.ADVISORY:
            yield one.text


def _tell_workloads(uses: Mapping[WorkloadName, Use]) -> tuple[WorkloadUse, ...]:
    """Running ones first, then by name."""
    told = [
        WorkloadUse(
            *name,
            standing=use.standing,
            nodes=len(use.nodes),
            selects=" or ".join(sorted({text for one in use.placements if (text := str(one))})),
            revisions=tuple(sorted(use.revisions, key=lambda text: (len(text), text))),
        )
        for name, use in uses.items()
    ]
    return tuple(sorted(told, key=lambda one: (list(Standing).index(one.standing), str(one))))


def _moved(known: Known, uses: Mapping[WorkloadName, Use]) -> Iterator[str]:
    """Digests that run and that the reference does not name any more: the next pull brings something else."""
    named = {known.knowledge.digest, *(one.digest for one in known.knowledge.images)}
    for digest in sorted({digest for use in uses.values() for digest in use.digests} - named):
        yield f"nodes run {digest}, which the tag does not name any more: the next pull brings another image"
