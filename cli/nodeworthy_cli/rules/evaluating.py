"""What the rules of files say of one node: each rule, and what all of them together give."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import click
import msgspec

from nodeworthy.labels import (
    DefaultLabels,
    Giver,
    LabelPolicy,
    LabelSettings,
    RejectedKind,
    RuleChain,
    WantedLabel,
    WantedLabels,
    combine,
    compile_chain,
    compile_policy,
)
from nodeworthy.labels.settings import OutputSettings
from nodeworthy.rules import ChainResult, Outcome, evaluate_chain
from nodeworthy_cli import exits
from nodeworthy_cli.output import print_table, printable
from nodeworthy_cli.rules.files import ReadRules
from nodeworthy_cli.rules.subjects import Subject

NO_DEFAULTS = DefaultLabels(())
"""Where only what rules give is asked for."""


class RefusedOutput(msgspec.Struct, frozen=True):
    """Something that a rule gives and no node may have."""

    kind: str
    key: str
    value: str
    giver: str
    reason: str


class Evaluation(NamedTuple):
    """Rules on one node."""

    subject: Subject
    read: ReadRules
    policy: LabelPolicy
    chain: RuleChain
    result: ChainResult
    wanted: WantedLabels

    @property
    def code(self) -> int:
        """The exit code: 1 where something is wrong with the rules on this node, 3 where something is not known."""
        codes = [exits.NO for _ in (*self.read.problems, *self.wanted.rejected)]
        codes += [exits.NO if one.outcome is Outcome.ERROR else exits.UNKNOWN for one in self.wanted.unresolved]
        return exits.combine(codes)


def make_policy(*, auto_prefix: bool) -> LabelPolicy:
    """NFD's settings, with taints shown: whether they are written is the labeler's to be told."""
    return compile_policy(LabelSettings(outputs=OutputSettings(taints=True), auto_prefix=auto_prefix))


def evaluate(
    read: ReadRules, subject: Subject, policy: LabelPolicy, defaults: DefaultLabels = NO_DEFAULTS
) -> Evaluation:
    """What the rules say of the node, with default labels or without."""
    chain = compile_chain(read.objects, auto_prefix=policy.auto_prefix)
    result = evaluate_chain(chain.compiled, subject.facts)
    return Evaluation(subject, read, policy, chain, result, combine(subject.facts, policy, defaults, chain, result))


def outputs_of(wanted: WantedLabels) -> Iterator[tuple[RejectedKind, str, str, Giver]]:
    """Everything that the node gets, with its final key: kind, key (of a taint ``key:effect``), value, who gives it."""
    kinds: Sequence[tuple[RejectedKind, Mapping[str, WantedLabel]]] = (
        (RejectedKind.LABEL, wanted.labels),
        (RejectedKind.ANNOTATION, wanted.annotations),
        (RejectedKind.EXTENDED_RESOURCE, wanted.extended_resources),
    )
    for kind, given in kinds:
        for key, one in sorted(given.items()):
            yield kind, key, one.value, one.given[-1].giver
    for one_taint in wanted.taints:
        taint = one_taint.taint
        yield RejectedKind.TAINT, f"{taint.key}:{taint.effect}", taint.value, one_taint.giver


def refused_outputs(wanted: WantedLabels) -> tuple[RefusedOutput, ...]:
    """What rules give and no node may have."""
    return tuple(
        RefusedOutput(one.kind.value, one.key, one.value, str(one.giver), one.reason) for one in wanted.rejected
    )


def print_refused(refused: Sequence[RefusedOutput]) -> None:
    """Print what is refused, if anything is."""
    if refused:
        click.echo()
        rows = [(one.kind, one.key, one.value or '""', one.giver, one.reason) for one in refused]
        print_table(("REFUSED", "KEY", "VALUE", "RULE", "WHY"), rows)


def print_notes(evaluation: Evaluation) -> None:
    """Say on standard error what of the rules and of the node could not be read, and what is good to know."""
    from nodeworthy.labels.notices import notices_of_settings

    for problem in evaluation.read.problems:
        click.echo(f"left out: {printable(str(problem))}", err=True)
    for text in evaluation.subject.problems:
        click.echo(f"not read: {printable(text)}", err=True)
    settings = evaluation.policy.settings
    told = (
        *evaluation.read.notices,
        *notices_of_settings(evaluation.read.objects, settings),
        *evaluation.chain.notices,
    )
    for notice in told:
        click.echo(f"note: {printable(str(notice))}", err=True)
