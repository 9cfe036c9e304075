"""The four services as ``nodeworthy up`` runs them: settings of the environment, users and place of the embedded bus."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from nodeworthy.processes import Service
from nodeworthy_cli.embedded.contexts import Context
from nodeworthy_cli.embedded.running import EmbeddedService


@dataclass(frozen=True)
class Wishes:
    """What ``up`` was asked for beyond the services' own variables."""

    cluster: str
    environment: Mapping[str, str]
    home: Path
    rules: Path | None = None
    features_d: str = ""
    http_port: int | None = None
    """The validator's; the other services have no port here: one process, one place to ask."""

    @property
    def variables(self) -> dict[str, str]:
        """The environment that each service's settings are read from."""
        variables = {name: value for name, value in self.environment.items() if name != "NODEWORTHY_HTTP_PORT"}
        if self.features_d:
            variables["NODEWORTHY_FEATURES_D"] = self.features_d
        if self.rules is not None:
            variables["NODEWORTHY_RULES"] = str(self.rules)
        return variables


def embedded_services(wishes: Wishes) -> tuple[EmbeddedService, ...]:
    """The services in the order of the log; each module is imported when its service is made."""
    makers = {"labeler": _labeler, "resolver": _resolver, "validator": _validator, "detector": _detector}
    return tuple(EmbeddedService(role, partial(make, wishes)) for role, make in makers.items())


def _detector(wishes: Wishes, context: Context) -> Service:
    from nodeworthy_detector import app
    from nodeworthy_detector.settings import read_settings

    settings = read_settings(wishes.variables)
    bus = context.settings("nodeworthy detector")
    return Service("detector", partial(app.run, replace(settings, cluster=wishes.cluster, bus=bus)))


def _labeler(wishes: Wishes, context: Context) -> Service:
    from nodeworthy_labeler import app
    from nodeworthy_labeler.settings import read_settings

    settings = read_settings(wishes.variables)
    bus = context.settings("nodeworthy labeler")
    return Service("labeler", partial(app.run, replace(settings, cluster=wishes.cluster, bus=bus)))


def _resolver(wishes: Wishes, context: Context) -> Service:
    from nodeworthy_resolver import app
    from nodeworthy_resolver.settings import read_settings

    settings = read_settings(wishes.variables, wishes.home)
    bus = context.settings("nodeworthy resolver")
    return Service("resolver", partial(app.run, replace(settings, cluster=wishes.cluster, bus=bus)))


def _validator(wishes: Wishes, context: Context) -> Service:
    from nodeworthy_validator import app
    from nodeworthy_validator.settings import read_settings

    settings = replace(read_settings(wishes.variables), cluster=wishes.cluster, http_port=wishes.http_port)
    return Service("validator", partial(app.run, replace(settings, bus=context.settings("nodeworthy validator"))))
