"""The proxy before any API server that a kubeconfig names: with a certificate and a kubeconfig of its own."""

import asyncio
import base64
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from cockpit.clock import Clock, SystemClock
from cockpit.errors import BadInput
from cockpit.kube.kubeconfig import check
from cockpit.sim.faults.reading import FaultRule, read_rules
from cockpit.sim.faults.script import Script
from cockpit.sim.port import Tree
from tests.adapters.faults.proxy import FaultProxy


def rules_in(path: Path) -> tuple[FaultRule, ...]:
    """The rules of a YAML file: a list, or the `faults` of a scenario. Raises BadInput in one sentence."""
    import yaml

    try:
        tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"The faults {path} cannot be read: {error.strerror}.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadInput(f"The faults {path} are not YAML: {' '.join(str(error).split())[:200]}.") from None
    found: Any = tree.get("faults") if isinstance(tree, dict) else tree
    if not isinstance(found, list):
        raise BadInput(f"The file {path} has no list of faults; give one, or a scenario with `faults:`.")
    try:
        return read_rules(found)
    except BadInput as error:
        raise BadInput(f"{path}: {error.sentence}") from None


@asynccontextmanager
async def standing_before(
    kubeconfig: Path,
    rules: Sequence[FaultRule],
    folder: Path,
    *,
    seed: int = 1,
    port: int = 0,
    clock: Clock | None = None,
) -> AsyncIterator[tuple[FaultProxy, Path]]:
    """The proxy and the kubeconfig that leads through it, until the block ends.

    It stands before the cluster of the current context. `folder` gets the certificates and `kubeconfig`,
    in which the users with a token are (a certificate cannot be passed on by who ends TLS), under the names
    that rules may use. Raises BadInput when no user is left, or the port is taken.
    """
    from cockpit.sim.server.http.certificates import make_certificates

    clock = clock or SystemClock()
    tree = check(kubeconfig)
    entry = _cluster(kubeconfig, tree)
    cluster: Mapping[str, Any] = entry["cluster"]
    users = {
        one["user"]["token"]: one["name"] for one in tree["users"] if (one.get("user") or {}).get("token")
    }
    if not users:
        raise BadInput(f"No user of {kubeconfig} has a token; add one: certificates do not pass a proxy.")
    # Certificates live in the machine's time, whatever the cluster's is.
    made = await asyncio.to_thread(make_certificates, folder / "pki", SystemClock())
    proxy = FaultProxy(
        cluster["server"],
        _authority(kubeconfig, cluster, folder),
        clock=clock,
        certificate=(made.server.certificate_file, made.server.key_file),
        choose=Script(rules, clock, seed).choose,
        users=users,
        port=port,
    )
    try:
        await proxy.__aenter__()
    except OSError as error:
        raise BadInput(f"Port {port} cannot be used: {error.strerror}; give another one, or 0.") from None
    try:
        yield proxy, _written(folder / "kubeconfig", tree, entry["name"], proxy.url, made.ca_file)
    finally:
        await proxy.__aexit__(None, None, None)


def _cluster(path: Path, tree: Mapping[str, Any]) -> Mapping[str, Any]:
    """The cluster of the current context."""
    current = tree.get("current-context")
    named = [one["context"].get("cluster") for one in tree.get("contexts") or () if one["name"] == current]
    for entry in tree.get("clusters") or ():
        if entry["name"] in named and (entry.get("cluster") or {}).get("server"):
            found: Mapping[str, Any] = entry
            return found
    raise BadInput(f"The current-context of {path} leads to no cluster with a server; set it.")


def _authority(path: Path, cluster: Mapping[str, Any], folder: Path) -> Path | None:
    """Where the real server's authority lies; None for those that the machine trusts."""
    if data := cluster.get("certificate-authority-data"):
        file = folder / "upstream-ca.crt"
        file.write_bytes(base64.b64decode(data))
        return file
    name = cluster.get("certificate-authority")
    return path.parent / name if name else None


def _written(path: Path, tree: Mapping[str, Any], cluster: str, url: str, ca_file: Path) -> Path:
    """The kubeconfig that leads through the proxy, with the users that can pass it."""
    import yaml

    authority = base64.b64encode(ca_file.read_bytes()).decode()
    users = [one for one in tree["users"] if (one.get("user") or {}).get("token")]
    names = {one["name"] for one in users}
    contexts = [
        one
        for one in tree["contexts"]
        if one["context"].get("cluster") == cluster and one["context"].get("user") in names
    ]
    current = tree["current-context"]
    if current not in [one["name"] for one in contexts] and contexts:
        current = contexts[0]["name"]
    made: Tree = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": cluster, "cluster": {"server": url, "certificate-authority-data": authority}}],
        "users": users,
        "contexts": contexts,
        "current-context": current,
    }
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(made, sort_keys=False))
    return path
