"""A kubelet's pod-resources service on a unix socket, by gRPC, answering what a test says."""

from collections.abc import Callable
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
from cockpit_exporter.proto import podresources_pb2 as wire

Fault = tuple[grpc.StatusCode, str]


class FakeKubelet:
    """Serves `listed` and `allocatable`; `fault` is answered instead where set. Counts the calls."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "kubelet.sock"
        self.listed = wire.ListAnswer()
        self.allocatable: wire.AllocatableAnswer | None = None
        self.fault: Fault | None = None
        self.calls: list[str] = []
        self._server: Any = None
        self.start()

    def start(self) -> None:
        self._server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))
        methods = {
            "List": self._method("List", lambda: self.listed),
            "GetAllocatableResources": self._method("GetAllocatableResources", lambda: self.allocatable),
        }
        handler = grpc.method_handlers_generic_handler("v1.PodResourcesLister", methods)
        self._server.add_generic_rpc_handlers((handler,))
        self._server.add_insecure_port(f"unix://{self.socket}")
        self._server.start()

    def _method(self, name: str, answer: Callable[[], Any]) -> Any:
        def serve(request: Any, context: Any) -> Any:
            self.calls.append(name)
            if self.fault is not None:
                context.abort(*self.fault)
            found = answer()
            if found is None:
                context.abort(grpc.StatusCode.UNIMPLEMENTED, "unknown method GetAllocatableResources")
            return found

        return grpc.unary_unary_rpc_method_handler(
            serve,
            request_deserializer=wire.Empty.FromString,
            response_serializer=lambda message: message.SerializeToString(),
        )

    def holds(self, pod: str, *ids: str, resource: str = "nvidia.com/gpu", container: str = "main") -> None:
        """A container that has these devices."""
        namespace, name = pod.split("/")
        self.listed.pods.append(
            wire.Pod(
                name=name,
                namespace=namespace,
                containers=[
                    wire.Container(name=container, devices=[wire.Devices(resource=resource, ids=ids)]),
                    wire.Container(
                        name="sidecar", devices=[wire.Devices(resource="example.com/nic", ids=["n0"])]
                    ),
                ],
            )
        )

    def claims(self, pod: str, device: str, *, claim: str = "one", driver: str = "gpu.nvidia.com") -> None:
        """A container that has a device by a claim."""
        namespace, name = pod.split("/")
        told = wire.ClaimDevice(driver=driver, pool="node-7", device=device)
        claims = [wire.Claim(name=claim, namespace=namespace, devices=[told])]
        containers = [wire.Container(name="main", claims=claims)]
        self.listed.pods.append(wire.Pod(name=name, namespace=namespace, containers=containers))

    def close(self) -> None:
        self._server.stop(grace=None).wait(timeout=30)
