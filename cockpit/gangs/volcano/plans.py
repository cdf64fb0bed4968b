"""Suspend and resume a Volcano Job: by a Command object that Volcano takes in."""

from collections.abc import Mapping
from typing import Any, Final

from cockpit.errors import BadInput
from cockpit.gangs.engine import SuspendChange
from cockpit.model.plan import Call

JOB_API_VERSION: Final = "batch.volcano.sh/v1alpha1"
_COMMAND_API_VERSION: Final = "bus.volcano.sh/v1alpha1"
_ABORTED: Final = ("Aborted", "Aborting")
_ENDED: Final = ("Completed", "Failed", "Terminated")


def commands_path(namespace: str) -> str:
    """Where Commands are made."""
    return f"/apis/{_COMMAND_API_VERSION}/namespaces/{namespace}/commands"


def suspend_by_command(job: Mapping[str, Any], suspend: bool) -> SuspendChange:
    """Suspend (`AbortJob`) or resume (`ResumeJob`) a Volcano Job.

    The Command is named after the version of the job that was read: sent twice, the second is refused.
    Raises BadInput where the job is so already.
    """
    metadata = job["metadata"]
    name, namespace = metadata["name"], metadata["namespace"]
    action, verb = ("AbortJob", "suspend") if suspend else ("ResumeJob", "resume")
    phase = ((job.get("status") or {}).get("state") or {}).get("phase", "")
    if not suspend and phase not in _ABORTED:
        raise BadInput(f"job {namespace}/{name} is not suspended (it is {phase or 'new'})")
    if suspend and phase in (*_ABORTED, *_ENDED):
        raise BadInput(f"job {namespace}/{name} is {phase} already")
    owner = {
        "apiVersion": JOB_API_VERSION,
        "kind": "Job",
        "name": name,
        "uid": metadata["uid"],
        "controller": True,
    }
    version = str(metadata.get("resourceVersion") or "0")
    body = {
        "apiVersion": _COMMAND_API_VERSION,
        "kind": "Command",
        "metadata": {
            "name": f"{name}-{verb}-{version}",
            "namespace": namespace,
            "ownerReferences": [owner],
        },
        "action": action,
        "target": owner,
    }
    path = commands_path(namespace)
    return SuspendChange(
        (Call(method="POST", path=path, body=body, target=f"job {namespace}/{name}"),),
        (f"sends Volcano {action}: its pods {'end' if suspend else 'are recreated'}",),
        is_destructive=suspend and phase == "Running",
    )
