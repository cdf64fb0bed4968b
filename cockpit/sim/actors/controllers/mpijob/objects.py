"""What an MPIJob is made of: worker pods, the launcher Job, Service, ConfigMap, Secret, PodGroup."""

from collections.abc import Iterable, Sequence
from typing import Any

from cockpit.sim.actors.controllers.mpijob.spec import MpiSpec
from cockpit.sim.actors.controllers.trees import controller_reference
from cockpit.sim.port import Tree

OPERATOR_LABEL = "training.kubeflow.org/operator-name"
NAME_LABEL = "training.kubeflow.org/job-name"
ROLE_LABEL = "training.kubeflow.org/job-role"
INDEX_LABEL = "training.kubeflow.org/replica-index"
POD_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"

_MOUNT = "/etc/mpi"
_HOSTFILE = f"{_MOUNT}/hostfile"
_ATTEMPTS = "-o ConnectionAttempts=10"
_ROLE_ENV = "K_MPI_JOB_ROLE"


def child_metadata(job: Tree, name: str) -> Tree:
    """Metadata of a child: its name, the label `app`, controlled by the job."""
    return {
        "name": name,
        "namespace": job["metadata"]["namespace"],
        "labels": {"app": job["metadata"]["name"]},
        "ownerReferences": [controller_reference(job)],
    }


def service(job: Tree) -> Tree:
    """The headless Service that gives launcher and workers their host names."""
    name = job["metadata"]["name"]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": child_metadata(job, name),
        "spec": {
            "clusterIP": "None",
            "selector": {OPERATOR_LABEL: "mpi-operator", NAME_LABEL: name},
        },
    }


def config_map(job: Tree, spec: MpiSpec, running: Sequence[Tree]) -> Tree:
    """`hostfile` names every worker that is wanted, `discover_hosts.sh` those that run."""
    name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]

    def address(host: str) -> str:
        return f"{host}.{name}.{namespace}.svc"

    launcher = [f"{name}-launcher"] if spec.launcher_is_worker else []
    hosts = [*launcher, *(worker_name(job, index) for index in range(spec.workers))]
    slots = f" slots={spec.slots}" if spec.implementation == "OpenMPI" else f":{spec.slots}"
    found = [*launcher, *sorted(pod["metadata"]["name"] for pod in running)]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": child_metadata(job, f"{name}-config"),
        "data": {
            "hostfile": "".join(f"{address(host)}{slots}\n" for host in hosts),
            "discover_hosts.sh": "#!/bin/sh\n" + "".join(f"echo {address(host)}\n" for host in found),
        },
    }


def secret(job: Tree, data: dict[str, str]) -> Tree:
    """The Secret with the pair of ssh keys, base64 in `data`."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": child_metadata(job, f"{job['metadata']['name']}-ssh"),
        "type": "kubernetes.io/ssh-auth",
        "data": data,
    }


def worker_name(job: Tree, index: int) -> str:
    """`<name>-worker-<index>`: pod and host."""
    return f"{job['metadata']['name']}-worker-{index}"


def worker_pod(job: Tree, spec: MpiSpec, index: int, gang_scheduler: str) -> Tree:
    """A worker; without a command of its own it runs sshd."""
    if spec.worker is None:
        raise ValueError("an MPIJob without workers has no worker pod")
    name = worker_name(job, index)
    template = _template(job, spec.worker, "worker", gang_scheduler)
    pod_spec, container = template["spec"], template["spec"]["containers"][0]
    template["metadata"]["labels"][INDEX_LABEL] = str(index)
    pod_spec["hostname"] = name
    metadata = job["metadata"]
    held: dict[str, Any] = pod_spec.get("dnsConfig") or {}
    search = f"{metadata['name']}.{metadata['namespace']}.svc.cluster.local"
    pod_spec["dnsConfig"] = {**held, "searches": [*(held.get("searches") or ()), search]}
    if not container.get("command") and not container.get("args"):
        container["command"] = ["/usr/sbin/sshd", "-De"]
    _add_env(container, [(_ROLE_ENV, "worker")])
    _mount_keys(job, spec, template)
    metadata = {
        key: template["metadata"][key] for key in ("labels", "annotations") if key in template["metadata"]
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": job["metadata"]["namespace"],
            **metadata,
            "ownerReferences": [controller_reference(job)],
        },
        "spec": pod_spec,
    }


def launcher_job(job: Tree, spec: MpiSpec, gang_scheduler: str) -> Tree:
    """The batch Job that runs mpirun."""
    if spec.launcher is None:
        raise ValueError("an MPIJob without launcher has no launcher Job")
    name = f"{job['metadata']['name']}-launcher"
    template = _template(job, spec.launcher, "launcher", gang_scheduler)
    pod_spec, container = template["spec"], template["spec"]["containers"][0]
    pod_spec["hostname"] = name
    _add_env(container, [(_ROLE_ENV, "launcher"), *_implementation_env(spec)])
    if not spec.launcher_is_worker:
        # Emptied, so that a launcher never uses the GPUs of the node it happens to be on.
        _add_env(container, [("NVIDIA_VISIBLE_DEVICES", ""), ("NVIDIA_DRIVER_CAPABILITIES", "")])
    _mount_keys(job, spec, template)
    items = [
        {"key": "hostfile", "path": "hostfile", "mode": 0o444},
        {"key": "discover_hosts.sh", "path": "discover_hosts.sh", "mode": 0o555},
    ]
    config = {"name": f"{job['metadata']['name']}-config", "items": items}
    _mount(template, "mpi-job-config", {"configMap": config}, _MOUNT)
    template["metadata"]["ownerReferences"] = [controller_reference(job)]
    launcher: Tree = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": child_metadata(job, name),
        "spec": {"template": template},
    }
    for field in ("ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit"):
        if spec.run_policy.get(field) is not None:
            launcher["spec"][field] = spec.run_policy[field]
    if spec.is_suspended:
        launcher["spec"]["suspend"] = True
    return launcher


def _template(job: Tree, replicas: Tree, role: str, gang_scheduler: str) -> Tree:
    """A copy of a replica's template, deep enough for what is changed in it."""
    name = job["metadata"]["name"]
    held: dict[str, Any] = replicas["template"]
    metadata = dict(held.get("metadata") or {})
    metadata["labels"] = {
        **(metadata.get("labels") or {}),
        OPERATOR_LABEL: "mpi-operator",
        NAME_LABEL: name,
        ROLE_LABEL: role,
    }
    spec = dict(held["spec"])
    spec["containers"] = [dict(spec["containers"][0]), *spec["containers"][1:]]
    spec["subdomain"] = name
    spec["restartPolicy"] = replicas["restartPolicy"]
    if spec.get("hostNetwork"):
        spec["dnsPolicy"] = "ClusterFirstWithHostNet"
    if gang_scheduler:
        spec["schedulerName"] = gang_scheduler
        metadata["labels"][POD_GROUP_LABEL] = name
    return {"metadata": metadata, "spec": spec}


def _implementation_env(spec: MpiSpec) -> list[tuple[str, str]]:
    slots = str(spec.slots)
    match spec.implementation:
        case "OpenMPI":
            return [
                ("OMPI_MCA_orte_keep_fqdn_hostnames", "true"),
                ("OMPI_MCA_orte_default_hostfile", _HOSTFILE),
                ("OMPI_MCA_plm_rsh_args", _ATTEMPTS),
                ("OMPI_MCA_orte_set_default_slots", slots),
            ]
        case "Intel":
            return [
                ("I_MPI_HYDRA_HOST_FILE", _HOSTFILE),
                ("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", _ATTEMPTS),
                ("I_MPI_PERHOST", slots),
            ]
        case _:
            return [("HYDRA_HOST_FILE", _HOSTFILE), ("HYDRA_LAUNCH_EXTRA_ARGS", _ATTEMPTS)]


def _add_env(container: Tree, variables: Iterable[tuple[str, str]]) -> None:
    added = [{"name": name, "value": value} if value else {"name": name} for name, value in variables]
    container["env"] = [*(container.get("env") or ()), *added]


def _mount_keys(job: Tree, spec: MpiSpec, template: Tree) -> None:
    items = [
        {"key": "ssh-privatekey", "path": "id_rsa"},
        {"key": "ssh-publickey", "path": "id_rsa.pub"},
        {"key": "ssh-publickey", "path": "authorized_keys"},
    ]
    source: Tree = {"secretName": f"{job['metadata']['name']}-ssh", "items": items}
    if spec.ssh_mount_path == "/root/.ssh":
        source["defaultMode"] = 0o600
    _mount(template, "ssh-auth", {"secret": source}, spec.ssh_mount_path)


def _mount(template: Tree, name: str, source: Tree, path: str) -> None:
    spec = template["spec"]
    container = spec["containers"][0]
    spec["volumes"] = [*(spec.get("volumes") or ()), {"name": name, **source}]
    container["volumeMounts"] = [*(container.get("volumeMounts") or ()), {"name": name, "mountPath": path}]
