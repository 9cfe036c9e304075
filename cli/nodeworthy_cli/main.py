"""The entry point: the list of verbs, and the one place where errors become text and exit codes."""

import io
import os
import sys
import traceback
from contextlib import suppress

import click

from nodeworthy import errors
from nodeworthy_cli import exits
from nodeworthy_cli.lazy_verbs import LazyVerbs
from nodeworthy_cli.output import print_error

VERBS = {
    "features": "What this machine offers.",
    "check": "Will an image run, and if not, why not.",
    "diagnose": "What a failure really was: a message, an exit code, a pod.",
    "checkup": "Every image in use, held against the nodes, the greatest risk first.",
    "inspect": "What an image needs, read from its own files.",
    "platforms": "What platforms images offer, and whether all that are wanted are there.",
    "spec": "Write, validate, show, attach and remove compatibility specifications.",
    "rules": "Validate, try, explain and convert rules.",
    "up": "Run the bus and the four services on this machine.",
    "nodes": "The nodes on the bus, and how fresh their facts are.",
    "watch": "Changes of nodes as they come.",
    "labels": "What nodes are labelled, by which rule, and why not.",
    "conflicts": "Labels that rules give and somebody else has set otherwise.",
    "detector": "Run the service that publishes this machine.",
    "labeler": "Run the service that keeps labels true.",
    "resolver": "Run the service that looks images up.",
    "validator": "Run the service that answers for all nodes.",
}
"""Verb to its line in the help."""


@click.command(
    cls=LazyVerbs,
    verbs=VERBS,
    package="nodeworthy_cli",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--debug", is_flag=True, help="Show the trace of an error.")
@click.version_option(package_name="nodeworthy", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context, *, debug: bool) -> None:
    """Will this container image run on that node, and if not, why not?

    Exit codes: 0 yes or done, 1 no, 2 usage or environment, 3 unknown.
    """
    ctx.obj = debug


def run() -> None:
    """Run the command line of this process and exit."""
    sys.exit(main(sys.argv[1:]))


def main(arguments: list[str]) -> int:
    """Run one command line and return its exit code; nothing but the code and the output leaves it."""
    _prepare_streams()
    debug = "--debug" in arguments
    # A trace can be asked for at any place of the line.
    arguments = (["--debug"] if debug else []) + [a for a in arguments if a != "--debug"]
    try:
        code = cli.main(arguments, prog_name="nodeworthy", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        return exits.INTERRUPTED
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return exits.USAGE
    except click.ClickException as error:
        print_error(errors.UsageError(error.format_message(), todo=_help_hint(error)))
        return exits.USAGE
    except errors.NodeworthyError as error:
        _trace(debug)
        print_error(error)
        return exits.of_error(error)
    except (BrokenPipeError, SystemExit):  # click makes the first into the second, with the exit code of a "no"
        # The reader of a pipe left; Python must not complain about it once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exits.NO_READER
    except OSError as error:
        # Files that a user names are read elsewhere; what is left is the output: a full disk, a lost terminal.
        _trace(debug)
        _drop_output()
        print_error(errors.NodeworthyError("the output cannot be written", why=error.strerror or str(error)))
        return exits.USAGE
    except Exception as error:  # noqa: BLE001 # the boundary: whatever it is, a person gets a sentence
        _trace(debug)
        todo = "run it again with --debug and report what it shows"
        print_error(errors.NodeworthyError("nodeworthy failed", why=f"{type(error).__name__}: {error}", todo=todo))
        return exits.USAGE
    return code if isinstance(code, int) else exits.YES


def _prepare_streams() -> None:
    """Give a process that was started with closed streams empty ones, and never fail on a letter a terminal lacks."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: PTH123, SIM115 # lives as long as the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 # lives as long as the process
    if sys.stdout is None:
        # Every write to it fails, as on a full disk: an answer that goes nowhere is no success.
        sys.stdout = open("/dev/full", "w", buffering=1)  # noqa: PTH123, SIM115 # lives as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Forget what is not written yet, or Python would try it once more at exit and end with a code of its own."""
    with suppress(OSError):
        sys.stdout.close()
    sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 # lives as long as the process


def _help_hint(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"see {context.command_path if context else 'nodeworthy'} --help"


def _trace(debug: bool) -> None:
    if debug:
        traceback.print_exc()
