"""``nodeworthy rules test``: which rules match a node, and what each gives."""

from collections.abc import Iterable, Iterator, Mapping

import click
import msgspec

from nodeworthy.labels import ChainedRule, Giver, WantedLabel
from nodeworthy.rules import Outcome, RuleResult, compile_rules, evaluate_chain
from nodeworthy_cli.bus_options import BusOptions, bus_options
from nodeworthy_cli.output import format_option, print_document, print_table
from nodeworthy_cli.rules.evaluating import (
    Evaluation,
    RefusedOutput,
    evaluate,
    make_policy,
    print_notes,
    print_refused,
    refused_outputs,
)
from nodeworthy_cli.rules.files import read_rules, read_texts
from nodeworthy_cli.rules.subjects import on_option, read_subject

_WORDS = {
    Outcome.TRUE: "match",
    Outcome.FALSE: "no match",
    Outcome.UNKNOWN: "unknown",
    Outcome.ERROR: "error",
}


class TriedRule(msgspec.Struct, frozen=True, omit_defaults=True):
    """One rule on the node; names are those that reach it."""

    object: str
    rule: str
    outcome: Outcome
    reason: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    extended_resources: Mapping[str, str] = {}
    taints: tuple[str, ...] = ()
    vars: Mapping[str, str] = {}
    """Seen by later rules only."""
    incident: str = ""
    group: bool = False
    """Whether it decides who is a member of a NodeFeatureGroup; it then gives nothing."""


class Trial(msgspec.Struct, frozen=True):
    """All rules on one node."""

    node: str
    rules: tuple[TriedRule, ...]
    refused: tuple[RefusedOutput, ...]


@click.command(name="test")
@click.argument("names", metavar="FILE...", nargs=-1, required=True)
@on_option
@click.option("--no-auto-prefix", is_flag=True, help="As under a labeler that adds no prefix to short names.")
@format_option
@bus_options
@click.pass_context
def command(
    ctx: click.Context, *, names: tuple[str, ...], on: str, no_auto_prefix: bool, output: str, bus: BusOptions
) -> None:
    """Show which rules match a node and what each of them gives, under the keys that reach the node; nothing is written.

    FILE may be a folder, - is standard input. Exit codes: 0 every rule has an answer, match or not; 1 a rule is in error or
    gives what no node may have; 2 a file, the node or the bus cannot be read; 3 it is not known of some rule.
    """
    subject = read_subject(on, bus, "rules test")
    evaluation = evaluate(read_rules(read_texts(names)), subject, make_policy(auto_prefix=not no_auto_prefix))
    report = make_report(evaluation)
    if output == "table":
        _print(report)
    else:
        print_document(report, output)
    print_notes(evaluation)
    ctx.exit(evaluation.code)


def make_report(evaluation: Evaluation) -> Trial:
    """The report of all rules, those of groups last."""
    chained = zip(evaluation.chain.rules, evaluation.result.results, strict=True)
    tried = [_try(evaluation, link, result) for link, result in chained]
    return Trial(evaluation.subject.name, (*tried, *_try_groups(evaluation)), refused_outputs(evaluation.wanted))


def _try(evaluation: Evaluation, link: ChainedRule, result: RuleResult) -> TriedRule:
    wanted = evaluation.wanted
    return TriedRule(
        object=link.giver.name,
        rule=link.giver.part,
        outcome=result.outcome,
        reason=result.reason,
        labels=_given(wanted.labels, link.giver),
        annotations=_given(wanted.annotations, link.giver),
        extended_resources=_given(wanted.extended_resources, link.giver),
        taints=tuple(
            f"{one.taint.key}={one.taint.value}:{one.taint.effect}" for one in wanted.taints if one.giver == link.giver
        ),
        vars=result.vars,
        incident=evaluation.read.incidents.get(link.giver.name, ""),
    )


def _given(wanted: Mapping[str, WantedLabel], giver: Giver) -> dict[str, str]:
    """What a rule gives, with the value that the node gets, or its own where a later rule wins."""
    found = {}
    for key, one in wanted.items():
        own = [given for given in one.given if given.giver == giver]
        if own:
            found[key] = one.value if one.given[-1] is own[-1] else f"{own[-1].value} (but {one.given[-1].giver} wins)"
    return found


def _try_groups(evaluation: Evaluation) -> Iterator[TriedRule]:
    for group in evaluation.read.groups:
        results = evaluate_chain(compile_rules(group.rules), evaluation.subject.facts).results
        for one in results:
            yield TriedRule(group.name, one.name, one.outcome, one.reason, vars=one.vars, group=True)


def _print(report: Trial) -> None:
    print_table(("RULE", "OUTCOME", "GIVES", "WHY"), [row for rule in report.rules for row in _rows(rule)])
    print_refused(report.refused)


def _rows(rule: TriedRule) -> Iterable[tuple[str, str, str, str]]:
    given = [f"label {key}={value}" for key, value in rule.labels.items()]
    given += [f"annotation {key}={value}" for key, value in rule.annotations.items()]
    given += [f"extended resource {key}={value}" for key, value in rule.extended_resources.items()]
    given += [f"taint {taint}" for taint in rule.taints]
    given += [f"variable {name}={value}" for name, value in rule.vars.items()]
    member = "member of the group" if rule.group and rule.outcome is Outcome.TRUE else ""
    first, *more = given or [member or "-"]
    why = rule.reason or (f"for incident {rule.incident}" if rule.incident else "-")
    yield f"{rule.object}/{rule.rule}", _WORDS[rule.outcome], first, why
    yield from (("", "", one, "") for one in more)
