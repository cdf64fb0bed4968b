"""Find the Prometheus to ask: the configured one, else a Service of the cluster through the API server."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cockpit.errors import BadInput, CockpitError
from cockpit.model.batch import Phase
from cockpit.model.metrics_server import MetricsServer
from cockpit.telemetry.endpoint import MetricsTarget, ServicePort, configured, of_service
from cockpit.telemetry.faults import TelemetryError, refused_by_cluster
from cockpit.telemetry.names import MEANINGS
from cockpit.telemetry.prometheus import Prometheus
from cockpit.telemetry.promql import PROBE, has_gpus

MOST_PROBED = 24
"""A cluster with more Services that look like a Prometheus needs to be told its URL."""
MOST_AT_ONCE = 6

_NAME_LABELS = ("app.kubernetes.io/name", "app", "k8s-app", "operated-prometheus")
_IS_NOT = re.compile(
    r"operator|alertmanager|node-exporter|exporter|pushgateway|kube-state|adapter|blackbox|grafana|webhook|"
    r"thanos-sidecar|-(kubelet|coredns|kube-[a-z-]+|etcd)$"
)
_PORT_NAMES = ("web", "http-web", "prometheus", "http", "http-query", "https", "server")
_PORT_NUMBERS = (9090, 80, 8481, 8428, 443)


@dataclass(frozen=True, slots=True)
class Service:
    """A Service as far as discovery looks: ports are (name, number)."""

    namespace: str
    name: str
    labels: tuple[tuple[str, str], ...] = ()
    ports: tuple[tuple[str, int], ...] = ()


ListServices = Callable[[], Awaitable[Sequence[Service]]]
Open = Callable[[MetricsTarget], Prometheus]


def services_of(tree: Any) -> list[Service]:
    """Services of a ServiceList as JSON tree; items of another shape are left out."""
    items = tree.get("items") if isinstance(tree, dict) else None
    found: list[Service] = []
    for item in items if isinstance(items, list) else ():
        meta = item.get("metadata") if isinstance(item, dict) else None
        if not isinstance(meta, dict) or not isinstance(meta.get("name"), str):
            continue
        labels = meta.get("labels")
        spec = item.get("spec")
        ports = spec.get("ports") if isinstance(spec, dict) else None
        found.append(
            Service(
                namespace=str(meta.get("namespace", "")),
                name=meta["name"],
                labels=tuple((str(k), str(v)) for k, v in labels.items()) if isinstance(labels, dict) else (),
                ports=tuple(
                    (str(item.get("name") or ""), item["port"])
                    for item in (ports if isinstance(ports, list) else ())
                    if isinstance(item, dict) and isinstance(item.get("port"), int)
                ),
            )
        )
    return found


def candidates(services: Iterable[Service]) -> list[MetricsTarget]:
    """Services that look like a Prometheus, the likeliest first; then their other ports: neither name says
    who answers there."""
    scored: list[tuple[bool, int, str, MetricsTarget]] = []
    for service in services:
        score = _score(service)
        if not score:
            continue
        for place_in_service, (name, number) in enumerate(_ports(service.ports)):
            is_likely = place_in_service == 0 and (
                name in _PORT_NAMES or number in _PORT_NUMBERS or len(service.ports) == 1
            )
            is_https = name == "https" or number == 443
            place = ServicePort(service.namespace, service.name, name or str(number), is_https)
            scored.append((not is_likely, -score, f"{service.namespace}/{service.name}", of_service(place)))
    return [target for *_, target in sorted(scored, key=lambda row: row[:3])]


def _score(service: Service) -> int:
    if _IS_NOT.search(service.name):
        return 0
    labelled = any(key in _NAME_LABELS and value in ("prometheus", "true") for key, value in service.labels)
    named = "prometheus" in service.name
    related = any(word in service.name for word in ("vmsingle", "vmselect", "thanos-query", "mimir-query"))
    if not (labelled or named or related):
        return 0
    numbers = {number for _, number in service.ports}
    # the operator's headless service answers from one pod; an ordinary one before it, exotic ones last
    return 1 + 4 * labelled + 3 * named + 2 * (9090 in numbers) - (service.name == "prometheus-operated")


def _ports(ports: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """The likeliest first: by name, then by number."""

    def rank(port: tuple[str, int]) -> tuple[int, int]:
        name, number = port
        by_name = _PORT_NAMES.index(name) if name in _PORT_NAMES else len(_PORT_NAMES)
        by_number = _PORT_NUMBERS.index(number) if number in _PORT_NUMBERS else len(_PORT_NUMBERS)
        return by_name, by_number

    return sorted(ports, key=rank)


async def find_prometheus(
    server: MetricsServer, list_services: ListServices, open_target: Open
) -> Prometheus:
    """The Prometheus that a person named; else one that answers, the first that knows GPUs if any does.

    Raises TelemetryError with one sentence that says what was tried and what would help.
    """
    if server.url or server.has_login:
        try:
            target = configured(server)
        except BadInput as error:
            raise TelemetryError(error.sentence, Phase.ABSENT) from None
        prometheus = open_target(target)
        try:
            await prometheus.query(PROBE)
        except TelemetryError:
            await prometheus.close()
            raise
        return prometheus
    try:
        services = await list_services()
    except CockpitError as error:
        why = f"services cannot be listed ({error.sentence.rstrip('.')})"
        told = f"No Prometheus found: set --prometheus-url; {why}."
        raise refused_by_cluster(error, told) from None
    return await _first_that_answers(candidates(services), open_target)


async def _first_that_answers(targets: Sequence[MetricsTarget], open_target: Open) -> Prometheus:
    if not targets:
        raise TelemetryError(
            "No Prometheus found: set --prometheus-url; "
            "no Service of this cluster is named or labelled like one.",
            Phase.ABSENT,
        )
    alive: Prometheus | None = None
    fault: TelemetryError | None = None
    for at in range(0, min(len(targets), MOST_PROBED), MOST_AT_ONCE):
        probed = [open_target(target) for target in targets[at : at + MOST_AT_ONCE]]
        answers = await asyncio.gather(*(_knows_gpus(prometheus) for prometheus in probed))
        knowing = next((p for p, answer in zip(probed, answers, strict=True) if answer is True), None)
        living = next((p for p, answer in zip(probed, answers, strict=True) if answer is False), None)
        fault = fault or next((answer for answer in answers if isinstance(answer, TelemetryError)), None)
        kept = knowing or alive or living
        for prometheus in (*probed, *([alive] if alive is not None else [])):
            if prometheus is not kept:
                await prometheus.close()
        if knowing is not None:
            return knowing
        alive = kept
    if alive is not None:
        return alive
    assert fault is not None
    raise fault


async def _knows_gpus(prometheus: Prometheus) -> bool | TelemetryError:
    """Whether it has GPU series now, or why it does not answer."""
    try:
        await prometheus.query(PROBE)
        return bool(await prometheus.query(has_gpus(MEANINGS)))
    except TelemetryError as error:
        return error
