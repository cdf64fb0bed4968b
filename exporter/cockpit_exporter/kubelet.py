"""The kubelet's pod-resources socket, asked at most once in ten seconds.

Facts: the kubelet allows all its clients together 100 calls a second with a burst of 10 and answers
RESOURCE_EXHAUSTED beyond (kubernetes/kubernetes#116459). gRPC itself gives that code to a client that refuses
an answer for its size, so the two are told apart by their text.
"""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from cockpit_exporter.attribution import Assignment
from cockpit_exporter.proto import podresources_pb2 as wire

LIST_SECONDS = 10.0
ALLOCATABLE_SECONDS = 60.0
LONGEST_WAIT_SECONDS = 160.0
KEPT_SECONDS = 2.5 * LIST_SECONDS
CALL_SECONDS = 5.0
MOST_BYTES = 16 * 1024 * 1024

SERVICE = "/v1.PodResourcesLister"


@dataclass(frozen=True, slots=True)
class Assigned:
    """The last good answer and how it stands now. `reason` is empty where the last call was answered."""

    assignments: tuple[Assignment, ...] = ()
    allocatable: tuple[str, ...] | None = None
    taken_seconds: float | None = None
    reason: str = "not-started"


class KubeletWatch:
    """Keeps the last answer. Each step makes one call, or two when the allocatable devices are due."""

    def __init__(
        self,
        socket: str,
        clock: Callable[[], float],
        resources: tuple[str, ...] = (),
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """`resources` are names beside those that start with `nvidia.com/`."""
        import grpc

        self._grpc = grpc
        self._clock = clock
        self._resources = resources
        self._stop = threading.Event()
        self._wait_seconds = LIST_SECONDS
        self._allocatable_due = 0.0
        self.answer = Assigned()
        # no proxy, no service config, no retries behind our back
        options = (
            ("grpc.max_receive_message_length", most_bytes),
            ("grpc.enable_retries", 0),
            ("grpc.enable_http_proxy", 0),
            ("grpc.service_config_disable_resolution", 1),
            ("grpc.initial_reconnect_backoff_ms", 250),
            ("grpc.min_reconnect_backoff_ms", 250),
            ("grpc.max_reconnect_backoff_ms", int(LIST_SECONDS * 1000)),
        )
        self._channel = grpc.insecure_channel(f"unix://{socket}", options=options)
        self._list = self._call("List", wire.ListAnswer)
        self._allocatable = self._call("GetAllocatableResources", wire.AllocatableAnswer)

    def _call(self, method: str, answer: type[Any]) -> Callable[..., Any]:
        found: Callable[..., Any] = self._channel.unary_unary(
            f"{SERVICE}/{method}",
            request_serializer=wire.Empty.SerializeToString,
            response_deserializer=answer.FromString,
        )
        return found

    def run(self) -> None:
        """Until `stop`."""
        while not self._stop.is_set():
            self._stop.wait(self.step())
        self._channel.close()

    def stop(self) -> None:
        self._stop.set()

    def current(self) -> Assigned:
        """The answer as it stands now: a mapping older than its keeping time is told no more."""
        found = self.answer
        if found.taken_seconds is None or self._clock() - found.taken_seconds <= KEPT_SECONDS:
            return found
        return replace(found, assignments=(), allocatable=None, reason=found.reason or "stale")

    def step(self) -> float:
        """Ask once. Gives the seconds to wait until the next time: longer where the kubelet had too much."""
        try:
            listed = self._list(wire.Empty(), timeout=CALL_SECONDS)
            assignments = tuple(self._assignments(listed))
            self.answer = replace(
                self.answer, assignments=assignments, taken_seconds=self._clock(), reason=""
            )
            if self._clock() >= self._allocatable_due:
                self._ask_allocatable()
            self._wait_seconds = LIST_SECONDS
        except self._grpc.RpcError as problem:
            reason = self._reason(problem)
            self.answer = replace(self.answer, reason=reason)
            is_busy = reason == "resource-exhausted"
            self._wait_seconds = (
                min(2 * self._wait_seconds, LONGEST_WAIT_SECONDS) if is_busy else LIST_SECONDS
            )
        return self._wait_seconds

    def _ask_allocatable(self) -> None:
        try:
            answer = self._allocatable(wire.Empty(), timeout=CALL_SECONDS)
        except self._grpc.RpcError as problem:
            if problem.code() is not self._grpc.StatusCode.UNIMPLEMENTED:
                raise
            self._allocatable_due = float("inf")  # an old kubelet: it will not learn it
            return
        ids = (name for device in answer.devices if self._is_ours(device.resource) for name in device.ids)
        self._allocatable_due = self._clock() + ALLOCATABLE_SECONDS
        self.answer = replace(self.answer, allocatable=tuple(sorted(ids)))

    def _reason(self, problem: Any) -> str:
        code: str = problem.code().name.lower().replace("_", "-")
        if code == "resource-exhausted" and "larger than max" in (problem.details() or ""):
            return "answer-too-large"
        return code

    def _is_ours(self, resource: str) -> bool:
        return resource.startswith("nvidia.com/") or resource in self._resources

    def _assignments(self, listed: Any) -> Iterator[Assignment]:
        for pod in listed.pods:
            for container in pod.containers:
                who = (pod.namespace, pod.name, container.name)
                for devices in container.devices:
                    if self._is_ours(devices.resource):
                        for name in devices.ids:
                            yield Assignment(*who, resource=devices.resource, device_id=name)
                for claim in container.claims:
                    for device in claim.devices:
                        if device.device:
                            yield Assignment(
                                *who,
                                claim=claim.name,
                                driver=device.driver,
                                pool=device.pool,
                                device=device.device,
                                cdi=tuple(named.name for named in device.cdi_devices),
                            )
