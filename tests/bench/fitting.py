"""How long the fit takes on the measured cluster: `python -m tests.bench.fitting`, and a table of the bench.

Records come from the same trees as everywhere in the bench, through the cockpit's own decoders; the best of a
few rounds is told, beside the machine's yardstick of that moment.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence

from cockpit.fit.gang import FitAnswer, fit
from cockpit.fit.shape import Part, shape_of
from cockpit.kube.decode.decoders import NODE, POD
from cockpit.model.batch import Batch
from cockpit.model.record import Kind
from cockpit.store.store import Store
from tests.bench import load
from tests.bench.measure import yardstick_seconds
from tests.bench.report import aligned

WANTED_SECONDS = 0.050
"""For a gang of 64 on 2,500 nodes that fits."""
MEMBERS = 64
ROUNDS = 5

Tree = dict[str, object]


def measured_store(pods: int, nodes: int, seed: int) -> Store:
    """The bench's cluster as the cockpit holds it."""
    store = Store()
    made: list[Tree] = []
    for number in range(nodes):
        tree = load.node_tree(number)
        tree["metadata"]["uid"] = f"node-{number}"
        made.append(tree)
    records = [NODE.from_json(json.dumps(one).encode()) for one in made]
    store.apply(Batch(kind=Kind.NODE, changed=tuple(one for one in records if one is not None)))
    count = 0
    for job in load.training_jobs(pods, seed, nodes):
        batch = []
        for rank in range(job.workers):
            tree = load.pod_tree(job, rank, "owner", nodes)
            tree["metadata"]["uid"] = f"pod-{count}"
            tree["status"] = {"phase": job.phase}
            count += 1
            batch.append(POD.from_json(json.dumps(tree).encode()))
        store.apply(Batch(kind=Kind.POD, changed=tuple(one for one in batch if one is not None)))
    return store


def _gang(gpus: int, **spec: object) -> list[Part]:
    limits = {"nvidia.com/gpu": str(gpus)}  # of CPU and memory the load asks for more than there is
    container = {"name": "worker", "resources": {"limits": limits}}
    tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    body = {"containers": [container], "tolerations": tolerations, **spec}
    template = {"metadata": {"labels": {"app": "planned"}}, "spec": body}
    return [Part("worker", MEMBERS, shape_of(template, "team-vision"))]


def gangs() -> dict[str, list[Part]]:
    """What is measured, by name; the first is the goal's."""
    own = {"labelSelector": {"matchLabels": {"app": "planned"}}}
    host, rack = "kubernetes.io/hostname", "topology.kubernetes.io/rack"
    spread = [{**own, "topologyKey": rack, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    apart = {"podAntiAffinity": {required: [{**own, "topologyKey": host}]}}
    return {
        f"{MEMBERS} pods that fit": _gang(1),
        "with a node selector": _gang(1, nodeSelector={"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}),
        "each on a node of its own": _gang(1, affinity=apart),
        "spread over racks": _gang(1, topologySpreadConstraints=spread),
        "that miss, with what would help": _gang(16),
    }


def _best(store: Store, gang: list[Part]) -> tuple[float, FitAnswer]:
    best, answer = 0.0, fit(store, gang)
    for number in range(ROUNDS):
        started = time.perf_counter()
        answer = fit(store, gang)
        took = time.perf_counter() - started
        best = took if not number else min(best, took)
    return best, answer


def table(pods: int, nodes: int, seed: int) -> list[str]:
    """One line for each gang."""
    store = measured_store(pods, nodes, seed)
    rows = [("fit", "best ms", "yardstick s", "answer", "wanted")]
    for number, (name, gang) in enumerate(gangs().items()):
        best, answer = _best(store, gang)
        goal = (
            ""
            if number
            else f"{WANTED_SECONDS * 1000:.0f} ms: {'met' if best <= WANTED_SECONDS else 'missed'}"
        )
        said = "fits" if answer.fits else f"misses {answer.missing}"
        rows.append((name, f"{best * 1000:.1f}", f"{yardstick_seconds():.3f}", said, goal))
    return aligned(rows)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.fitting", description="How long the fit takes."
    )
    parser.add_argument("--pods", type=int, default=50_000)
    parser.add_argument("--nodes", type=int, default=2_500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    for line in table(options.pods, options.nodes, options.seed):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
