"""What a case may know of the server it runs against, and the servers that can be chosen.

`--server real` (the default) starts etcd, kube-apiserver and kube-controller-manager from the bed; a path to
a `contract.json` uses a server that somebody else started. Another kind of server joins by one entry in
STARTERS.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.bed.api import Api

ROLES = ("admin", "engineer", "viewer", "nobody", "expired")
"""What they may: everything; pods and jobs of one namespace; read all but Secrets; nothing; a dead token."""


HasFailed = Callable[[], bool]


class Capability:
    """What not every server can do. A case says which it needs, else it is skipped with that reason."""

    CONTROLLERS = "controllers"  # garbage collection, Deployments, PodDisruptionBudgets
    CERTIFICATES = "certificates"  # client certificates are accepted
    COMPACTION = "compaction"  # history can be compacted on request
    PROTOBUF = "protobuf"  # application/vnd.kubernetes.protobuf is spoken
    STATED_KINDS = "stated kinds"  # serves a stated list of kinds and no other
    NO_LOOPBACK = "no loopback"  # the proxy refuses addresses of this host
    SPLIT_STREAMS = "split streams"  # the gate PodLogsQuerySplitStreams is on
    WHOLE_STREAMS = "whole streams"  # it is off, as by default
    LOOPBACK_PODS = "loopback pods"  # the proxy dials a pod whose address is on this host


_BOTH = frozenset({Capability.CONTROLLERS, Capability.CERTIFICATES, Capability.COMPACTION})
CAPABILITIES: Mapping[str, frozenset[str]] = {
    "real": _BOTH | {Capability.PROTOBUF, Capability.NO_LOOPBACK, Capability.WHOLE_STREAMS},
    "embedded": _BOTH | {Capability.LOOPBACK_PODS, Capability.STATED_KINDS, Capability.SPLIT_STREAMS},
}
"""Starter -> what its server can do."""


@dataclass(frozen=True)
class Server:
    """One server. `tokens` has a token for each of ROLES, `usernames` the names behind them."""

    url: str
    ca_file: Path
    kubeconfig: Path
    tokens: Mapping[str, str]
    usernames: Mapping[str, str]
    contexts: Mapping[str, str]
    engineer_namespace: str
    capabilities: frozenset[str]
    certificate: tuple[Path, Path] | None = None
    compact: Callable[[], None] | None = field(default=None, compare=False)
    audit_log: Path | None = None  # the server's own: a JSON Event of audit.k8s.io/v1 a line, of every write

    def api(self, role: str = "admin") -> Api:
        """A plain client for setting up and for looking at the truth: not the code under test."""
        return Api(self.url, self.tokens[role], self.ca_file)

    def can(self, capability: str) -> bool:
        return capability in self.capabilities

    def save(self, path: Path) -> None:
        """As a contract.json that `--server` takes."""
        tree = asdict(self) | {"compact": None, "capabilities": sorted(self.capabilities)}
        path.touch(mode=0o600)
        path.write_text(json.dumps(tree, default=str))


def write_kubeconfig(
    path: Path,
    url: str,
    user: Mapping[str, Any],
    *,
    ca: Path | None = None,
    namespace: str = "",
    cluster: Mapping[str, Any] | None = None,
) -> str:
    """A kubeconfig of one context named `one`, with more fields of the cluster entry; answers its path."""
    whole: dict[str, Any] = {"server": url, **(cluster or {})}
    if ca is not None:
        whole["certificate-authority"] = str(ca)
    context = {"cluster": "one", "user": "one"}
    if namespace:
        context["namespace"] = namespace
    tree = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "one", "cluster": whole}],
        "users": [{"name": "one", "user": dict(user)}],
        "contexts": [{"name": "one", "context": context}],
        "current-context": "one",
    }
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(tree))
    return str(path)


def load(path: Path) -> Server:
    """A server that somebody else started, from the file that `save` wrote."""
    tree = json.loads(path.read_text())
    for name in ("ca_file", "kubeconfig"):
        tree[name] = Path(tree[name])
    tree["audit_log"] = Path(tree["audit_log"]) if tree.get("audit_log") else None
    tree["capabilities"] = frozenset(tree["capabilities"]) - {Capability.COMPACTION}
    if tree["certificate"]:
        tree["certificate"] = tuple(map(Path, tree["certificate"]))
    return Server(**tree)


@contextmanager
def real(has_failed: HasFailed) -> Iterator[Server]:
    """The real control plane, from the bed."""
    from tests.contract.real_server import running

    with running(has_failed) as server:
        yield server


@contextmanager
def embedded(has_failed: HasFailed) -> Iterator[Server]:
    """The embedded server, in this process: needs nothing but Python."""
    from tests.contract.embedded_server import running

    with running() as server:
        yield server


STARTERS: dict[str, Callable[[HasFailed], AbstractContextManager[Server]]] = {
    "real": real,
    "embedded": embedded,
}
"""Name of a kind of server -> how one is started; told at its end whether a case has failed."""


def is_known(name: str) -> bool:
    """True for the name of a starter and for a file."""
    return name in STARTERS or Path(name).is_file()


@contextmanager
def chosen(name: str, has_failed: HasFailed) -> Iterator[Server]:
    """The server that `--server` names (one that `is_known`)."""
    if name in STARTERS:
        with STARTERS[name](has_failed) as server:
            yield server
    else:
        yield load(Path(name))
