"""The room's rules against answers that the real API server and scheduler gave to the same questions.

The answers are recorded in `recorded/`; `tests/differential/rule_plays.py` says how each was asked.
"""

import json
from typing import Any

import pytest

from cockpit.fit.shape import requests_of
from cockpit.k8s.admission.admission_specs import pod_set_asks
from cockpit.k8s.node_affinity import NodeTerms, node_terms_of
from cockpit.k8s.pod_requests import limits_by, pod_requests, requests_by
from cockpit.k8s.quantity import amounts_of, base_units, canonical, quantity
from cockpit.k8s.selectors import LabelSelector, holds, requirements_of, selects
from cockpit.k8s.tolerations import taint_of, toleration_of, untolerated
from cockpit.kube.decode.decoders import POD
from cockpit.model.pod import Pod
from cockpit.sim.actors.autoscaler import room as autoscaler
from cockpit.sim.actors.kubelet import admission as kubelet
from cockpit.sim.actors.scheduler.podinfo import PodInfo
from cockpit.sim.port import PortError
from cockpit.sim.server.quantity import amounts
from cockpit.sim.server.selectors import label_selector
from tests.unit.k8s.recorded_cases import each, recorded, text_of

LABELLED = recorded("label_selectors")["objects"]
NODES = recorded("node_selectors")["nodes"]
TAINTS = recorded("tolerations")["taints"]
RUNTIMES = recorded("pod_requests")["runtimes"]


@pytest.mark.parametrize("case", each("quantities"))
def test_quantities(case: dict[str, Any]) -> None:
    asked = case["quantity"]
    if case["answer"] is None:
        with pytest.raises(ValueError, match="not a valid quantity"):
            quantity(asked)
        with pytest.raises(ValueError, match="not a valid quantity"):
            canonical(asked)
        assert amounts_of({"x": asked}) == {}
        return
    assert canonical(asked) == case["answer"]["alone"]
    # Lists of resources are rounded up to thousandths.
    assert amounts({"x": asked})["x"].amount == quantity(case["answer"]["listed"]).amount
    assert str(quantity(str(quantity(asked)))) == str(quantity(case["answer"]["alone"]))


@pytest.mark.parametrize("case", each("fits"))
def test_rounding(case: dict[str, Any]) -> None:
    """The scheduler rounds what is asked for and what is allocatable up to whole units."""
    asked = base_units(case["resource"], case["request"])
    enough = [size for size in case["sizes"] if base_units(case["resource"], size) >= asked]
    assert enough[0] == case["answer"]


@pytest.mark.parametrize("case", each("label_selectors", "requirements"))
def test_label_requirements(case: dict[str, Any]) -> None:
    asked = requirements_of(case["requirements"])
    chosen = sorted(name for name, labels in LABELLED.items() if selects(asked, labels))
    assert chosen == (case["answer"] or [])
    assert chosen == sorted(name for name, labels in LABELLED.items() if LabelSelector(asked).matches(labels))
    assert chosen == sorted(
        name for name, labels in LABELLED.items() if all(holds(one, labels) for one in asked)
    )


@pytest.mark.parametrize("case", each("label_selectors"))
def test_label_selectors_of_the_embedded_server(case: dict[str, Any]) -> None:
    if case["answer"] is None:
        with pytest.raises(PortError) as refused:
            label_selector(text_of(case))
        assert refused.value.status == 400
    else:
        test = label_selector(text_of(case))
        assert test is not None
        assert sorted(name for name, labels in LABELLED.items() if test(labels)) == case["answer"]


@pytest.mark.parametrize("case", each("node_selectors"))
def test_node_selectors(case: dict[str, Any]) -> None:
    if case["answer"] is not None:
        terms = NodeTerms(node_terms_of({"nodeSelectorTerms": case["terms"]}))
        found = [name for name, labels in NODES.items() if terms.matches(f"nodeselectors-{name}", labels)]
        assert sorted(found) == case["answer"]


@pytest.mark.parametrize("case", each("tolerations"))
def test_tolerations(case: dict[str, Any]) -> None:
    if case["answer"] is not None:
        toleration = toleration_of(case["toleration"])
        covered = [name for name, one in TAINTS.items() if not untolerated([taint_of(one)], [toleration])]
        assert sorted(covered) == case["answer"]


@pytest.mark.parametrize("case", each("pod_requests"))
def test_pod_requests(case: dict[str, Any]) -> None:
    spec = {**case["spec"], **_overhead(case["spec"])}
    asked = case["answer"].get("requests", {})
    assert {name: amount for name, amount in pod_requests(spec).items() if amount} == asked
    assert limits_by(spec, amounts_of) == case["answer"].get("limits", {})


@pytest.mark.parametrize("case", each("pod_requests"))
def test_pod_requests_by_everyone_who_counts_them(case: dict[str, Any]) -> None:
    """The fit, the decoder, and the embedded scheduler, queue, autoscaler, kubelet and quotas."""
    spec = {**_stored(case["spec"]), **_overhead(case["spec"])}
    pod = {"metadata": {"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "1"}, "spec": spec}
    asked = case["answer"].get("requests", {})
    assert dict(requests_of(spec)) == asked
    assert PodInfo(pod).requests == asked
    assert autoscaler.requests_of(pod) == {"pods": 1, **asked}
    assert kubelet.requests_of(pod) == {"pods": 1, **asked}
    pod_set = {"name": "main", "count": 1, "template": {"spec": spec}}
    assert pod_set_asks({"spec": {"podSets": [pod_set]}})[0].requests == asked
    counted = amounts_of({name: str(one) for name, one in requests_by(spec, amounts).items()})
    assert counted == asked
    charged = decoded_charge(pod)
    for name in ("cpu", "memory", "nvidia.com/gpu"):
        assert charged.get(name, 0) == asked.get(name, 0), name


def decoded_charge(pod: dict[str, Any]) -> dict[str, int]:
    """What the product's decoder makes of the pod."""
    record = POD.from_json(json.dumps(pod).encode())
    assert isinstance(record, Pod)
    return {"cpu": record.cpu_millicores, "memory": record.memory_bytes, "nvidia.com/gpu": record.gpus}


def _overhead(spec: dict[str, Any]) -> dict[str, Any]:
    """What the admission of runtime classes adds."""
    runtime = spec.get("runtimeClassName")
    return {"overhead": RUNTIMES[runtime]} if runtime else {}


def _stored(spec: dict[str, Any]) -> dict[str, Any]:
    """Containers as the API has them, with names."""
    return {
        **spec,
        **{
            field: [{"name": f"{field}-{at}", "image": "i", **one} for at, one in enumerate(spec[field])]
            for field in ("containers", "initContainers")
            if field in spec
        },
    }
