"""Writes down what a real Kueue and mpi-operator make of the situations:

    python -m tests.bed exec --parts kueue,mpi --nodes 8 --engines older -- \\
        python -m tests.unit.gangs.kueue.record

One file for each situation in `recorded/GENERATION`: the objects as the API gave them, without managedFields.
`newer-defaults` was made by the newer Kueue without the feature gates that the bed sets.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tests.bed.api import Api, Tree
from tests.bed.bed import ENVIRONMENT_NAME, Bed
from tests.unit.gangs.kueue.situations import SITUATIONS
from tests.unit.gangs.kueue.stage import KUEUE, NotTold, Stage

RECORDED = Path(__file__).parent / "recorded"
PODS_KEPT = 12
"""A quarrel of controllers makes hundreds: the newest are kept."""
_IN_NAMESPACE = {
    "workloads": f"/apis/{KUEUE}/namespaces/{{}}/workloads",
    "localqueues": f"/apis/{KUEUE}/namespaces/{{}}/localqueues",
    "jobs": "/apis/batch/v1/namespaces/{}/jobs",
    "mpijobs": "/apis/kubeflow.org/v2beta1/namespaces/{}/mpijobs",
    "pods": "/api/v1/namespaces/{}/pods",
    "events": "/api/v1/namespaces/{}/events",
}
_OF_CLUSTER = {
    "clusterqueues": f"/apis/{KUEUE}/clusterqueues",
    "nodes": "/api/v1/nodes",
}


def _objects(api: Api, space: str) -> dict[str, list[Tree]]:
    found = {name: list(api.items(path.format(space))) for name, path in _IN_NAMESPACE.items()}
    for name, path in _OF_CLUSTER.items():
        found[name] = [one for one in api.items(path) if one["metadata"]["name"].startswith(space)]
    counted = len(found["pods"])
    found["pods"] = sorted(found["pods"], key=lambda one: str(one["metadata"]["creationTimestamp"]))[
        -PODS_KEPT:
    ]
    if counted > PODS_KEPT:
        print(f"{space}: {counted} pods, the newest {PODS_KEPT} kept", flush=True)
    for trees in found.values():
        for tree in trees:
            tree["metadata"].pop("managedFields", None)
    return {name: trees for name, trees in found.items() if trees}


def page(objects: Mapping[str, list[Tree]]) -> str:
    """JSON with an object a line."""
    kinds = [
        f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(tree, sort_keys=True) for tree in trees) + "\n]"
        for name, trees in sorted(objects.items())
    ]
    return "{\n" + ",\n".join(kinds) + "\n}\n"


def _play(api: Api, folder: Path, name: str) -> str:
    stage = Stage(api, name)
    try:
        SITUATIONS[name](stage)
    except NotTold as error:
        return str(error)
    finally:
        (folder / f"{name}.json").write_text(page(_objects(api, stage.space)))
    return ""


def main(names: Sequence[str]) -> int:
    """Plays the named situations, or all; 1 where a controller did not say what was waited for."""
    bed = Bed.attach(Path(os.environ[ENVIRONMENT_NAME]))
    folder = RECORDED / bed.generation
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(4) as pool:
        said = list(pool.map(partial(_play, bed.api(), folder), names or SITUATIONS))
    for sentence in filter(None, said):
        print(sentence, flush=True)
    return 1 if any(said) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
