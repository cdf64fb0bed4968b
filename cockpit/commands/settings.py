"""What is in force: the command line, then the environment, the context's configuration, the general one."""

import argparse
import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from cockpit.attach import AttachOptions
from cockpit.cli_values import PROMETHEUS
from cockpit.daemon_thread import apart
from cockpit.errors import BadInput, NoConnection
from cockpit.k8s import gpu_resources
from cockpit.kube.kubeconfig import check, context_names, current_context, files
from cockpit.local_state.audit import Audit
from cockpit.local_state.config import Settings, load_settings, not_a_namespace
from cockpit.local_state.history import LocalHistory, history_path
from cockpit.local_state.paths import config_folder, state_folder
from cockpit.model.metrics_server import FIND, NO_METRICS_SERVER, MetricsServer, in_force
from cockpit.model.namespaces import Namespaces, namespaces_of
from cockpit.nearest import nearest_words
from cockpit.pools.forecast import PoolExperience
from cockpit.telemetry import site_vendors
from cockpit.telemetry.endpoint import configured

if TYPE_CHECKING:
    from cockpit.model.remembered import Reclaim
    from cockpit.model.session import Session


def settings_in_force() -> Settings:
    """The configuration file of this user, with its accelerators declared. Raises BadInput where it cannot be
    used."""
    return declared(load_settings(config_folder(os.environ) / "config.toml"))


def declared(settings: Settings) -> Settings:
    """The settings, once accelerators of their vendors are known everywhere. Raises BadInput for a series
    that is known as something else."""
    site_vendors.declare(settings.vendors)
    gpu_resources.declare(settings.vendors)
    return settings


def audit_log() -> Audit:
    """The audit log of this user, kept for as long as the configuration says."""
    return Audit(keep_seconds=settings_in_force().audit_keep_seconds)


def attach_options(options: argparse.Namespace, settings: Settings, namespace: str = "") -> AttachOptions:
    """How to attach. `namespace` narrows what is listed where the command knows it better.

    Raises BadInput for a namespace that cannot be one, and for a Prometheus that cannot be asked.
    """
    if several := contexts_given(options):
        raise BadInput(f"--contexts: {', '.join(several)} are several, this acts in one; give --context")
    context = getattr(options, "context", None)
    own = settings.of_context(context_name(options, settings))
    chosen = namespaces_given(options)
    if not chosen and not getattr(options, "all_namespaces", False):
        chosen = own.namespaces
    prometheus = in_force(_by_options(options), by_environment(os.environ), own.prometheus)
    if prometheus != NO_METRICS_SERVER:
        configured(prometheus)
    _check_alertmanager(own.alertmanager)
    return AttachOptions(
        kubeconfig=getattr(options, "kubeconfig", None),
        context=context,
        namespaces=Namespaces((namespace,)) if namespace else chosen,
        write=getattr(options, "write", False) or own.write,
        prometheus=prometheus,
        alertmanager=own.alertmanager,
        outside=own.outside,
        autoscaler_status=own.autoscaler_status,
    )


def contexts_given(options: argparse.Namespace) -> tuple[str, ...]:
    """Those of `--contexts`; none without it. Raises BadInput for what names none, or one of them twice."""
    text: str | None = getattr(options, "contexts", None)
    if text is None:
        return ()
    if getattr(options, "context", None):
        raise BadInput("--contexts and --context exclude each other; give one of them")
    return distinct_contexts("--contexts", text.split(","))


def distinct_contexts(field: str, names: Sequence[str]) -> tuple[str, ...]:
    """The names as they are used. Raises BadInput for an empty one, and for one that comes twice."""
    found = tuple(name.strip() for name in names)
    if not all(found):
        raise BadInput(f"{field}: {','.join(names)!r} holds an empty name; write a,b,c")
    if twice := next((name for name in found if found.count(name) > 1), ""):
        raise BadInput(f"{field}: {twice!r} is named twice; name each context once")
    return found


def each_attach_options(
    options: argparse.Namespace, settings: Settings, contexts: Sequence[str], namespace: str = ""
) -> tuple[AttachOptions, ...]:
    """How to attach to each of several contexts, by its own settings; `namespace` as of `attach_options`.

    Raises BadInput for a context that no kubeconfig names, and for what is of one cluster alone: where
    Prometheus is. That is read from the configuration of each context, as no option or variable tells whose
    it is.
    """
    if any(getattr(options, f"prometheus_{name.replace('-', '_')}", "") for name, *_ in PROMETHEUS):
        raise BadInput(
            "--prometheus-...: is of one cluster; set prometheus-url for each context in the configuration"
        )
    kubeconfig = getattr(options, "kubeconfig", None)
    with contextlib.suppress(NoConnection):  # each attachment names a file that cannot be used
        known = context_names(kubeconfig)
        if absent := [name for name in contexts if name not in known]:
            raise BadInput(
                f"--contexts: there is no context {absent[0]!r}; {nearest_words(absent[0], known)}"
            )
    chosen = namespaces_given(options)
    every = chosen or getattr(options, "all_namespaces", False)

    def of(context: str) -> AttachOptions:
        own = settings.of_context(context)
        if own.prometheus != NO_METRICS_SERVER:
            configured(own.prometheus)
        _check_alertmanager(own.alertmanager)
        shown = chosen if every else own.namespaces
        return AttachOptions(
            kubeconfig=kubeconfig,
            context=context,
            namespaces=Namespaces((namespace,)) if namespace else shown,
            write=getattr(options, "write", False) or own.write,
            prometheus=own.prometheus,
            alertmanager=own.alertmanager,
            outside=own.outside,
            autoscaler_status=own.autoscaler_status,
        )

    return tuple(map(of, contexts))


def namespaces_given(options: argparse.Namespace) -> Namespaces:
    """Those of `--namespace`; every one without it. Raises BadInput for a name that cannot be one."""
    text: str = getattr(options, "namespace", "")
    chosen = namespaces_of(text)
    if text and not chosen:
        raise BadInput(f"--namespace: {text!r} names no namespace; give a name, or several as a,b")
    if wrong := not_a_namespace(chosen):
        raise BadInput(f"--namespace: {wrong!r} is not a valid namespace name")
    return chosen


def one_namespace(chosen: AttachOptions) -> str:
    """The namespace that something new goes to, "" where none was chosen. Raises BadInput for several."""
    if len(chosen.namespaces.names) > 1:
        raise BadInput(f"--namespace: {chosen.namespaces} are several; name the one it is to go to")
    return chosen.namespaces.only


def known_of_pools(settings: Settings, context: str, server: str) -> PoolExperience:
    """What machines cost, and how long pools took that sessions on this host saw grow."""
    path = history_path(state_folder(os.environ), context, server)
    return PoolExperience(settings.prices, LocalHistory(path).growths() if path.exists() else ())


async def remember_reclaims(session: "Session", found: "Iterable[Reclaim]") -> str:
    """Store the reclaimed nodes in the history of this host; an unusable history has no other effect. The
    answer says why it could not be, "" where it was."""
    history = LocalHistory(history_path(state_folder(os.environ), session.context, session.server))
    for item in found:
        await apart(partial(history.put_reclaim, item))
    return history.note


def _check_alertmanager(server: MetricsServer) -> None:
    """Raises BadInput for an Alertmanager that cannot be asked."""
    has_more = server.has_login or bool(server.ca_file)
    if server.url != FIND:
        if server.url or has_more:
            configured(server)
    elif has_more:
        raise BadInput(
            "alertmanager-url: an Alertmanager that is found is reached through the API server, which passes"
            " no credentials on; give its own URL, or leave the credentials out"
        )


def _by_options(options: argparse.Namespace) -> MetricsServer:
    return MetricsServer(
        url=getattr(options, "prometheus_url", ""),
        token_file=getattr(options, "prometheus_token_file", ""),
        username=getattr(options, "prometheus_username", ""),
        password_file=getattr(options, "prometheus_password_file", ""),
        ca_file=getattr(options, "prometheus_ca_file", ""),
    )


def by_environment(environment: Mapping[str, str]) -> MetricsServer:
    """The metrics server that `COCKPIT_PROMETHEUS_...` name; empty values count as not set."""

    def of(name: str) -> str:
        return environment.get(f"COCKPIT_PROMETHEUS_{name}", "")

    return MetricsServer(
        url=of("URL"),
        token=of("TOKEN"),
        token_file=of("TOKEN_FILE"),
        username=of("USERNAME"),
        password=of("PASSWORD"),
        password_file=of("PASSWORD_FILE"),
        ca_file=of("CA_FILE"),
    )


def context_name(options: argparse.Namespace, settings: Settings) -> str:
    """The context that is meant, "" where no setting is of any context, or none is known."""
    named: str | None = getattr(options, "context", None)
    if named or not settings.contexts:
        return named or ""
    try:
        trees = [check(path) for path in files(getattr(options, "kubeconfig", None)) if path.exists()]
    except NoConnection:
        # Told where the connection is made, with its remedy; here it only means that no context is known.
        return ""
    return current_context(trees)
