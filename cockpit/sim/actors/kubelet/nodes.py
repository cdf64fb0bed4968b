"""What a kubelet says of its node: conditions, addresses, versions, images.

Source: Kubernetes 1.36 pkg/kubelet/nodestatus/setters.go (reasons and sentences), pkg/kubelet/kubelet.go
(status at least every 5 minutes).
"""

from cockpit.kube.resource import NODES
from cockpit.sim.actors.common.recorder import Recorder
from cockpit.sim.actors.kubelet.behaviour import PREFIX, seconds_from
from cockpit.sim.actors.kubelet.runs import NodeRun
from cockpit.sim.port import Port, Tree
from cockpit.sim.times import rfc3339, seconds_of

STATUS_SECONDS = 300.0
READY_AFTER_ANNOTATION = f"{PREFIX}ready-after"
OUTAGE_ANNOTATION = f"{PREFIX}kubelet-outage"
KUBELET_VERSION = "v1.36.3"
_NOT_READY = (
    "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
    "message:Network plugin returns error: cni plugin not initialized"
)
_NO_PRESSURE = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


class KubeletAddress:
    """Where the kubelet endpoint of the nodes listens; port 0 says that there is none."""

    __slots__ = ("host", "port")

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        self.host = host
        self.port = port


def ready_at(node: NodeRun) -> float:
    """When the node becomes Ready: its creation and `cockpit.dev/ready-after`."""
    metadata = node.tree["metadata"]
    text = (metadata.get("annotations") or {}).get(READY_AFTER_ANNOTATION)
    if not text:
        return 0.0
    name = f"node {metadata['name']}, annotation {READY_AFTER_ANNOTATION}"
    return seconds_of(metadata["creationTimestamp"]) + seconds_from(str(text), name)


def conditions(node: NodeRun, now: float) -> list[Tree]:
    """Ready and the three pressures; times of the last transition are kept."""
    found = list(_NO_PRESSURE)
    if ready_at(node) <= now:
        found.append(("Ready", "True", "KubeletReady", "kubelet is posting ready status"))
    else:
        found.append(("Ready", "False", "KubeletNotReady", _NOT_READY))
    trees = []
    for word, state, reason, message in found:
        held = _known(node.tree, word) or node.conditions.get(word)
        since = held[1] if held is not None and held[0] == state else now
        node.conditions[word] = (state, since)
        trees.append(
            {
                "type": word,
                "status": state,
                "lastHeartbeatTime": rfc3339(now),
                "lastTransitionTime": rfc3339(since),
                "reason": reason,
                "message": message,
            }
        )
    return trees


def _known(tree: Tree, word: str) -> tuple[str, float] | None:
    """A condition as the API has it: a kubelet that starts again keeps the time of the last change."""
    for one in (tree.get("status") or {}).get("conditions", ()):
        if one["type"] == word and one.get("lastTransitionTime"):
            return (one["status"], seconds_of(one["lastTransitionTime"]))
    return None


def was_ready(tree: Tree) -> bool:
    """True when the API has the node Ready."""
    known = _known(tree, "Ready")
    return known is not None and known[0] == "True"


def node_status(node: NodeRun, endpoint: KubeletAddress, now: float) -> Tree:
    """What of the node's status is the kubelet's; capacity stays as it is, allocatable follows it."""
    tree = node.tree
    name = node.name
    known = tree.get("status") or {}
    own = conditions(node, now)
    words = {one["type"] for one in own}
    status: Tree = {
        "conditions": [*own, *(one for one in known.get("conditions", ()) if one["type"] not in words)],
        "addresses": [
            {"type": "InternalIP", "address": endpoint.host},
            {"type": "Hostname", "address": name},
        ],
        "nodeInfo": _node_info(node),
    }
    if endpoint.port:
        status["daemonEndpoints"] = {"kubeletEndpoint": {"Port": endpoint.port}}
        # The API server then hands WebSockets through instead of translating to SPDY (KEP-4006, 1.36).
        status["declaredFeatures"] = ["ExtendWebSocketsToKubelet"]
    if not known.get("capacity"):
        status["capacity"] = {"cpu": "32", "memory": "128Gi", "ephemeral-storage": "500Gi", "pods": "110"}
    if not known.get("allocatable"):
        status["allocatable"] = known.get("capacity") or status["capacity"]
    images = node.images.listed(now)[:50]
    if images:
        status["images"] = [{"names": [image], "sizeBytes": size} for image, size in images]
    return status


def _node_info(node: NodeRun) -> Tree:
    known = (node.tree.get("status") or {}).get("nodeInfo") or {}
    labels = node.tree["metadata"].get("labels") or {}
    own: Tree = {
        "architecture": labels.get("kubernetes.io/arch", "amd64"),
        "operatingSystem": labels.get("kubernetes.io/os", "linux"),
        "kubeletVersion": KUBELET_VERSION,
        "kubeProxyVersion": "",
        "containerRuntimeVersion": f"{node.runtime}://1.0",
        "osImage": "Ubuntu 24.04.3 LTS",
        "kernelVersion": "6.8.0-87-generic",
        "machineID": "",
        "systemUUID": "",
        "bootID": "",
    }
    return {
        **own,
        **{key: value for key, value in known.items() if value and key != "containerRuntimeVersion"},
    }


async def write_node(
    node: NodeRun, port: Port, recorder: Recorder, endpoint: KubeletAddress, now: float
) -> None:
    """Write the status when it is another one, or after five minutes."""
    wanted = node_status(node, endpoint, now)
    seen = {**wanted, "images": None}
    seen["conditions"] = [(one["type"], one["status"]) for one in wanted["conditions"]]
    is_ready, had_ready = node.conditions["Ready"][0] == "True", was_ready(node.tree)
    is_same = seen == node.written and is_ready == had_ready
    if is_same and now - node.written_at < STATUS_SECONDS:
        return
    is_first = node.written is None
    await port.patch(NODES, "", node.name, {"status": wanted}, subresource="status")
    node.written, node.written_at = seen, now
    if is_ready and not had_ready:
        if is_first:
            await recorder.event(node.tree, "Normal", "Starting", "Starting kubelet.")
        text = f"Node {node.name} status is now: NodeReady"
        await recorder.event(node.tree, "Normal", "NodeReady", text)
