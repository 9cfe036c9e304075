"""The options of every verb that reaches a cluster, in the habits of kubectl."""

import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

if TYPE_CHECKING:
    from nodeworthy.kubernetes.access import Access

_Command = TypeVar("_Command", bound=Callable[..., None])

VARIABLE = "NODEWORTHY_KUBECONFIG"
"""Stands for ``--kubeconfig``, as of the labeler."""
CONTEXT_VARIABLE = "NODEWORTHY_CONTEXT"
"""Stands for ``--context``, as of the labeler."""


@dataclass(frozen=True)
class KubernetesOptions:
    """What was said of the cluster; empty where nothing was."""

    kubeconfig: Path | None = None
    context: str = ""

    @property
    def is_named(self) -> bool:
        """Whether a cluster is asked for; a ``~/.kube/config`` that is just there is no wish."""
        return self.kubeconfig is not None or bool(self.context)

    def find(self, environment: Mapping[str, str] = os.environ) -> "Access":
        """The API server, looked for as kubectl does.

        Raises:
            UsageError: there is none, or its files cannot be used.
            DocumentError: a kubeconfig has mistakes.
        """
        from nodeworthy.kubernetes.config import find_access

        home = Path(environment.get("HOME", "/"))
        return find_access(environment, home, kubeconfig=self.kubeconfig, context=self.context)

    def find_wanted(self, environment: Mapping[str, str] = os.environ) -> "Access | None":
        """The API server that is asked for, or that of the pod that this is; ``None``: there is neither.

        As the labeler decides where labels end up. Raises what :meth:`find` raises.
        """
        from nodeworthy.kubernetes.config import find_in_cluster

        return self.find(environment) if self.is_named else find_in_cluster(environment)


def kubernetes_options(command: _Command) -> _Command:
    """Add ``--kubeconfig`` and ``--context``; the command gets them as ``kubernetes``."""

    @click.option(
        "--kubeconfig",
        type=click.Path(path_type=Path),
        envvar=VARIABLE,
        help="The kubeconfig of the cluster.  [default: as kubectl]",
    )
    @click.option(
        "--context",
        default="",
        envvar=CONTEXT_VARIABLE,
        help="The context of the kubeconfig.  [default: the current one]",
    )
    @functools.wraps(command)
    def gather(*arguments: object, kubeconfig: Path | None, context: str, **given: Any) -> None:  # noqa: ANN401 # whatever the command's options are
        command(*arguments, kubernetes=KubernetesOptions(kubeconfig, context), **given)

    return cast("_Command", gather)
