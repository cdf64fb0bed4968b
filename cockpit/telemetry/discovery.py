"""Find the Prometheus to ask: the configured one, else a Service of the cluster through the API server."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from cockpit.errors import BadInput, CockpitError
from cockpit.model.batch import Phase
from cockpit.model.metrics_server import ALERTMANAGER, PROMETHEUS, MetricsServer, ServerKind
from cockpit.telemetry.endpoint import MetricsTarget, ServicePort, configured, of_service
from cockpit.telemetry.faults import TelemetryError, refused_by_cluster
from cockpit.telemetry.names import MEANINGS
from cockpit.telemetry.prometheus import Prometheus
from cockpit.telemetry.promql import PROBE, has_gpus

MOST_PROBED = 24
"""A cluster with more Services that look like a Prometheus needs to be told its URL."""
MOST_AT_ONCE = 6


class Sought(NamedTuple):
    """How Services of a server are known; names and numbers of ports, the likeliest first."""

    kind: ServerKind
    name: str
    related: tuple[str, ...]
    is_not: re.Pattern[str]
    port_names: tuple[str, ...]
    port_numbers: tuple[int, ...]


PROMETHEUS_SERVICE: Final = Sought(
    PROMETHEUS,
    "prometheus",
    ("vmsingle", "vmselect", "thanos-query", "mimir-query"),
    re.compile(
        r"operator|alertmanager|node-exporter|exporter|pushgateway|kube-state|adapter|blackbox|grafana|"
        r"webhook|thanos-sidecar|-(kubelet|coredns|kube-[a-z-]+|etcd)$"
    ),
    ("web", "http-web", "prometheus", "http", "http-query", "https", "server"),
    (9090, 80, 8481, 8428, 443),
)
ALERTMANAGER_SERVICE: Final = Sought(
    ALERTMANAGER,
    "alertmanager",
    (),
    re.compile("exporter|adapter|webhook|grafana"),
    ("web", "http-web", "http", "https"),
    (9093, 80, 443),
)


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


def candidates(services: Iterable[Service], sought: Sought = PROMETHEUS_SERVICE) -> list[MetricsTarget]:
    """Services that look like what is sought, the likeliest first; then their other ports: neither name says
    who answers there."""
    scored: list[tuple[bool, int, str, MetricsTarget]] = []
    for service in services:
        score = _score(service, sought)
        if not score:
            continue
        for place_in_service, (name, number) in enumerate(_ports(service.ports, sought)):
            is_likely = place_in_service == 0 and (
                name in sought.port_names or number in sought.port_numbers or len(service.ports) == 1
            )
            is_https = name == "https" or number == 443
            place = ServicePort(service.namespace, service.name, name or str(number), is_https)
            scored.append(
                (not is_likely, -score, f"{service.namespace}/{service.name}", of_service(place, sought.kind))
            )
    return [target for *_, target in sorted(scored, key=lambda row: row[:3])]


def _score(service: Service, sought: Sought) -> int:
    if sought.is_not.search(service.name):
        return 0
    names = ("app.kubernetes.io/name", "app", "k8s-app", f"operated-{sought.name}")
    labelled = any(key in names and value in (sought.name, "true") for key, value in service.labels)
    named = sought.name in service.name
    related = any(word in service.name for word in sought.related)
    if not (labelled or named or related):
        return 0
    numbers = {number for _, number in service.ports}
    # the operator's headless service answers from one pod; an ordinary one before it, exotic ones last
    is_usual = int(sought.kind.port) in numbers
    return 1 + 4 * labelled + 3 * named + 2 * is_usual - (service.name == f"{sought.name}-operated")


def _ports(ports: Sequence[tuple[str, int]], sought: Sought) -> list[tuple[str, int]]:
    """The likeliest first: by name, then by number."""

    def rank(port: tuple[str, int]) -> tuple[int, int]:
        name, number = port
        names, numbers = sought.port_names, sought.port_numbers
        by_name = names.index(name) if name in names else len(names)
        by_number = numbers.index(number) if number in numbers else len(numbers)
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
