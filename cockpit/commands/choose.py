"""What is in force: the command line first, then the configuration of the context, then the general one."""

import argparse
import os

from cockpit.attach import AttachOptions
from cockpit.errors import BadInput, NoConnection
from cockpit.keep.config import Settings, is_namespace, load_settings
from cockpit.keep.paths import config_folder


def settings_in_force() -> Settings:
    """The configuration file of this user. Raises BadInput where it cannot be used."""
    return load_settings(config_folder(os.environ) / "config.toml")


def attach_options(options: argparse.Namespace, settings: Settings, namespace: str = "") -> AttachOptions:
    """How to attach. `namespace` narrows what is listed where the command knows it better.

    Raises BadInput for a namespace or a Prometheus URL that cannot be one.
    """
    context = getattr(options, "context", None)
    own = settings.of_context(_context_name(options, settings))
    chosen = getattr(options, "namespace", "")
    if chosen and not is_namespace(chosen):
        raise BadInput(f"--namespace: {chosen!r} is not the name of a namespace")
    if not chosen and not getattr(options, "all_namespaces", False):
        chosen = own.namespace
    prometheus_url = getattr(options, "prometheus_url", "")
    if prometheus_url:
        from cockpit.telemetry.discovery import configured

        configured(prometheus_url)
    return AttachOptions(
        kubeconfig=getattr(options, "kubeconfig", None),
        context=context,
        namespace=namespace or chosen,
        write=getattr(options, "write", False) or own.write,
        prometheus_url=prometheus_url or own.prometheus_url,
    )


def _context_name(options: argparse.Namespace, settings: Settings) -> str:
    named: str | None = getattr(options, "context", None)
    if named or not settings.contexts:
        return named or ""
    from cockpit.kube.kubeconfig import check, files

    try:
        trees = [check(path) for path in files(getattr(options, "kubeconfig", None)) if path.exists()]
    except NoConnection:
        # Told where the connection is made, with its remedy; here it only means that no context is known.
        return ""
    return next((str(tree["current-context"]) for tree in trees if tree.get("current-context")), "")
