"""Which cluster a command talks to: that of `--context` and `--kubeconfig`, else as kubectl finds it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import click
from click.shell_completion import CompletionItem

from mfu_operator.errors import MfuError

_CONTEXT, _KUBECONFIG = "mfu.context", "mfu.kubeconfig"
"""Where click keeps them for the time of one command."""


def connection_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add `--context` and `--kubeconfig`; what connects asks `chosen` for them."""
    for option in (
        click.option("--kubeconfig", metavar="FILE", type=click.Path(exists=True, dir_okay=False), expose_value=False,
                     is_eager=True, callback=_kept(_KUBECONFIG), help="The kubeconfig to use; default: as kubectl."),
        click.option("--context", metavar="NAME", expose_value=False, is_eager=True, callback=_kept(_CONTEXT),
                     shell_complete=_contexts, help="The context of the kubeconfig; default: the current one."),
    ):  # fmt: skip
        command = option(command)
    return command


def _kept(key: str) -> Callable[[click.Context, click.Parameter, str | None], None]:
    def keep(context: click.Context, _: click.Parameter, value: str | None) -> None:
        if value is not None:
            context.meta[key] = value

    return keep


def chosen() -> tuple[str | None, str | None]:
    """(kubeconfig, context) of the command that runs; None: not given."""
    context = click.get_current_context(silent=True)
    meta: Mapping[str, Any] = context.meta if context is not None else {}
    return meta.get(_KUBECONFIG), meta.get(_CONTEXT)


def kubectl_arguments() -> Sequence[str]:
    """The same for kubectl."""
    kubeconfig, context = chosen()
    given = (("--kubeconfig", kubeconfig), ("--context", context))
    return [each for option, value in given if value is not None for each in (option, value)]


def connected() -> Any:
    """A client of the cluster.

    Raises:
        Stall: NoCluster, where there is none.
    """
    from mfu_operator.adapters.cluster import connect  # half a second that a completion of options does not need

    return connect(*chosen())


def current_namespace() -> str:
    """The namespace of the context."""
    found = _context()
    return str((found.get("context") or {}).get("namespace") or "default")


def _context() -> Mapping[str, Any]:
    kubeconfig, wanted = chosen()
    every, current = _of_kubeconfig(kubeconfig)
    return next((each for each in every if each["name"] == wanted), {}) if wanted is not None else current


def _of_kubeconfig(kubeconfig: str | None) -> tuple[Sequence[Mapping[str, Any]], Mapping[str, Any]]:
    """Its contexts, and the current one; none where there is no kubeconfig."""
    from kubernetes import config
    from kubernetes.config.config_exception import ConfigException

    try:
        every, current = config.list_kube_config_contexts(kubeconfig)  # type: ignore[no-untyped-call]
    except ConfigException:
        return (), {}
    return every, current or {}


def baseline_names(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of the namespace's baselines, for completion: none where the cluster does not say."""
    from mfu_operator.cli import baselines

    with context, suppress(MfuError):
        found = baselines.several(context.params.get("namespace"), everywhere=False)
        names = [str(each["metadata"]["name"]) for each in found]
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return []


def _contexts(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    with context:
        names = [str(each["name"]) for each in _of_kubeconfig(chosen()[0])[0]]
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
