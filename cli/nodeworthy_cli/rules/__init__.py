"""``nodeworthy rules``: the rule language, from writing a rule to why a node has, or lacks, a label.

A verb each in a module of its own; what several need is in ``files`` (rule files), ``subjects`` (the node that is asked),
``evaluating`` (what rules say of it), ``output_checks`` and ``label_explanation``.
"""

import click

from nodeworthy_cli.lazy_verbs import LazyVerbs

VERBS = {
    "validate": "Everything that is wrong with rule files.",
    "test": "Which rules match a node, and what each gives.",
    "dry-run": "What a node would get by rules, and what would change.",
    "explain": "Why a node has a label, or has it not.",
    "convert": "Rules with the real group and in long forms, as NFD takes them.",
    "status": "The rules that label nodes, and their troubles.",
    "schema": "JSON Schemas for editors.",
}
"""Verb to its line in the help."""


@click.group(name="rules", cls=LazyVerbs, verbs=VERBS, package=__name__)
def command() -> None:
    """Validate, try, explain and convert rules."""
