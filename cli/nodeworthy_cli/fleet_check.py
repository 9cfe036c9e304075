"""Checking images against nodes that the bus knows: the question to the validator, and what its answer makes."""

import traceback
from collections.abc import Sequence

import click

from nodeworthy import errors
from nodeworthy.bus.requests import (
    MAX_IMAGES,
    MAX_PAGE,
    ErrorCode,
    ImageProblem,
    ImageTotals,
    ValidateReply,
    ValidateRequest,
)
from nodeworthy.bus.store import Store
from nodeworthy.bus.validating import validate
from nodeworthy_cli import exits
from nodeworthy_cli.bus_calls import run_on_bus
from nodeworthy_cli.bus_options import BusOptions
from nodeworthy_cli.fleet_question import FleetQuestion
from nodeworthy_cli.fleet_text import print_reply
from nodeworthy_cli.output import print_document, print_error
from nodeworthy_cli.verdict_text import print_verdict


def check_on_bus(
    images: Sequence[str], question: FleetQuestion, bus: BusOptions, *, seconds: float, output: str, debug: bool
) -> int:
    """Ask the validator, print its answer, and give the exit code.

    Raises:
        UsageError: no bus is known, or no node is selected.
    """
    try:
        reply = check_fleet(images, question, bus, seconds=seconds, listed=output != "table")
    except errors.BusError as error:
        if debug:
            traceback.print_exc()
        print_error(error)
        return of_bus_error(error)
    _print(reply, question, output, single=len(images) == 1)
    for total in reply.totals:
        if total.problem is not None:
            print_error(problem_error(total.image, total.problem))
    return exits.combine(map(of_total, reply.totals))


def _print(reply: ValidateReply, question: FleetQuestion, output: str, *, single: bool) -> None:
    if not question.is_about_one_node:
        print_reply(reply) if output == "table" else print_document(reply, output)
    elif output != "table":
        print_document(reply.verdicts[0] if single else reply.verdicts, output)
    else:
        for number, verdict in enumerate(reply.verdicts):
            if number:
                click.echo()
            print_verdict(verdict)


def check_fleet(
    images: Sequence[str], question: FleetQuestion, bus: BusOptions, *, seconds: float, listed: bool
) -> ValidateReply:
    """Ask the validator; with ``listed`` also for verdicts on single nodes, a page of them.

    Raises:
        UsageError: no bus is known, or no node is selected.
        BusError: the validator could not be asked, or did not answer.
    """
    limit = MAX_PAGE if question.is_about_one_node or listed else 0

    async def work(store: Store) -> list[ValidateReply]:
        parts = [images[start : start + MAX_IMAGES] for start in range(0, len(images), MAX_IMAGES)]
        requests = [_request(part, question, limit) for part in parts]
        return [await validate(store.connection, store.names, one, seconds=seconds) for one in requests]

    reply = _join(run_on_bus(bus, "check", work))
    if question.selector and not reply.undecided and not any(total.counts or total.problem for total in reply.totals):
        raise errors.UsageError(
            f"no node is selected by {question.selector!r}", todo="see the labels: nodeworthy labels"
        )
    return reply


def _request(images: Sequence[str], question: FleetQuestion, limit: int) -> ValidateRequest:
    return ValidateRequest(
        images=tuple(images),
        nodes=question.nodes,
        selector=question.selector,
        require=question.require,
        tags=question.tags,
        spec=question.spec,
        platform=question.platform,
        undeclared=question.undeclared,
        inspect=question.inspect,
        limit=limit,
    )


def _join(replies: Sequence[ValidateReply]) -> ValidateReply:
    """One reply of the parts of a question; of several the cursors mean nothing together, and are left out."""
    if len(replies) == 1:
        return replies[0]
    cut = ["not all verdicts on single nodes are listed"] if any(reply.cursor for reply in replies) else []
    return ValidateReply(
        verdicts=tuple(verdict for reply in replies for verdict in reply.verdicts),
        totals=tuple(total for reply in replies for total in reply.totals),
        undecided=max(reply.undecided for reply in replies),
        notices=tuple(dict.fromkeys([notice for reply in replies for notice in reply.notices] + cut)),
    )


def of_total(total: ImageTotals) -> int:
    """The exit code of one image."""
    return exits.of_answer(total.answer) if total.problem is None else _of_code(total.problem.code)


def of_bus_error(error: errors.BusError) -> int:
    """The exit code where the validator could not be asked: 3, since there may be an answer, else 2."""
    if isinstance(error, errors.BusRequestError):
        return _of_code(error.code)
    is_too_large = isinstance(error, errors.PayloadError) and error.too_large
    return exits.USAGE if is_too_large else exits.UNKNOWN


_USAGE_CODES = frozenset({ErrorCode.BAD_REQUEST, ErrorCode.NEWER_VERSION, ErrorCode.TOO_LARGE, ErrorCode.NOT_FOUND})


def _of_code(code: str) -> int:
    return exits.USAGE if code in _USAGE_CODES else exits.UNKNOWN


def problem_error(image: str, problem: ImageProblem) -> errors.NodeworthyError:
    """What stands in the way of one image, as an error that names it."""
    what = problem.what if image in problem.what else f"{image}: {problem.what}"
    return errors.NodeworthyError(what, why=problem.why, todo=problem.todo)
