"""NodePorts: which ports of its node a pod takes, and when two of them collide.

Source: kube-scheduler 1.36, pkg/scheduler/util (GetHostPorts), pkg/scheduler/framework (HostPortInfo).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from cockpit.model.scheduling import HostPort

ANY_ADDRESS = "0.0.0.0"


def host_ports_of(spec: Mapping[str, Any]) -> Iterable[HostPort]:
    """The ports of containers and sidecars, of a manifest's pod as of a stored one.

    On the host's network a port is one of the node, also where the API server has not yet written so.
    """
    on_host = spec.get("hostNetwork") is True
    sidecars = [item for item in _items(spec.get("initContainers")) if item.get("restartPolicy") == "Always"]
    for container in (*_items(spec.get("containers")), *sidecars):
        for item in _items(container.get("ports")):
            number = item.get("hostPort") or (item.get("containerPort") if on_host else 0)
            if isinstance(number, int) and number > 0:
                yield HostPort(
                    number, _text(item.get("protocol")) or "TCP", _text(item.get("hostIP")) or ANY_ADDRESS
                )


def collide(one: HostPort, other: HostPort) -> bool:
    """True where a node cannot give both: the same port and protocol, and an address that is not another."""
    if (one.port, one.protocol) != (other.port, other.protocol):
        return False
    return one.address == other.address or ANY_ADDRESS in (one.address, other.address)


def _items(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, (list, tuple)) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
