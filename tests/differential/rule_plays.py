"""Cases of Kubernetes' own rules, asked of the real API server and scheduler.

The cases lie in `tests/unit/k8s/recorded/`, each file with the answers that were recorded.
`python -m tests.differential.rule_plays` starts a bed, asks again and writes the answers into the files;
`test_kubernetes_rules_real.py` asks again and compares.

How each is asked: a quantity is what a LimitRange holds after a dry run; a label selector is a list of
ConfigMaps; a node selector or toleration is a pod for each node, pinned there, that is bound or is not; the
requests of a pod are those that kube-scheduler exports at /metrics/resources, and how an amount is rounded
tells the smallest node on which a pod is bound.
"""

import json
import re
import ssl
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.bed.api import Api, ApiError
from tests.bed.bed import Bed
from tests.unit.k8s.recorded_cases import FOLDER, Tree, recorded, text_of

FLAGS = ("--disable-admission-plugins", "TaintNodesByCondition")
"""Nobody here takes the mark of an unready node away that admission gives to new ones."""
PLENTY = {"cpu": "1000", "memory": "1Ti", "pods": "1000", "hugepages-2Mi": "1Gi", "nvidia.com/gpu": "64"}
_PATIENCE_SECONDS = 60.0
_THREADS = 8

Answer = Any


def quantities(bed: Bed, asked: Tree) -> list[Answer]:
    """The texts that the server makes of each, by itself and in a list of resources; None where refused."""
    api, path = bed.api(), _namespace(bed.api(), "quantities", "limitranges")

    def dry(where: str, name: str, spec: Tree) -> Tree | None:
        reply = api.request(
            "POST", where, {"metadata": {"name": name}, "spec": spec}, query=(("dryRun", "All"),)
        )
        assert reply.status in (201, 400), reply.body
        return reply.json()["spec"] if reply.status == 201 else None

    def one(case: Tree) -> Answer:
        # A ResourceSlice holds what it is given; lists of resources are rounded up to thousandths.
        pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
        devices = [{"name": "x", "capacity": {"c": {"value": case["quantity"]}}}]
        sliced = {"driver": "d.test", "allNodes": True, "pool": pool, "devices": devices}
        held = dry("/apis/resource.k8s.io/v1/resourceslices", "q", sliced)
        limit = dry(path, "q", {"limits": [{"type": "Container", "max": {"memory": case["quantity"]}}]})
        assert (held is None) == (limit is None), case
        if held is None or limit is None:
            return None
        alone = held["devices"][0]["capacity"]["c"]["value"]
        return {"alone": alone, "listed": limit["limits"][0]["max"]["memory"]}

    return _each(one, asked["cases"])


def label_selectors(bed: Bed, asked: Tree) -> list[Answer]:
    """Names of the objects that each selector chooses, None where it is refused."""
    api, path = bed.api(), _namespace(bed.api(), "selectors", "configmaps")
    for name, labels in asked["objects"].items():
        api.create(path, {"metadata": {"name": name, "labels": {**labels, "case": "yes"}}})

    def one(case: Tree) -> Answer:
        try:
            found = api.items(path, query=(("labelSelector", f"case=yes,{text_of(case)}"),))
        except ApiError as error:
            assert error.status == 400, error
            return None
        return sorted(one["metadata"]["name"] for one in found)

    return _each(one, asked["cases"])


def node_selectors(bed: Bed, asked: Tree) -> list[Answer]:
    """Names of the nodes that each list of terms chooses, None where the API server refuses the pod."""
    nodes = {name: {"labels": labels} for name, labels in asked["nodes"].items()}

    def spec(case: Tree) -> Tree:
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": case["terms"]}}
        return {"affinity": {"nodeAffinity": required}}

    return _bound(bed, "nodeselectors", nodes, [spec(one) for one in asked["cases"]])


def tolerations(bed: Bed, asked: Tree) -> list[Answer]:
    """Names of the taints that each toleration covers, None where the API server refuses the pod."""
    nodes = {name: {"taints": [taint]} for name, taint in asked["taints"].items()}
    specs = [{"tolerations": [one["toleration"]]} for one in asked["cases"]]
    return _bound(bed, "tolerations", nodes, specs)


def fits(bed: Bed, asked: Tree) -> list[Answer]:
    """The smallest of the sizes of a node on which a request of one resource is bound."""
    nodes: dict[str, Tree] = {}
    specs: list[Tree] = []
    for number, case in enumerate(asked["cases"]):
        for size in case["sizes"]:
            nodes[f"{number}-{size}"] = {"allocatable": {**PLENTY, case["resource"]: size}}
        requests = {case["resource"]: case["request"]}
        specs.append({"containers": [_container({"requests": requests})]})
    own = [[f"{at}-{size}" for size in case["sizes"]] for at, case in enumerate(asked["cases"])]
    found = _bound(bed, "fits", nodes, specs, own)
    return [
        next((size for size in case["sizes"] if f"{at}-{size}" in found[at]), None)
        for at, case in enumerate(asked["cases"])
    ]


def pod_requests(bed: Bed, asked: Tree) -> list[Answer]:
    """Requests and limits of each pod by name as the scheduler counts them; cpu in millicores."""
    api, path = bed.api(), _namespace(bed.api(), "requests", "pods")
    for name, overhead in asked["runtimes"].items():
        api.create(
            "/apis/node.k8s.io/v1/runtimeclasses",
            {"metadata": {"name": name}, "handler": "h", "overhead": {"podFixed": overhead}},
        )
    _until(lambda: _is_known(api, path, list(asked["runtimes"])), "a RuntimeClass is not known to admission")
    names = [f"case-{number}" for number in range(len(asked["cases"]))]

    def make(numbered: tuple[str, Tree]) -> None:
        name, case = numbered
        spec = _with_containers(case["spec"])
        api.create(path, {"metadata": {"name": name}, "spec": {**spec, "schedulerName": "nobody"}})

    _each(make, list(zip(names, asked["cases"], strict=True)))
    # A pod that asks for nothing is not exported: one that is made last and asks tells that all are known.
    _each(make, [("last", {"spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}})])
    _until(lambda: "last" in _exported(bed, "requests"), "the scheduler does not know all pods")
    found = _exported(bed, "requests")
    return [found.get(name, {}) for name in names]


PLAYS: Mapping[str, Callable[[Bed, Tree], list[Answer]]] = {
    "quantities": quantities,
    "label_selectors": label_selectors,
    "node_selectors": node_selectors,
    "tolerations": tolerations,
    "fits": fits,
    "pod_requests": pod_requests,
}
"""By the name of the file."""


def _until(is_so: Callable[[], bool], why_not: str) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, why_not
        time.sleep(0.2)


def _is_known(api: Api, path: str, runtimes: Iterable[str]) -> bool:
    for name in runtimes:
        spec = {"runtimeClassName": name, "containers": [_container({})]}
        pod = {"metadata": {"name": "probe"}, "spec": spec}
        if api.request("POST", path, pod, query=(("dryRun", "All"),)).status != 201:
            return False
    return True


def _each(doing: Callable[[Any], Any], things: Iterable[Any]) -> list[Any]:
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(doing, things))


def _namespace(api: Api, name: str, plural: str) -> str:
    api.create("/api/v1/namespaces", {"metadata": {"name": f"rules-{name}"}})
    return f"/api/v1/namespaces/rules-{name}/{plural}"


def _container(resources: Tree, name: str = "main", **more: Any) -> Tree:
    return {"name": name, "image": "i", "resources": resources, **more}


def _with_containers(spec: Tree) -> Tree:
    """The containers of a case name their resources and restart policy only."""
    return {
        **spec,
        **{
            field: [
                {"name": f"{field.lower()}-{at}", "image": "i", **one} for at, one in enumerate(spec[field])
            ]
            for field in ("containers", "initContainers")
            if field in spec
        },
    }


def _bound(
    bed: Bed, name: str, nodes: Mapping[str, Tree], specs: list[Tree], own: list[list[str]] | None = None
) -> list[Answer]:
    """For each spec the nodes (all, or its `own`) on which a pod pinned there is bound."""
    api, path = bed.api(), _namespace(bed.api(), name, "pods")
    pin = f"rules.test/{name}"

    def node(item: tuple[str, Tree]) -> None:
        short, given = item
        api.create(
            "/api/v1/nodes",
            {
                "metadata": {"name": f"{name}-{short}", "labels": {**given.get("labels", {}), pin: short}},
                "spec": {"taints": given.get("taints", [])},
                "status": {"allocatable": given.get("allocatable", PLENTY), "capacity": PLENTY},
            },
        )

    _each(node, nodes.items())
    tried = own or [list(nodes)] * len(specs)
    asked = [(number, short) for number in range(len(specs)) for short in tried[number]]

    def pod(one: tuple[int, str]) -> bool:
        number, short = one
        spec = {"containers": [_container({})], **specs[number], "nodeSelector": {pin: short}}
        reply = api.request("POST", path, {"metadata": {"name": f"c{number}-{short}"}, "spec": spec})
        assert reply.status in (201, 422), reply.body
        return reply.status == 201

    accepted = dict(zip(asked, _each(pod, asked), strict=True))
    placed = _settled(api, path, sum(accepted.values()))
    return [
        sorted(short for short in tried[number] if placed.get(f"c{number}-{short}"))
        if all(accepted[(number, short)] for short in tried[number])
        else None
        for number in range(len(specs))
    ]


def _settled(api: Api, path: str, count: int) -> dict[str, bool]:
    """Whether each pod is bound, once the scheduler has said something of each."""
    known: dict[str, bool] = {}

    def is_settled() -> bool:
        for one in api.items(path):
            if one["spec"].get("nodeName") or one["status"].get("conditions"):
                known[one["metadata"]["name"]] = bool(one["spec"].get("nodeName"))
        return len(known) == count

    _until(is_settled, f"the scheduler has not judged all of {count} pods")
    return known


_SAMPLE = re.compile(r"^kube_pod_resource_(request|limit)\{(.*)\} (\S+)$", re.MULTILINE)


def _exported(bed: Bed, namespace: str) -> dict[str, Tree]:
    """Requests and limits by pod, out of the scheduler's own exposition."""
    request = urllib.request.Request(
        f"https://127.0.0.1:{bed.layout.ports['scheduler']}/metrics/resources",
        headers={"Authorization": f"Bearer {bed.token()}"},
    )
    # Its certificate is one that it made for itself.
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with urllib.request.urlopen(request, context=context, timeout=30) as reply:
        text = reply.read().decode()
    found: dict[str, Tree] = {}
    for word, inner, value in _SAMPLE.findall(text):
        labels = dict(re.findall(r'(\w+)="([^"]*)"', inner))
        if labels["namespace"] != f"rules-{namespace}":
            continue
        resource = labels["resource"]
        amount = round(float(value) * (1000 if resource == "cpu" else 1))
        found.setdefault(labels["pod"], {}).setdefault(f"{word}s", {})[resource] = amount
    return found


def main() -> None:
    """Ask everything again and write the answers into the files, one case a line."""
    with Bed({"scheduler"}, namespace=False, apiserver_flags=FLAGS) as bed:
        for name, play in PLAYS.items():
            asked = recorded(name)
            answers = play(bed, asked)
            for case, answer in zip(asked["cases"], answers, strict=True):
                case["answer"] = answer
            lines = ["# Answers of the real one, written by python -m tests.differential.rule_plays."]
            for key, value in asked.items():
                if key != "cases":
                    lines.append(f"{key}:")
                    items = value.items() if isinstance(value, dict) else ((None, one) for one in value)
                    lines += [
                        f"  {json.dumps(short)}: {json.dumps(one)}"
                        if short is not None
                        else f"  - {json.dumps(one)}"
                        for short, one in items
                    ]
            lines.append("cases:")
            lines += [f"  - {json.dumps(case, ensure_ascii=False)}" for case in asked["cases"]]
            (FOLDER / f"{name}.yaml").write_text("\n".join(lines) + "\n")
            print(f"{name}: {len(answers)} cases")


if __name__ == "__main__":
    main()
