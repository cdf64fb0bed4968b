"""What we use of the `kubernetes` package, without its front doors.

`kubernetes/__init__.py` and `kubernetes/aio/__init__.py` import every client, watcher, informer and election
there is, synchronous and asynchronous: 270 modules, 9 MiB and half of the time until a connection is made
(measured: 0.17 s of CPU against 0.08 s). So both packages are entered as they are found, but not carried out;
what is imported from them afterwards is found as ever, by whoever asks. Where that fails they are imported
whole. The client of the configuration's loader waits for whoever makes one: a third of what was left.
"""

import importlib.util
import sys
from typing import Any

_FRONT_DOORS = ("kubernetes", "kubernetes.aio")


def _enter(name: str) -> None:
    """Put a package into the table of modules without carrying out its `__init__`."""
    if name in sys.modules:
        return
    spec = importlib.util.find_spec(name)
    if spec is None:
        raise ImportError(f"no module named {name!r}", name=name)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, module)


def _api_client(*given: Any, **named: Any) -> Any:
    """Stands for ApiClient in `kube_config`: it is never created, and the class imports all of pydantic."""
    return importlib.import_module("kubernetes.aio.client").ApiClient(*given, **named)


def _open() -> None:
    before = set(sys.modules)
    try:
        for name in _FRONT_DOORS:
            _enter(name)
        client = vars(importlib.import_module("kubernetes.aio.client"))
        is_lazy = client.setdefault("ApiClient", _api_client) is _api_client
        importlib.import_module("kubernetes.aio.config.kube_config")
        if is_lazy:
            del client["ApiClient"]
    except Exception:  # noqa: BLE001 - another version may lean on its front door in any way
        for name in set(sys.modules) - before:
            if name.partition(".")[0] == "kubernetes":
                del sys.modules[name]


_open()

from kubernetes.aio.client import Configuration  # noqa: E402
from kubernetes.aio.config import kube_config  # noqa: E402
from kubernetes.aio.config.config_exception import ConfigException  # noqa: E402
from kubernetes.aio.config.incluster_config import (  # noqa: E402
    SERVICE_CERT_FILENAME,
    SERVICE_HOST_ENV_NAME,
    SERVICE_TOKEN_FILENAME,
    load_incluster_config,
)

__all__ = [
    "SERVICE_CERT_FILENAME",
    "SERVICE_HOST_ENV_NAME",
    "SERVICE_TOKEN_FILENAME",
    "ConfigException",
    "Configuration",
    "kube_config",
    "load_incluster_config",
]
