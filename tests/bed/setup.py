"""What is put into a new cluster between one wave of parts and the next."""

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.bed import engines, karpenter, kueue_objects, machine_objects, people, telemetry
from tests.bed.api import Api, ApiError, Tree
from tests.bed.cache import BedError
from tests.bed.layout import Layout
from tests.bed.manifests import document

_PATIENCE_SECONDS = 60.0
_PAUSE_SECONDS = 0.1


def _api(layout: Layout) -> Api:
    tokens: dict[str, str] = json.loads((layout.run_dir / "tokens.json").read_text())
    return Api(layout.server, tokens["controllers"], layout.ca_file)


def apply_all(api: Api, trees: Sequence[Tree], *, workers: int = 4, fresh: bool = False) -> None:
    """Applies all at once; each is tried again while the server says that it is not ready for it.

    `fresh` creates instead: much cheaper for a CRD than a server-side apply. What is there already stays.
    """

    def one(tree: Tree) -> None:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                if fresh:
                    api.create(api.path_of(tree).rpartition("/")[0], tree)
                else:
                    api.apply(tree)
                return
            except ApiError as error:
                if fresh and error.status == 409:
                    return
                # 404: a CRD whose resource is not served yet; 5xx: a webhook that is still starting.
                if error.status not in (404, 409, 500, 503) or time.monotonic() > deadline:
                    name = f"{tree['kind']} {tree['metadata']['name']}"
                    raise BedError(f"{name} cannot be applied: {error.message}") from error
                time.sleep(_PAUSE_SECONDS)

    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(one, trees):
            pass


def wait_established(api: Api, names: Sequence[str]) -> None:
    """Until every named CRD is served. Raises BedError."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    waiting = set(names)
    while waiting:
        for tree in api.items("/apis/apiextensions.k8s.io/v1/customresourcedefinitions"):
            conditions = tree.get("status", {}).get("conditions") or []
            if any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
                waiting.discard(tree["metadata"]["name"])
        if waiting and time.monotonic() > deadline:
            raise BedError(f"CRDs not established: {', '.join(sorted(waiting))}")
        if waiting:
            time.sleep(_PAUSE_SECONDS)


def _base(layout: Layout) -> None:
    """Namespaces and rights, then the CRDs: controllers must find them when they start."""
    api = _api(layout)
    spaces = [*people.NAMESPACES]
    for part, name in (("kueue", "kueue-system"), ("mpi", "mpi-operator"), ("jobset", "jobset-system")):
        if part in layout.parts:
            spaces.append(name)
    apply_all(
        api,
        [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in spaces],
        fresh=True,
    )
    definitions: list[Tree] = []
    if "kueue" in layout.parts:
        definitions += kueue_objects.definitions(layout)
    if "mpi" in layout.parts:
        file = Path(layout.manifests["mpi-operator"]) / "manifests" / "base" / "kubeflow.org_mpijobs.yaml"
        definitions.append(document(file))
    if "machines" in layout.parts:
        definitions.append(machine_objects.definition())
    definitions += engines.definitions(layout)
    if "karpenter" in layout.parts:
        definitions += karpenter.definitions(layout)
    apply_all(api, [*people.objects(), *definitions], fresh=True)
    wait_established(api, [tree["metadata"]["name"] for tree in definitions])
    if "karpenter" in layout.parts:
        apply_all(api, karpenter.late_gpus(), fresh=True)


def _kueue(layout: Layout) -> None:
    api = _api(layout)
    apply_all(api, [*kueue_objects.visibility(), *kueue_objects.webhooks(layout)], fresh=True)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    path = "/apis/apiregistration.k8s.io/v1/apiservices/v1beta2.visibility.kueue.x-k8s.io"
    while True:
        conditions = api.get(path).get("status", {}).get("conditions") or []
        if any(one["type"] == "Available" and one["status"] == "True" for one in conditions):
            return
        if time.monotonic() > deadline:
            said = "; ".join(one.get("message", "") for one in conditions)
            raise BedError(f"Kueue's visibility API is not available: {said}")
        time.sleep(_PAUSE_SECONDS)


def _prometheus(layout: Layout) -> None:
    """The Service, and until the API server carries a request through it."""
    api = _api(layout)
    apply_all(api, telemetry.service_objects(layout), workers=1, fresh=True)
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        reply = api.request("GET", f"{telemetry.PROXY_PATH}/-/ready")
        if reply.status == 200:
            return
        if time.monotonic() > deadline:
            raise BedError(f"the service proxy does not reach Prometheus: {reply.body.decode()[:200]}")
        time.sleep(_PAUSE_SECONDS)


def steps_after(wave: Sequence[str], layout: Layout) -> list[Callable[[], None]]:
    """The set-up steps that are due when the parts of `wave` are ready."""
    steps: list[Callable[[], None]] = []
    if "apiserver" in wave:
        steps.append(lambda: _base(layout))
    if "kueue" in wave:
        steps.append(lambda: _kueue(layout))
    if "jobset" in wave:
        steps.append(lambda: apply_all(_api(layout), engines.jobset_webhooks(layout), fresh=True))
    if "prometheus" in wave:
        steps.append(lambda: _prometheus(layout))
    return steps
