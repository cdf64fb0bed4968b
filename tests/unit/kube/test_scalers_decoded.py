"""A HorizontalPodAutoscaler as the server writes it; hostile ones cost nothing but themselves."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cockpit.actions.scaler_reads import read_scalers
from cockpit.kube.decode.scalers import scaler_of
from cockpit.model.namespaces import Namespaces
from cockpit.model.scaler import Scaler, ScalerMetric, ScalersRead

WEB: dict[str, Any] = {
    "metadata": {"namespace": "team", "name": "web"},
    "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "minReplicas": 2,
        "maxReplicas": 10,
        "metrics": [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
            },
            {"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {"averageValue": "100"}}},
        ],
    },
    "status": {
        "currentReplicas": 3,
        "desiredReplicas": 6,
        "currentMetrics": [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "current": {"averageUtilization": 82, "averageValue": "410m"}},
            }
        ],
        "conditions": [
            {"type": "AbleToScale", "status": "True", "message": "fine"},
            {
                "type": "ScalingLimited",
                "status": "True",
                "reason": "TooManyReplicas",
                "message": "at its maximum",
            },
        ],
    },
}


def test_what_it_scales_by_what_and_within_what() -> None:
    assert scaler_of(WEB) == Scaler(
        namespace="team",
        name="web",
        target_kind="Deployment",
        target_name="web",
        metrics=(ScalerMetric("cpu", "82%", "50%"), ScalerMetric("rps", "", "100")),
        current=3,
        desired=6,
        minimum=2,
        maximum=10,
        limited="at its maximum",
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda one: (
        st.lists(one, max_size=3) | st.dictionaries(st.sampled_from(sorted(WEB["spec"])), one, max_size=3)
    ),
    max_leaves=8,
)


@given(st.fixed_dictionaries({"metadata": JSON, "spec": JSON, "status": JSON}))
def test_whatever_comes_is_a_record_or_none(tree: dict[str, Any]) -> None:
    found = scaler_of(tree)
    assert found is None or found.name


def test_control_codes_are_cleaned() -> None:
    found = scaler_of({**WEB, "metadata": {"name": "a\x1b[2Jb", "namespace": "t"}})
    assert found is not None and "\x1b" not in found.name


class Server:
    def __init__(self, status: int, tree: Any) -> None:
        self.status, self.tree, self.asked = status, tree, ""

    async def request(self, method: str, path: str) -> SimpleNamespace:
        self.asked = f"{method} {path}"
        return SimpleNamespace(status=self.status, json=lambda: json.loads(json.dumps(self.tree)))


@pytest.mark.parametrize(
    ("status", "tree", "trouble"),
    [
        (403, {}, "denied: list horizontalpodautoscalers of autoscaling"),
        (404, {}, "this server does not serve autoscaling/v2"),
        (500, {}, "the server answered 500"),
        (200, {"items": None}, ""),
        (200, [], ""),
    ],
)
async def test_what_cannot_be_read_is_a_value(status: int, tree: Any, trouble: str) -> None:
    assert await read_scalers(Server(status, tree)) == ScalersRead(trouble=trouble)


async def test_those_of_one_namespace_are_asked_for_there() -> None:
    server = Server(200, {"items": [WEB, "no object"]})
    found = await read_scalers(server, Namespaces(("team",)))
    assert [one.name for one in found.found] == ["web"]
    assert server.asked == "GET /apis/autoscaling/v2/namespaces/team/horizontalpodautoscalers"
