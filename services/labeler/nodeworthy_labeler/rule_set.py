"""The rules and label settings that are in force, made ready for many nodes."""

import hashlib
from pathlib import Path

import msgspec

from nodeworthy import fleet
from nodeworthy.errors import Problem
from nodeworthy.labels import (
    LabelPolicy,
    LabelSettings,
    RuleChain,
    RuleObject,
    compile_chain,
    compile_policy,
    notices_of_settings,
)
from nodeworthy_labeler.custom_rules import CustomChains
from nodeworthy_labeler.rule_files import LoadedRules, load_rules


class RuleSet(msgspec.Struct, frozen=True):
    """All rules with the policy."""

    policy: LabelPolicy
    chain: RuleChain
    fleet_chain: fleet.Chain
    custom: CustomChains
    """The nodes' own rules, which are read and compiled when a node has them."""
    digest: str
    """``sha256:<hex>`` of the documents and the settings."""
    objects: tuple[RuleObject, ...] = ()
    """The documents that the chain is made of, also those that could not be read."""
    problems: tuple[Problem, ...] = ()
    """Rules and files that are left out, and bad values of rules that run."""
    notices: tuple[Problem, ...] = ()
    """What authors should know: short forms, names that get the prefix, objects that wait for each other."""


def compile_rules(loaded: LoadedRules, policy: LabelPolicy) -> RuleSet:
    """The rules of a folder under a policy; rules that cannot be read stand in their place and may give anything."""
    chain = compile_chain(loaded.objects, auto_prefix=policy.auto_prefix)
    return RuleSet(
        policy=policy,
        chain=chain,
        fleet_chain=fleet.make_chain(chain.compiled),
        custom=CustomChains(policy),
        digest=_digest(loaded, policy.settings),
        objects=loaded.objects,
        problems=loaded.problems,
        notices=(*loaded.notices, *chain.notices, *notices_of_settings(loaded.objects, policy.settings)),
    )


def read_rules(folder: Path | None, settings: LabelSettings) -> RuleSet:
    """The rules of a folder as they are now; none without a folder.

    Raises:
        UsageError: the folder cannot be listed, or a setting cannot be used.
    """
    policy = compile_policy(settings)
    return compile_rules(LoadedRules(()) if folder is None else load_rules(folder), policy)


def _digest(loaded: LoadedRules, settings: LabelSettings) -> str:
    parts = (loaded.objects, settings)
    return "sha256:" + hashlib.sha256(msgspec.msgpack.encode(parts, order="deterministic")).hexdigest()
