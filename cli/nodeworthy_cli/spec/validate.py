"""``nodeworthy spec validate``: everything that is wrong with specification files."""

import click
import msgspec

from nodeworthy import errors, rules
from nodeworthy_cli import exits
from nodeworthy_cli.output import format_option, print_document
from nodeworthy_cli.specifications import read_spec_file


@click.command(name="validate")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@format_option
@click.pass_context
def command(ctx: click.Context, *, files: tuple[str, ...], output: str) -> None:
    """Say everything that is wrong with specification files; - is standard input.

    Exit codes: 0 valid, 1 invalid, 2 a file cannot be read.
    """
    reports = [_validate(name, read_spec_file(name)) for name in files]
    if output == "table":
        for report in reports:
            _print_report(report)
    else:
        print_document(reports[0] if len(reports) == 1 else reports, output)
    ctx.exit(exits.combine(exits.YES if report.valid else exits.NO for report in reports))


class _Problem(msgspec.Struct, omit_defaults=True):
    line: int
    path: str
    message: str
    hint: str = ""


class _Report(msgspec.Struct):
    file: str
    valid: bool
    problems: list[_Problem]
    notices: list[_Problem]


def _validate(name: str, data: bytes) -> _Report:
    try:
        spec = rules.read_compatibility_spec(data, name, strict=True)
    except errors.DocumentError as error:
        return _Report(name, valid=False, problems=_plain(error.problems), notices=[])
    return _Report(name, valid=True, problems=[], notices=_plain(spec.notices))


def _plain(problems: tuple[errors.Problem, ...]) -> list[_Problem]:
    return [_Problem(problem.line, problem.path, problem.message, problem.hint) for problem in problems]


def _print_report(report: _Report) -> None:
    click.echo(f"{report.file}: {'valid' if report.valid else 'not valid'}")
    for kind, problems in (("error", report.problems), ("note", report.notices)):
        for problem in problems:
            text = errors.Problem(report.file, problem.line, problem.path, problem.message, problem.hint)
            click.echo(f"  {kind}: {text}")
