"""The operators that act on objects and pods of others: which of them is not up.

Sources (names of Deployments): mpi-operator and training-operator manifests, kubeflow trainer, jobset, lws,
KubeRay, spark-operator, argo-workflows, appwrapper.
"""

from collections.abc import Iterable
from itertools import chain
from weakref import WeakKeyDictionary

import msgspec

from cockpit.catalogue.cause import Cause
from cockpit.gangs import registry
from cockpit.gangs.draft import draft
from cockpit.model.finding import Finding
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.triage import starting
from cockpit.triage.context import Context
from cockpit.triage.judgement import is_up

_BY_GROUP = {
    "kubeflow.org": ("training-operator", "mpi-operator"),
    "trainer.kubeflow.org": ("kubeflow-trainer", "trainer-controller"),
    "jobset.x-k8s.io": ("jobset-controller",),
    "leaderworkerset.x-k8s.io": ("lws-controller",),
    "ray.io": ("kuberay-operator",),
    "sparkoperator.k8s.io": ("spark-operator",),
    "argoproj.io": ("workflow-controller",),
    "workload.codeflare.dev": ("appwrapper-controller",),
}
"""Parts of the names of the pods that act on the kinds of an API group."""
_RUNS = ("", "ReplicaSet", "StatefulSet", "DaemonSet", "Node")
"""What owns the pods of an operator: a pod of a job that is called alike is none."""


def of_kind(api_version: str, kind: str) -> tuple[str, ...]:
    """What the pods of the operator of a kind are called, () unknown."""
    own = registry.own_job(api_version, kind)
    return _BY_GROUP.get(api_version.partition("/")[0], ()) if own is None else own.operators


def known() -> set[str]:
    """What the pods of every operator and engine are called."""
    names = set(chain.from_iterable(_BY_GROUP.values()))
    for engine in registry.engines():
        names.update(engine.controller.pods, () if engine.own_job is None else engine.own_job.operators)
    return names


def not_up(names: Iterable[str], context: Context) -> Finding | None:
    """Why the operator of these names acts on nothing: the pod of it that tells most. None where one of its
    pods is up, or none is known."""
    wanted, store = tuple(names), context.store
    last = _LAST.get(store)
    if last is None or last[0] != store.revision:
        last = _LAST[store] = (store.revision, {})
    if wanted not in last[1]:
        last[1][wanted] = _looked_at(wanted, context)
    return last[1][wanted]


_LAST: WeakKeyDictionary[StoreReader, tuple[int, dict[tuple[str, ...], Finding | None]]] = WeakKeyDictionary()
"""Of each store, at its last revision: all jobs that wait for an operator ask between two changes."""


def _looked_at(wanted: tuple[str, ...], context: Context) -> Finding | None:
    pods: list[Pod] = [
        pod
        for pod in context.store.records(Kind.POD).values()
        if any(name in pod.name for name in wanted)
        and pod.owner_kind in _RUNS
        and not (pod.is_finished or pod.asks_for_gpus)
    ]
    if not pods or any(is_up(pod) for pod in pods):
        return None
    pod = min(pods, key=lambda pod: (not pod.waiting_reason, not pod.node, pod.key))
    why = starting.not_running(pod, context) if pod.node else None
    sentence = "has no node" if not pod.node else "is not ready" if why is None else why.sentence
    name = next(name for name in wanted if name in pod.name)
    made = draft(
        Cause.OPERATOR_DOWN,
        "its operator {operator}: {why}",
        names={"operator": f"{pod.namespace}/{name}", "why": sentence},
        evidence=() if why is None else why.evidence,
        facts=(("pod", pod.key),),
    )
    return made if why is None else msgspec.structs.replace(made, also=(why.cause,) if why.cause else ())
