"""The MPIJob controller (component `mpi-job-controller`).

Not modelled: Volcano PodGroups (the real operator's business on a real control plane).
"""

from base64 import b64encode
from collections.abc import Iterable
from random import Random
from typing import Any

from cockpit.k8s.quantity import Quantity, quantity
from cockpit.kube.resource import JOBS, MPIJOBS, PODS, SERVICES, Resource
from cockpit.sim.actors.controllers.children import Children
from cockpit.sim.actors.controllers.controller import Controller
from cockpit.sim.actors.controllers.job.round import is_finished as is_job_finished
from cockpit.sim.actors.controllers.mpijob import objects
from cockpit.sim.actors.controllers.mpijob.spec import MANAGER, MpiSpec, read_spec, validation_message
from cockpit.sim.actors.controllers.mpijob.status import MpiStatus, is_finished, shortened
from cockpit.sim.actors.controllers.trees import (
    controller_of,
    controller_reference,
    is_deleting,
    is_ready,
    key_of,
    phase_of,
    uid_of,
)
from cockpit.sim.engine import Key
from cockpit.sim.port import ObjectChange, PortError, Tree
from cockpit.sim.resources import CONFIG_MAPS, POD_GROUPS, SECRETS

_ORDER_BITS = 520
"""Below the order of the curve's group, which has 521 bits."""


def ssh_key_data(random: Random) -> dict[str, str]:
    """`ssh-privatekey` (PEM) and `ssh-publickey` (authorized_keys line), base64, as in a Secret.

    These keys are for a simulated cluster: they come from a seed and keep no secret.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.derive_private_key(random.getrandbits(_ORDER_BITS) + 1, ec.SECP521R1())
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return {
        "ssh-privatekey": b64encode(private).decode(),
        "ssh-publickey": b64encode(public + b"\n").decode(),
    }


_OVERRIDDEN = "Restart policy in pod template overridden by restart policy in replica spec"


class MpiJobs(Controller):
    """Makes the parts of an MPIJob, starts and stops them, and tells how it stands.

    `gang_scheduler` is the operator's start flag `--gang-scheduling`: the name of a scheduler with the
    coscheduling plugin, for which each job gets a PodGroup; "" for none.
    """

    name = "mpi-job-controller"

    def __init__(self, gang_scheduler: str = "") -> None:
        super().__init__()
        self._gang_scheduler = gang_scheduler
        self._workers = Children(("MPIJob",))
        self._launcher_pods = Children(("Job",))
        self.watches: tuple[Resource, ...] = (MPIJOBS, JOBS, PODS, SERVICES, CONFIG_MAPS, SECRETS)
        if gang_scheduler:
            self.watches = (*self.watches, POD_GROUPS)

    def wake(self, change: ObjectChange, before: Tree | None) -> Iterable[Key]:
        if change.resource == MPIJOBS:
            yield key_of(change.tree)
            return
        if change.resource == PODS:
            self._workers.take(change)
            self._launcher_pods.take(change)
        owner = controller_of(change.tree)
        namespace = change.tree["metadata"].get("namespace", "")
        if owner is not None and owner["kind"] == "Job" and change.resource == PODS:
            launcher = self.engine.cache(JOBS).get(namespace, owner["name"])
            owner = controller_of(launcher) if launcher is not None else None
        if owner is not None and owner["kind"] == "MPIJob":
            yield (namespace, owner["name"])

    async def reconcile(self, key: Key) -> None:
        job = self.engine.cache(MPIJOBS).get(*key)
        if job is None or is_deleting(job):
            return
        spec = read_spec(job)
        if spec.manager != MANAGER:
            return
        wrong = validation_message(job, spec)
        if wrong:
            await self.warning(job, "ValidationError", shortened(wrong))
            return
        status = MpiStatus(job, self.engine.now())
        status.begin(spec)
        if is_finished(job) and job["status"].get("completionTime"):
            if spec.clean_policy in ("All", "Running"):
                await self._clean_up(job, spec)
                status.clear_workers()
                await self.write_status(MPIJOBS, job, status.tree)
            return
        status.start(spec)
        launcher, workers = await self._make(job, spec)
        if launcher is not None:
            await self._align(launcher, spec)
        if spec.is_suspended:
            await self._clean_up(job, spec)
        pods = [] if launcher is None else self._launcher_pods.of(launcher)
        status.look(spec, launcher, pods, workers)
        for is_warning, reason, message in status.told:
            await (self.warning if is_warning else self.normal)(job, reason, message)
        await self.write_status(MPIJOBS, job, status.tree)

    async def _make(self, job: Tree, spec: MpiSpec) -> tuple[Tree | None, list[Tree]]:
        """Everything that is wanted and not there; answers launcher and workers."""
        namespace, name = key_of(job)
        launcher = await self._held(job, JOBS, f"{name}-launcher")
        if launcher is not None and is_job_finished(launcher):
            return launcher, []
        await self._ensure(job, SERVICES, objects.service(job), ("spec", "selector"))
        running = [pod for pod in self._worker_pods(job) if phase_of(pod) == "Running"]
        await self._ensure(job, CONFIG_MAPS, objects.config_map(job, spec, running), ("data",))
        if await self._held(job, SECRETS, f"{name}-ssh") is None:
            keys = ssh_key_data(self.engine.random)
            await self.engine.port.create(SECRETS, objects.secret(job, keys), namespace)
        workers: list[Tree] = []
        if not spec.is_suspended:
            if self._gang_scheduler:
                await self._ensure(job, POD_GROUPS, pod_group(job, spec), ("spec",))
            workers = await self._make_workers(job, spec)
        if launcher is None and (not spec.waits_for_workers or all(map(is_ready, workers))):
            launcher = await self._make_launcher(job, spec)
        return launcher, workers

    def _worker_pods(self, job: Tree) -> list[Tree]:
        return [
            pod
            for pod in self._workers.of(job)
            if (pod["metadata"].get("labels") or {}).get(objects.ROLE_LABEL) == "worker"
        ]

    async def _make_workers(self, job: Tree, spec: MpiSpec) -> list[Tree]:
        """The workers, one by one; those beyond the wanted number go."""
        namespace = job["metadata"]["namespace"]
        held = self._worker_pods(job)
        if len(held) > spec.workers:
            for pod in held:
                index = pod["metadata"]["labels"].get(objects.INDEX_LABEL, "")
                if index.isdigit() and int(index) >= spec.workers:
                    await self._delete(pod)
        known = {pod["metadata"]["name"]: pod for pod in held}
        workers: list[Tree] = []
        for index in range(spec.workers):
            name = objects.worker_name(job, index)
            found = known.get(name)
            if found is None:
                found = await self._held(job, PODS, name)
            if found is None:
                pod = objects.worker_pod(job, spec, index, self._gang_scheduler)
                try:
                    found = await self.engine.port.create(PODS, pod, namespace)
                except PortError as error:
                    message = f"worker pod created failed: {error.message}"
                    await self.warning(job, "MPIJobFailed", shortened(message))
                    raise
                self._workers.put(found)
            workers.append(found)
        return workers

    async def _make_launcher(self, job: Tree, spec: MpiSpec) -> Tree:
        template = spec.launcher["template"] if spec.launcher is not None else {}
        if template.get("spec", {}).get("restartPolicy"):
            await self.warning(job, "SetPodTemplateRestartPolicy", _OVERRIDDEN)
        launcher = objects.launcher_job(job, spec, self._gang_scheduler)
        try:
            return await self.engine.port.create(JOBS, launcher, job["metadata"]["namespace"])
        except PortError as error:
            await self.warning(
                job, "MPIJobFailed", shortened(f"launcher pod created failed: {error.message}")
            )
            raise

    async def _align(self, launcher: Tree, spec: MpiSpec) -> None:
        """The launcher is suspended when the job is."""
        if bool(launcher["spec"].get("suspend")) != spec.is_suspended:
            namespace, name = key_of(launcher)
            patch = {"metadata": {"uid": uid_of(launcher)}, "spec": {"suspend": spec.is_suspended}}
            await self.engine.port.patch(JOBS, namespace, name, patch)

    async def _clean_up(self, job: Tree, spec: MpiSpec) -> None:
        """Workers go; under `Running` those that have ended stay, for whoever wants their logs."""
        wanted = {objects.worker_name(job, index) for index in range(spec.workers)}
        for pod in self._worker_pods(job):
            is_kept = spec.clean_policy == "Running" and phase_of(pod) not in ("Running", "Pending")
            if pod["metadata"]["name"] in wanted and not is_kept:
                await self._delete(pod)
        if self._gang_scheduler:
            namespace, name = key_of(job)
            group = self.engine.cache(POD_GROUPS).get(namespace, name)
            if group is not None and not is_deleting(group):
                await self.engine.port.delete(POD_GROUPS, namespace, name, uid=uid_of(group))

    async def _delete(self, pod: Tree) -> None:
        if is_deleting(pod):
            return
        namespace, name = key_of(pod)
        try:
            await self.engine.port.delete(PODS, namespace, name, uid=uid_of(pod))
        except PortError as error:
            if not error.is_gone and not error.is_conflict:
                raise

    async def _ensure(self, job: Tree, resource: Resource, wanted: Tree, path: tuple[str, ...]) -> None:
        """Create a child, or bring one part of it (`path`) to what is wanted."""
        namespace, name = key_of(wanted)
        held = await self._held(job, resource, name)
        if held is None:
            await self.engine.port.create(resource, wanted, namespace)
            return
        have, want = held, wanted
        for part in path:
            have, want = have.get(part) or {}, want[part]
        if have == want:
            return
        patch: Tree = dict.fromkeys((part for part in have if part not in want), None) | want
        for part in reversed(path):
            patch = {part: patch}
        await self.engine.port.patch(resource, namespace, name, patch)

    async def _held(self, job: Tree, resource: Resource, name: str) -> Tree | None:
        """A child by its name. Raises PortError when the name belongs to something else."""
        held = self.engine.cache(resource).get(job["metadata"]["namespace"], name)
        if held is None:
            return None
        owner = controller_of(held)
        if owner is None or owner["uid"] != uid_of(job):
            message = (
                f'Resource "{name}" of Kind "{resource.kind}" already exists and is not managed by MPIJob'
            )
            await self.warning(job, "ErrResourceExists", message)
            raise PortError(409, "AlreadyExists", message)
        return held


def pod_group(job: Tree, spec: MpiSpec) -> Tree:
    """All workers and the launcher, unless the scheduling policy says otherwise."""
    policy: dict[str, Any] = spec.run_policy.get("schedulingPolicy") or {}
    members = int(policy.get("minAvailable", spec.workers + 1))
    group: Tree = {"minMember": members, "scheduleTimeoutSeconds": policy.get("scheduleTimeoutSeconds", 0)}
    resources = policy.get("minResources") or _resources(spec, members)
    if resources:
        group["minResources"] = resources
    return {
        "apiVersion": POD_GROUPS.api_version,
        "kind": POD_GROUPS.kind,
        "metadata": {
            "name": job["metadata"]["name"],
            "namespace": job["metadata"]["namespace"],
            "ownerReferences": [controller_reference(job)],
        },
        "spec": group,
    }


def _resources(spec: MpiSpec, members: int) -> dict[str, str]:
    """What launcher and as many workers as are needed ask for; requests before limits."""
    total: dict[str, Quantity] = {}
    workers = min(spec.workers, max(0, members - 1)) if members else 0
    for replicas, count in ((spec.launcher, 1 if members else 0), (spec.worker, workers)):
        if replicas is None or not count:
            continue
        for container in replicas["template"]["spec"]["containers"]:
            held: dict[str, Any] = container.get("resources") or {}
            asked = {**(held.get("limits") or {}), **(held.get("requests") or {})}
            for name, text in asked.items():
                one = quantity(text)
                total[name] = total.get(name, Quantity()) + Quantity(one.amount * count, one.form)
    return {name: str(amount) for name, amount in sorted(total.items())}
