"""What acts on the objects of jobs and is not as it should be: a part that a JobSet or TrainJob has yet to
make, an operator that is not up.

The fields of a job that is made of jobs, not the rows, tell of parts that are not there yet. One that asks
for no GPUs itself is read on demand. Sources (names of Deployments): mpi-operator and training-operator
manifests, kubeflow trainer, jobset, lws, KubeRay, spark-operator, argo-workflows, appwrapper.
"""

from collections.abc import Collection, Iterable
from itertools import chain
from weakref import WeakKeyDictionary

from cockpit.catalogue import TextPlace, understand
from cockpit.catalogue.cause import Cause
from cockpit.gangs import registry
from cockpit.gangs.draft import draft, tell
from cockpit.model.finding import Evidence, Finding
from cockpit.model.job import Job, JobObject, JobPart
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.sanitise import clean
from cockpit.triage import starting
from cockpit.triage.context import Context, tree_in, trees_in
from cockpit.triage.judgement import is_up
from cockpit.triage.on_demand import COMPOSED


def refused(namespace: str, name: str, context: Context) -> Finding | None:
    """Why controllers refuse the objects of that name, None where they were not read."""
    for kind, tree in ((kind, context.tree(kind, namespace, name)) for _, kind in COMPOSED):
        for one in trees_in(tree_in((tree or {}).get("status")).get("conditions")):
            if one.get("type") != "Failed" or one.get("status") != "True":
                continue
            reason, told = _text(one.get("reason")), _text(one.get("message"))
            said = Evidence(f"{kind} {namespace}/{name}", "condition Failed", f"{reason}: {told}")
            known = understand(TextPlace.CREATE, f"{reason}: {told}")
            if known is not None:
                return draft(known.cause, known.wording.words, dict(known.names), said)
            if reason == "TrainingRuntimeNotSupported":
                named = tree_in(tree_in((tree or {}).get("spec")).get("runtimeRef")).get("name")
                runtime = _text(named) or "?"
                return tell(Cause.RUNTIME_MISSING, {"runtime": runtime, "why": told}, said)
    return None


def waits(job: Job, store: StoreReader) -> Finding | None:
    """A part of the job, or of what was made of it, that comes once another part is ready or complete, which
    it is not."""
    whole: JobObject | None = store.get(Kind.OTHER_JOB, job.uid)
    if job.kind == "TrainJob":
        records: Collection[JobObject] = store.records(Kind.OTHER_JOB).values()
        whole = next((one for one in records if one.owner is not None and one.owner.uid == job.uid), None)
    if whole is None:
        return None
    parts = {part.name: part for part in whole.parts}
    for part in whole.parts:
        for first, is_ready in () if part.is_made else part.after:
            before = parts.get(first, JobPart(first, 1))
            done = before.succeeded + (before.ready if is_ready else 0)
            if done >= before.wanted:
                continue
            where = Evidence(f"{whole.kind} {whole.key}", "replicatedJobsStatus", f"{first}: {done}")
            names = {"part": part.name, "first": first, "done": done, "wanted": before.wanted}
            says = "ready" if is_ready else "complete"
            return tell(Cause.WAITS_FOR_DEPENDENCY, names, where, says=says)
    return None


def _text(value: object) -> str:
    """Of an object that nobody decoded: safe for a terminal."""
    return clean(value) if isinstance(value, str) else ""


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
    operator = f"{pod.namespace}/{next(name for name in wanted if name in pod.name)}"
    evidence, also = ((), ()) if why is None else (why.evidence, (why.cause,) if why.cause else ())
    names, facts = {"operator": operator, "why": sentence}, (("pod", pod.key),)
    return tell(Cause.OPERATOR_DOWN, names, *evidence, facts=facts, also=also)
