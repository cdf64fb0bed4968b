"""Where the command of a job stands that no template made: read by its kind, or not at all.

Of an MPIJob it is what the launcher starts behind mpirun or horovodrun and their options; workers only wait
for a login. Of kinds whose members run the same it is the members' own `command` and `args`.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from cockpit.fit.pod_sets import pod_sets
from cockpit.jobs.launchers import launch_of, runs_sshd
from cockpit.jobs.pod_templates import amounts, containers
from cockpit.k8s.gpu_resources import is_gpu_resource

_KEYS = ("command", "args")
_ALIKE = ("Job", "JobSet", "Pod", "Deployment", "StatefulSet", "ReplicaSet", "CronJob")
"""Kinds of which a member with GPUs is the job itself; so it is of Kubeflow's, which have ReplicaSpecs."""


class LaunchWords(NamedTuple):
    """A launcher's line: the words from `begin` on are the command, None where it stands in two lists.

    `ranks` are (list, index) of the words that number all ranks.
    """

    words: list[Any] | None
    begin: int
    ranks: tuple[tuple[list[Any], int], ...]


def launch_words(tree: Mapping[str, Any]) -> LaunchWords | None:
    """The line of the one container that starts ranks; None where there is none, or more than one."""
    found = [
        made
        for item in pod_sets(tree)
        if tree.get("kind") != "MPIJob" or item.role == "launcher"
        for container in containers(item.template)
        if (made := _line(container)) is not None
    ]
    return found[0] if len(found) == 1 else None


def _line(container: Mapping[str, Any]) -> LaunchWords | None:
    lists = [container.get(key) or [] for key in _KEYS]
    if not all(isinstance(item, list) and all(isinstance(word, str) for word in item) for item in lists):
        return None
    command, args = lists
    launch = launch_of([*command, *args])
    if launch is None:
        return None
    ranks = tuple((command, at) if at < len(command) else (args, at - len(command)) for at in launch.ranks)
    if launch.command >= len(command):
        return LaunchWords(args, launch.command - len(command), ranks)
    return LaunchWords(None if args else command, launch.command, ranks)


def member_containers(tree: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Containers whose `command` and `args` are the job's own and equal; [] where none can be read so."""
    every = [container for item in pod_sets(tree) for container in containers(item.template)]
    kind = str(tree.get("kind") or "")
    if kind == "MPIJob" or any(runs_sshd(_all_words(item)) for item in every):
        return []
    if len(every) > 1 and not _is_alike(tree, kind):
        return []
    if kind.startswith("Ray"):
        return []  # KubeRay puts `ray start` in the place of what stands there
    asking = [
        item for item in every if any(is_gpu_resource(name) for name in amounts(item, "limits"))
    ] or every
    own = {repr(_own(item)) for item in asking}
    return [item for item in every if repr(_own(item)) in own] if len(own) == 1 else []


def _is_alike(tree: Mapping[str, Any], kind: str) -> bool:
    spec = tree.get("spec")
    return kind in _ALIKE or any(
        str(key).endswith("ReplicaSpecs") for key in (spec if isinstance(spec, dict) else ())
    )


def _own(container: Mapping[str, Any]) -> tuple[Any, Any]:
    return container.get("command"), container.get("args")


def _all_words(container: Mapping[str, Any]) -> list[str]:
    found = (container.get(key) for key in _KEYS)
    return [word for item in found if isinstance(item, list) for word in item if isinstance(word, str)]
