"""The real control plane as a contract server: etcd, kube-apiserver, kube-controller-manager from the bed."""

import json
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.bed.bed import Bed
from tests.bed.people import PEOPLE
from tests.contract.server import CAPABILITIES, Server

UNCACHED = "resourcequotas"
"""Served straight from etcd, so that a compaction is felt at once by whoever reads it."""


WRITES_ALONE = """
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: None, verbs: [get, list, watch]}
  - {level: Metadata}
"""
"""What the server's own audit log holds: each request that could change something, without its body."""


@contextmanager
def running(has_failed: Callable[[], bool] = lambda: False) -> Iterator[Server]:
    """Starts the three parts beside the caller and ends them; their logs stay when something has failed."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="gpu-cockpit-audit-")))
        (folder / "policy.yaml").write_text(WRITES_ALONE)
        flags = (
            f"--watch-cache-sizes={UNCACHED}#0",
            f"--audit-policy-file={folder / 'policy.yaml'}",
            f"--audit-log-path={folder / 'audit.log'}",
        )
        bed = stack.enter_context(Bed({"apiserver", "kcm"}, namespace=False, apiserver_flags=flags))
        contexts = {"admin" if one.context == "bed" else one.context: one for one in PEOPLE}
        yield Server(
            url=bed.server,
            ca_file=bed.ca_file,
            kubeconfig=bed.kubeconfig,
            tokens={role: bed.token(one.context) for role, one in contexts.items()},
            usernames={role: one.user for role, one in contexts.items()},
            contexts={role: one.context for role, one in contexts.items()},
            engineer_namespace="team-a",
            capabilities=CAPABILITIES["real"],
            certificate=(bed.layout.pki / "admin.crt", bed.layout.pki / "admin.key"),
            compact=lambda: _compact(bed.etcd_url),
            audit_log=folder / "audit.log",
        )
        bed.keep_logs = has_failed()
        if bed.keep_logs:
            print(f"contract: logs of the server kept in {bed.layout.logs}", flush=True)


def _compact(etcd_url: str) -> None:
    """Throws away all history up to now (etcd's JSON gateway, etcd api/etcdserverpb/rpc.proto)."""
    revision = _etcd(etcd_url, "/v3/maintenance/status", {})["header"]["revision"]
    _etcd(etcd_url, "/v3/kv/compaction", {"revision": revision, "physical": True})


def _etcd(etcd_url: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    request = urllib.request.Request(etcd_url + path, json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=10) as answer:
        tree: dict[str, Any] = json.load(answer)
    return tree
