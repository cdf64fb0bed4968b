"""Which Prometheus is asked, and the sentence where there is none."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

import pytest

from cockpit.errors import BadInput, Refused
from cockpit.model.batch import Phase
from cockpit.model.metrics_server import MetricsServer
from cockpit.telemetry.discovery import Service, candidates, find_prometheus, services_of
from cockpit.telemetry.endpoint import MetricsTarget, ServicePort, configured
from cockpit.telemetry.faults import TelemetryError
from cockpit.telemetry.prometheus import Prometheus
from cockpit.telemetry.promql import PROBE

KUBE_STACK = [
    Service(
        "monitoring", "kube-prometheus-stack-prometheus", (), (("http-web", 9090), ("reloader-web", 8080))
    ),
    Service("monitoring", "prometheus-operated", (("operated-prometheus", "true"),), (("http-web", 9090),)),
    Service("monitoring", "kube-prometheus-stack-operator", (), (("https", 443),)),
    Service("monitoring", "kube-prometheus-stack-alertmanager", (), (("http-web", 9093),)),
    Service("monitoring", "kube-prometheus-stack-prometheus-node-exporter", (), (("http-metrics", 9100),)),
    Service("monitoring", "prometheus-adapter", (), (("https", 443),)),
    Service("team-a", "training", (("app", "llm"),), (("http", 80),)),
]


def path_of(target: MetricsTarget) -> str:
    """Its URL, or its path at the API server."""
    place = target.place
    return place.path if isinstance(place, ServicePort) else place.url


def test_candidates_are_the_prometheis_and_only_those() -> None:
    found = [path_of(target).split("/services/")[1] for target in candidates(KUBE_STACK)]
    likely = ["prometheus-operated:http-web/proxy", "kube-prometheus-stack-prometheus:http-web/proxy"]
    assert found[:2] == likely
    assert {name.partition(":")[0] for name in found} == {name.partition(":")[0] for name in likely}


@pytest.mark.parametrize(
    ("service", "end"),
    [
        (Service("m", "prometheus-server", (), (("", 80),)), "/services/prometheus-server:80/proxy"),
        (
            Service("arena-system", "prometheus-svc", (), (("prometheus", 9090),)),
            "/services/prometheus-svc:prometheus/proxy",
        ),
        (
            Service("m", "metrics", (("app.kubernetes.io/name", "prometheus"),), (("web", 9090),)),
            "/services/metrics:web/proxy",
        ),
        (
            Service("m", "prometheus-k8s", (), (("https", 9091),)),
            "/services/https:prometheus-k8s:https/proxy",
        ),
    ],
)
def test_ports_and_schemes(service: Service, end: str) -> None:
    [target] = candidates([service])
    assert path_of(target) == f"/api/v1/namespaces/{service.namespace}{end}"
    assert isinstance(target.place, ServicePort)


def test_ports_of_unknown_names_are_tried_after_all_likely_ones() -> None:
    odd = Service("m", "prometheus", (), (("a", 1), ("b", 2)))
    likely = Service("z", "thanos-query", (), (("grpc", 10901), ("http", 10902)))
    found = [path_of(target).split("/services/")[1] for target in candidates([odd, likely])]
    assert found == [
        "thanos-query:http/proxy",
        "prometheus:a/proxy",
        "prometheus:b/proxy",
        "thanos-query:grpc/proxy",
    ]
    assert candidates([Service("m", "prometheus")]) == []


@pytest.mark.parametrize(
    ("text", "url", "is_proxied"),
    [
        ("http://prom:9090/", "http://prom:9090", False),
        ("https://user:secret@prom.example.org/x", "https://prom.example.org/x", False),
        (
            "monitoring/prometheus:web",
            "/api/v1/namespaces/monitoring/services/prometheus:web/proxy",
            True,
        ),
        (
            "monitoring/prometheus",
            "/api/v1/namespaces/monitoring/services/prometheus:9090/proxy",
            True,
        ),
    ],
)
def test_configured(text: str, url: str, is_proxied: bool) -> None:
    target = configured(MetricsServer(text))
    assert (path_of(target), isinstance(target.place, ServicePort)) == (url, is_proxied)
    assert "secret" not in repr(target)


@pytest.mark.parametrize("text", ["prometheus", "ftp://x", "http://", "a b", "A/B", "a/b:c/d"])
def test_an_unusable_url_is_named_with_both_forms(text: str) -> None:
    with pytest.raises(BadInput, match="write http://host:port or namespace/service:port"):
        configured(MetricsServer(text))


class Stub:
    """A Prometheus that is up or not, with GPU series or without."""

    def __init__(self, target: MetricsTarget, fault: TelemetryError | None, has_gpus: bool) -> None:
        self.target, self._fault, self._has_gpus, self.closed = target, fault, has_gpus, False

    async def query(self, promql: str) -> list[Any]:
        if self._fault is not None:
            raise self._fault
        return [1] if promql == PROBE or self._has_gpus else []

    async def close(self) -> None:
        self.closed = True


def listing(services: Sequence[Service]) -> Callable[[], Awaitable[Sequence[Service]]]:
    async def list_services() -> Sequence[Service]:
        return services

    return list_services


async def found(
    services: Sequence[Service], answers: dict[str, tuple[TelemetryError | None, bool]], url: str = ""
) -> str:
    opened: list[Stub] = []

    def open_target(target: MetricsTarget) -> Prometheus:
        name = next((key for key in answers if key in path_of(target)), "")
        opened.append(Stub(target, *answers.get(name, (TelemetryError("down"), False))))
        return cast(Prometheus, opened[-1])

    chosen = await find_prometheus(MetricsServer(url), listing(services), open_target)
    assert [one.closed for one in opened].count(False) == 1
    return path_of(cast(Stub, chosen).target)


async def test_the_first_that_knows_gpus_is_taken() -> None:
    answers: dict[str, tuple[TelemetryError | None, bool]] = {
        "prometheus-operated": (None, False),
        "kube-prometheus-stack-prometheus": (None, True),
    }
    assert "kube-prometheus-stack-prometheus:" in await found(KUBE_STACK, answers)


async def test_without_gpus_anywhere_the_first_that_answers() -> None:
    answers: dict[str, tuple[TelemetryError | None, bool]] = {
        "prometheus-operated": (TelemetryError("down"), False),
        "kube-prometheus-stack-prometheus": (None, False),
    }
    assert "kube-prometheus-stack-prometheus:" in await found(KUBE_STACK, answers)


async def test_the_configured_one_is_taken_unlooked_for() -> None:
    assert await found([], {"prom:9090": (None, False)}, "http://prom:9090") == "http://prom:9090"


async def test_why_there_is_none() -> None:
    with pytest.raises(
        TelemetryError, match="no Service of this cluster is named or labelled like one"
    ) as caught:
        await found([], {})
    assert caught.value.phase is Phase.ABSENT
    with pytest.raises(TelemetryError, match="denied by proxy"):
        await found(KUBE_STACK, {"prometheus": (TelemetryError("denied by proxy", Phase.DENIED), False)})
    with pytest.raises(TelemetryError, match="is not usable"):
        await found([], {}, "nonsense")

    async def denied() -> Sequence[Service]:
        raise Refused("services is forbidden.")

    with pytest.raises(
        TelemetryError, match=r"set --prometheus-url; services cannot be listed \(services is forbidden\)"
    ):
        await find_prometheus(MetricsServer(), denied, lambda target: cast(Prometheus, target))


def test_services_of_a_list() -> None:
    tree = {
        "items": [
            {
                "metadata": {"namespace": "m", "name": "prometheus", "labels": {"app": "prometheus"}},
                "spec": {"ports": [{"name": "web", "port": 9090}, {"port": 8080}, {"name": "x"}]},
            },
            {"metadata": {"name": "bare"}},
            {"metadata": {}},
            7,
        ]
    }
    assert services_of(tree) == [
        Service("m", "prometheus", (("app", "prometheus"),), (("web", 9090), ("", 8080))),
        Service("", "bare"),
    ]
    assert services_of([]) == []
