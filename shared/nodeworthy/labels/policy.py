"""The settings of labels, checked and made ready once for many nodes."""

import msgspec

from nodeworthy.labels.acceptance import Acceptance, compile_acceptance
from nodeworthy.labels.defaults import CompiledDefaults, compile_defaults
from nodeworthy.labels.settings import LabelSettings


class LabelPolicy(msgspec.Struct, frozen=True):
    """How labels are made and which are taken."""

    settings: LabelSettings
    defaults: CompiledDefaults
    acceptance: Acceptance

    @property
    def auto_prefix(self) -> bool:
        """Whether short names get the default prefix."""
        return self.settings.auto_prefix

    @property
    def problems(self) -> tuple[str, ...]:
        """What of the settings is not used, in words."""
        return self.defaults.problems


def compile_policy(settings: LabelSettings | None = None) -> LabelPolicy:
    """The policy of these settings; without any, NFD's defaults.

    Raises:
        UsageError: a pattern is no regular expression.
    """
    settings = settings or LabelSettings()
    return LabelPolicy(settings, compile_defaults(settings.defaults), compile_acceptance(settings.acceptance))
