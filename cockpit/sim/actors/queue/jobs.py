"""The two kinds of job that are queued: batch Job and MPIJob, as Kueue's integrations see them.

Facts: kueue v0.15 pkg/controller/jobs/job and jobs/mpijob, pkg/podset, pkg/controller/jobframework.
"""

import hashlib
from collections.abc import Mapping, Sequence

import msgspec

from cockpit.kube.resource import JOBS, MPIJOBS, Resource
from cockpit.sim.actors.queue.conditions import merge_difference
from cockpit.sim.port import Tree

WORKLOAD_ANNOTATION = "kueue.x-k8s.io/workload"
POD_SET_LABEL = "kueue.x-k8s.io/podset"
STOPPING = "kueue.x-k8s.io/stopping"
_MANAGED = ("job-name", "controller-uid", "batch.kubernetes.io/controller-uid")
_KEPT = (*_MANAGED, "batch.kubernetes.io/job-name")
_NAME_CHARACTERS = 247


class Injection(msgspec.Struct, frozen=True):
    """What the flavors of an admission add to the pods of one pod set."""

    name: str
    node_selector: Mapping[str, str]
    tolerations: tuple[Tree, ...]


class Conflict(Exception):
    """A pod template that says otherwise than what an admission adds to it, in Kueue's words."""


class JobKind(msgspec.Struct, frozen=True):
    """What the queue asks of one kind of job. `component` is the source of its events."""

    resource: Resource
    component: str
    hook: str

    def is_shaped(self, job: Tree) -> bool:
        """False where a part that suspends it is no object; what was sent is left to the schema then."""
        spec = job.get("spec")
        if not isinstance(spec, dict):
            return spec is None
        return self.resource is not MPIJOBS or isinstance(spec.get("runPolicy"), (dict, type(None)))

    def is_suspended(self, job: Tree) -> bool:
        """True when it makes no pods."""
        if self.resource is MPIJOBS:
            return bool(((job.get("spec") or {}).get("runPolicy") or {}).get("suspend"))
        stopping = (job["metadata"].get("annotations") or {}).get(STOPPING) == "true"
        return bool((job.get("spec") or {}).get("suspend")) and not stopping

    def suspension(self, suspend: bool) -> Tree:
        """The part of its spec that suspends it or lets it run."""
        return {"runPolicy": {"suspend": suspend}} if self.resource is MPIJOBS else {"suspend": suspend}

    def is_running(self, job: Tree) -> bool:
        """True while it has pods."""
        status = job.get("status") or {}
        if self.resource is MPIJOBS:
            return any(one.get("active") for one in (status.get("replicaStatuses") or {}).values())
        return bool(status.get("active"))

    def finished(self, job: Tree) -> tuple[str, bool] | None:
        """Its last sentence and whether it succeeded; None while it goes on."""
        good, bad = ("Succeeded", "Failed") if self.resource is MPIJOBS else ("Complete", "Failed")
        for one in (job.get("status") or {}).get("conditions") or ():
            if one.get("type") in (good, bad) and one.get("status") == "True":
                return one.get("message") or "", one["type"] == good
        return None

    def pods_ready(self, job: Tree) -> bool:
        """True when all its pods are ready or done."""
        status = job.get("status") or {}
        if self.resource is MPIJOBS:
            return any(
                one.get("type") == "Running" and one.get("status") == "True"
                for one in status.get("conditions") or ()
            )
        uncounted = len((status.get("uncountedTerminatedPods") or {}).get("succeeded") or ())
        done = (status.get("succeeded") or 0) + (status.get("ready") or 0) + uncounted
        return int(done) >= _batch_count(job["spec"])

    def reclaimable(self, job: Tree) -> list[Tree]:
        """Pods whose quota is not needed any more (batch Jobs that run in parallel)."""
        spec, status = job["spec"], job.get("status") or {}
        parallelism = int(spec.get("parallelism") or 1)
        succeeded = int(status.get("succeeded") or 0)
        if self.resource is MPIJOBS or parallelism == 1 or succeeded == 0:
            return []
        rest = int(spec.get("completions") or parallelism) - succeeded
        return [] if rest >= parallelism else [{"name": "main", "count": parallelism - rest}]

    def templates(self, job: Tree) -> list[tuple[str, int, Tree]]:
        """Name, count and pod template of every pod set."""
        spec = job["spec"]
        if self.resource is not MPIJOBS:
            return [("main", _batch_count(spec), spec.get("template") or {})]
        replicas = spec.get("mpiReplicaSpecs") or {}
        return [
            (role.lower(), int(replicas[role].get("replicas", 1)), replicas[role].get("template") or {})
            for role in ("Launcher", "Worker")
            if role in replicas
        ]

    def pod_sets(self, job: Tree) -> list[Tree]:
        """`spec.podSets` of its Workload."""
        return [
            {"name": name, "count": count, "template": _cleaned(template)}
            for name, count, template in self.templates(job)
        ]

    def priority_class(self, job: Tree) -> str:
        """The PriorityClass that counts when no WorkloadPriorityClass is named."""
        if self.resource is MPIJOBS:
            policy = (job["spec"].get("runPolicy") or {}).get("schedulingPolicy") or {}
            if policy.get("priorityClass"):
                return str(policy["priorityClass"])
        names = [(part[2].get("spec") or {}).get("priorityClassName") for part in self.templates(job)]
        return next((str(name) for name in names if name), "")

    def start_patch(self, job: Tree, workload: str, injections: Sequence[Injection]) -> Tree:
        """Let it run, with what its flavors ask of its pods. Raises Conflict where its templates say
        otherwise."""
        given = {one.name: one for one in injections}
        parts = {
            name: _injected(template, workload, given[name])
            for name, _, template in self.templates(job)
            if name in given
        }
        return {"spec": {**self.suspension(False), **self._template_patch(job, parts)}}

    def restore_patch(self, job: Tree, workload: Tree) -> Tree:
        """Its templates as they were when its Workload was made; {} when nothing differs."""
        parts = {
            part["name"]: _restored(template, part["template"])
            for part in workload["spec"]["podSets"]
            for name, _, template in self.templates(job)
            if name == part["name"]
        }
        return self._template_patch(job, parts)

    def _template_patch(self, job: Tree, parts: Mapping[str, Tree]) -> Tree:
        differences = {
            name: difference
            for name, _, template in self.templates(job)
            if name in parts and (difference := merge_difference(template, parts[name]))
        }
        if self.resource is not MPIJOBS:
            return {"template": differences["main"]} if differences else {}
        roles = {name.capitalize(): {"template": one} for name, one in differences.items()}
        return {"mpiReplicaSpecs": roles} if roles else {}


BATCH_JOB = JobKind(JOBS, "batch/job-kueue-controller", "job.kb.io")
MPI_JOB = JobKind(MPIJOBS, "kubeflow.org/mpijob-kueue-controller", "mpijob.kb.io")
KINDS = (BATCH_JOB, MPI_JOB)


def _batch_count(spec: Tree) -> int:
    parallelism = spec.get("parallelism")
    count = 1 if parallelism is None else int(parallelism)
    completions = spec.get("completions")
    return count if completions is None else min(count, int(completions))


def _cleaned(template: Tree) -> Tree:
    """A template without the labels that the job controller gives it."""
    metadata = dict(template.get("metadata") or {})
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key not in _MANAGED}
    metadata.pop("labels", None)
    if labels:
        metadata["labels"] = labels
    out: Tree = {key: value for key, value in template.items() if key != "metadata"}
    if metadata:
        out["metadata"] = metadata
    return out


def _injected(template: Tree, workload: str, info: Injection) -> Tree:
    metadata, spec = dict(template.get("metadata") or {}), dict(template.get("spec") or {})
    _merge(metadata, "annotations", {WORKLOAD_ANNOTATION: workload})
    _merge(metadata, "labels", {POD_SET_LABEL: info.name})
    if info.node_selector:
        _merge(spec, "nodeSelector", info.node_selector)
    held = list(spec.get("tolerations") or ())
    more = [one for one in info.tolerations if one not in held]
    if more:
        spec["tolerations"] = [*held, *more]
    return {**template, "metadata": metadata, "spec": spec}


def _merge(holder: Tree, part: str, more: Mapping[str, str]) -> None:
    """Kueue never overwrites what a template says (pkg/podset/podset.go Merge)."""
    held = holder.get(part) or {}
    for key, value in more.items():
        if key in held and held[key] != value:
            raise Conflict(
                f"invalid admission check PodSetUpdate: conflict for {part}:"
                f" conflict for key={key}, value1={held[key]}, value2={value}"
            )
    holder[part] = {**held, **more}


def _restored(template: Tree, before: Tree) -> Tree:
    metadata, spec = dict(template.get("metadata") or {}), dict(template.get("spec") or {})
    old_metadata, old_spec = before.get("metadata") or {}, before.get("spec") or {}
    kept = {key: value for key, value in (metadata.get("labels") or {}).items() if key in _KEPT}
    _replace(metadata, "annotations", old_metadata.get("annotations"))
    _replace(metadata, "labels", {**(old_metadata.get("labels") or {}), **kept})
    for key in ("nodeSelector", "tolerations", "schedulingGates"):
        _replace(spec, key, old_spec.get(key))
    return {**template, "metadata": metadata, "spec": spec}


def _replace(tree: Tree, key: str, value: object) -> None:
    if value:
        tree[key] = value
    else:
        tree.pop(key, None)


def workload_name(resource: Resource, name: str, uid: str) -> str:
    """`job-NAME-HASH5`: the first characters of a SHA-1 over kind, group, name and uid."""
    text = "\n".join((resource.kind, resource.group, name, uid))
    digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    return f"{f'{resource.kind.lower()}-{name}'[:_NAME_CHARACTERS]}-{digest[:5]}"
