"""All makers together: the default labels of one node, and what of them is not known."""

from collections.abc import Iterable

import msgspec

from nodeworthy.features import Lookup, SetState
from nodeworthy.labels.acceptance import NamePattern, compile_name_pattern
from nodeworthy.labels.defaults import (
    accel,
    cpu,
    custom,
    kernel,
    local,
    memory,
    network,
    pci,
    programs,
    rdma,
    storage,
    system,
    usb,
)
from nodeworthy.labels.defaults.makers import LabelMaker, Made, full_name
from nodeworthy.labels.origins import Claims, Given, Giver, GiverKind, Rejected, RejectedKind, Unresolved, refuse
from nodeworthy.labels.settings import DefaultLabelSettings
from nodeworthy.rules import Facts, Outcome
from nodeworthy.rules import labels as syntax
from nodeworthy.rules.prefixes import DEFAULT_PREFIX


class DefaultLabel(msgspec.Struct, frozen=True):
    """One default label, accepted."""

    key: str
    value: str
    giver: Giver
    sets: tuple[str, ...]
    """The sets that it was made from."""
    position: int
    """Its maker's place in the order in which a later one wins."""


class DefaultLabels(msgspec.Struct, frozen=True):
    """The default labels of one node; of two under one key, the one with the higher position is the node's."""

    labels: tuple[DefaultLabel, ...]
    unresolved: tuple[Unresolved, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    givers: frozenset[Giver] = frozenset()
    """Who was asked beside the makers: the node's own rules."""


class CompiledDefaults(msgspec.Struct, frozen=True):
    """The makers under some settings."""

    makers: tuple[LabelMaker, ...]
    """In the order in which a later one wins: sources by name, then ``rdma`` and ``local``, as in NFD."""
    is_listed: NamePattern
    problems: tuple[str, ...] = ()
    """What of the settings is not used."""

    @property
    def positions(self) -> int:
        """How many positions the default labels take; rules come after them."""
        return len(self.makers) + 1

    @property
    def givers(self) -> frozenset[Giver]:
        """Every giver of default labels."""
        return frozenset(map(_giver, self.makers))


def compile_defaults(settings: DefaultLabelSettings) -> CompiledDefaults:
    """The makers under these settings.

    Raises:
        UsageError: the pattern of names is no regular expression.
    """
    is_listed = compile_name_pattern(settings.name_pattern, "default labels")
    makers = (
        *accel.makers(),
        *cpu.makers(settings.cpu),
        *kernel.makers(settings.kernel),
        *memory.makers(),
        *network.makers(),
        *pci.makers(settings.pci),
        *storage.makers(),
        *system.makers(),
        *usb.makers(settings.usb),
        *rdma.makers(),
        *custom.makers(),
        *programs.makers(),
        *local.makers(),
    )
    return CompiledDefaults(makers, is_listed, pci.field_problems(settings.pci) + usb.field_problems(settings.usb))


def make_default_labels(facts: Facts, defaults: CompiledDefaults, *, auto_prefix: bool = True) -> DefaultLabels:
    """The default labels of a node, what nobody knows of them, and what is no legal label.

    A refused label leaves what an earlier maker gives its key: NFD's worker checks each source's labels for themselves, and
    leaves namespaces to the master.
    """
    labels: list[DefaultLabel] = []
    unresolved: list[Unresolved] = []
    rejected: list[Rejected] = []
    for position, maker in enumerate(defaults.makers, 1):
        giver, found = _giver(maker), facts.lookup(maker.set_name)
        made = Made({}) if found.content is None else maker.make(found.content)
        claims = _unresolved_claims(maker, found, made, auto_prefix=auto_prefix)
        if claims is not None:
            unresolved.append(Unresolved(giver, Outcome.UNKNOWN, _reason(maker, found), claims, position))
        for name, value in sorted(made.labels.items()):
            key = _key(maker, name, auto_prefix=auto_prefix)
            problem = find_label_problem(defaults, key, value)
            if problem is not None:
                rejected.append(refuse(RejectedKind.LABEL, Given(giver, value), key, problem))
                continue
            # A short name of features.d yields to every full one, also to those of other sources.
            is_short = maker.takes_names_as_they_are and key != name
            labels.append(DefaultLabel(key, value, giver, (maker.set_name,), 0 if is_short else position))
    return DefaultLabels(tuple(labels), tuple(unresolved), tuple(rejected))


def join_default_labels(made: Iterable[DefaultLabels]) -> DefaultLabels:
    """What several makers give one node, as :func:`make_default_labels` says it of all."""
    parts = tuple(made)
    return DefaultLabels(
        labels=tuple(label for part in parts for label in part.labels),
        unresolved=tuple(one for part in parts for one in part.unresolved),
        rejected=tuple(one for part in parts for one in part.rejected),
        givers=frozenset(giver for part in parts for giver in part.givers),
    )


def _giver(maker: LabelMaker) -> Giver:
    return Giver(GiverKind.DEFAULT, maker.set_name)


def _unresolved_claims(maker: LabelMaker, found: Lookup, made: Made, *, auto_prefix: bool) -> Claims | None:
    if found.state is SetState.UNKNOWN:
        return maker.claims
    if not made.doubtful and not made.may_be_more:
        return None
    names = (_key(maker, name, auto_prefix=auto_prefix) for name in sorted(made.doubtful))
    return Claims(dict.fromkeys(names), anything=made.may_be_more)


def _reason(maker: LabelMaker, found: Lookup) -> str:
    what = "is not known" if found.content is None else "does not tell everything"
    return f"{maker.set_name} {what}" + (found.reason and f": {found.reason}")


def _key(maker: LabelMaker, name: str, *, auto_prefix: bool) -> str:
    if not maker.takes_names_as_they_are:
        return full_name(maker.set_name, name)
    return DEFAULT_PREFIX + name if auto_prefix and "/" not in name else name


def find_label_problem(defaults: CompiledDefaults, key: str, value: str) -> syntax.Objection | None:
    """Why NFD's worker would leave a label out; it checks no namespaces."""
    problem = syntax.qualified_name_problem(key) or syntax.label_value_problem(value)
    if problem is None and not defaults.is_listed(key.rpartition("/")[2]):
        return syntax.Objection(syntax.Fault.NOT_LISTED, "the setting for names of default labels does not list it")
    return problem
