"""An MPIJob's spec with the operator's defaults, and what the operator finds wrong with it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cockpit.sim.port import Tree

MANAGER = "kubeflow.org/mpi-operator"
_IMPLEMENTATIONS = ("Intel", "MPICH", "OpenMPI")
_CLEAN_POLICIES = ("All", "None", "Running")
_RESTART_POLICIES = ("Never", "OnFailure")
_MANAGERS = (MANAGER, "kueue.x-k8s.io/multikueue")
_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_NOT_A_LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
    "validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)


@dataclass(frozen=True, slots=True)
class MpiSpec:
    """What an MPIJob asks for. `launcher` and `worker` are replica specs, None where there is none."""

    slots: int
    implementation: str
    ssh_mount_path: str
    waits_for_workers: bool
    launcher_is_worker: bool
    is_suspended: bool
    clean_policy: str
    manager: str
    run_policy: Tree
    launcher: Tree | None
    worker: Tree | None

    @property
    def workers(self) -> int:
        """How many worker pods are wanted."""
        return 0 if self.worker is None else int(self.worker["replicas"])


def read_spec(job: Tree) -> MpiSpec:
    """Read `spec` (defaults: pkg/apis/kubeflow/v2beta1/default.go)."""
    spec: dict[str, Any] = job.get("spec") or {}
    policy: Tree = spec.get("runPolicy") or {}
    replicas: Tree = spec.get("mpiReplicaSpecs") or {}
    return MpiSpec(
        slots=int(spec.get("slotsPerWorker", 1)),
        implementation=spec.get("mpiImplementation") or "OpenMPI",
        ssh_mount_path=spec.get("sshAuthMountPath") or "/root/.ssh",
        waits_for_workers=(spec.get("launcherCreationPolicy") or "AtStartup") != "AtStartup",
        launcher_is_worker=bool(spec.get("runLauncherAsWorker")),
        is_suspended=bool(policy.get("suspend")),
        clean_policy=policy.get("cleanPodPolicy") or "None",
        manager=policy.get("managedBy") or MANAGER,
        run_policy=policy,
        launcher=_replicas(replicas.get("Launcher"), 1, "OnFailure"),
        worker=_replicas(replicas.get("Worker"), 0, "Never"),
    )


def _replicas(spec: Tree | None, count: int, restart: str) -> Tree | None:
    if spec is None:
        return None
    return {
        **spec,
        "replicas": spec.get("replicas", count),
        "restartPolicy": spec.get("restartPolicy") or restart,
        "template": spec.get("template") or {},
    }


def validation_message(job: Tree, spec: MpiSpec) -> str:
    """`Found validation errors: ...` as the event says it, "" when all is well."""
    found = [*_name_errors(job, spec), *_spec_errors(job, spec)]
    if not found:
        return ""
    return f"Found validation errors: {found[0] if len(found) == 1 else '[' + ', '.join(found) + ']'}"


def _name_errors(job: Tree, spec: MpiSpec) -> Iterator[str]:
    name = job["metadata"]["name"]
    host = f"{name}-worker-{max(spec.workers, 1) - 1}"
    problems = []
    if len(host) > 63:
        problems.append("must be no more than 63 characters")
    if not _LABEL.fullmatch(host):
        problems.append(_NOT_A_LABEL)
    if problems:
        yield (
            f'metadata.name: Invalid value: "{name}": will not able to create pod and service with invalid '
            f'DNS label "{host}": {", ".join(problems)}'
        )


def _spec_errors(job: Tree, spec: MpiSpec) -> Iterator[str]:
    if (job.get("spec") or {}).get("mpiReplicaSpecs") is None:
        yield "spec.mpiReplicaSpecs: Required value: must have replica specs"
    else:
        path = "spec.mpiReplicaSpecs[Launcher]"
        if spec.launcher is None:
            yield f"{path}: Required value: must have Launcher replica spec"
        else:
            yield from _replica_errors(spec.launcher, path)
            if spec.launcher["replicas"] != 1:
                yield f"{path}.replicas: Invalid value: {spec.launcher['replicas']}: must be 1"
        if spec.worker is not None:
            path = "spec.mpiReplicaSpecs[Worker]"
            yield from _replica_errors(spec.worker, path)
            if spec.workers <= 0:
                yield f"{path}.replicas: Invalid value: {spec.workers}: must be greater than or equal to 1"
    yield from _not_negative("spec.slotsPerWorker", spec.slots)
    yield from _one_of("spec.runPolicy.cleanPodPolicy", spec.clean_policy, _CLEAN_POLICIES)
    for name in ("ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit"):
        yield from _not_negative(f"spec.runPolicy.{name}", spec.run_policy.get(name, 0))
    yield from _one_of("spec.runPolicy.managedBy", spec.manager, _MANAGERS)
    yield from _one_of("spec.mpiImplementation", spec.implementation, _IMPLEMENTATIONS)


def _replica_errors(replicas: Tree, path: str) -> Iterator[str]:
    yield from _one_of(f"{path}.restartPolicy", replicas["restartPolicy"], _RESTART_POLICIES)
    if not (replicas["template"].get("spec") or {}).get("containers"):
        yield f"{path}.template.spec.containers: Required value: must define at least one container"


def _one_of(path: str, value: str, allowed: tuple[str, ...]) -> Iterator[str]:
    if value not in allowed:
        names = ", ".join(f'"{name}"' for name in allowed)
        yield f'{path}: Unsupported value: "{value}": supported values: {names}'


def _not_negative(path: str, value: int) -> Iterator[str]:
    if value < 0:
        yield f"{path}: Invalid value: {value}: must be greater than or equal to 0"
