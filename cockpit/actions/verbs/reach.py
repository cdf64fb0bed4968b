"""Ways into a pod: a shell, and TensorBoard's port. Neither has a plan: no dry run of a stream exists."""

from typing import TYPE_CHECKING, Any, Final

from cockpit.actions.verbs.verb import Verb, Words

if TYPE_CHECKING:
    from cockpit.actions.planning import Planning
    from cockpit.model.right import Right


CREATE_SINCE: Final = (1, 35)
"""A WebSocket begins with GET, so `get` is what it takes; servers of this version on ask for `create` besides
(kubernetes#134577, gate AuthorizePodWebsocketUpgradeCreatePermission, on by default)."""


def _on_pods(planning: "Planning", namespace: str, subresource: str) -> "tuple[Right, ...]":
    from cockpit.model.right import Right

    is_newer = planning.server_version is not None and planning.server_version >= CREATE_SINCE
    verbs = ("get", "create") if is_newer else ("get",)
    return tuple(Right(verb, "", "pods", subresource, namespace) for verb in verbs)


def _needs_of_shell(planning: "Planning", pod: Any) -> "tuple[Right, ...]":
    return _on_pods(planning, pod.namespace, "exec")


def _needs_of_board(planning: "Planning", job: Any) -> "tuple[Right, ...]":
    return _on_pods(planning, job.namespace, "portforward")


SHELL = Verb(
    name="exec",
    kind="pod",
    noun="job",
    key="E",
    opener="shell",
    command="enter:run",
    words=Words(
        "enter",
        "entered",
        "run a command or a shell in a pod of a job",
        "Open a shell in the pod",
        label="shell",
    ),
    needs=_needs_of_shell,
    is_repeatable=False,
    takes_many=False,
)
TENSORBOARD = Verb(
    name="tensorboard",
    kind="job",
    key="B",
    opener="tensorboard",
    command="tensorboard:run",
    words=Words(
        "forward",
        "forwarded",
        "forward TensorBoard or another pod port to localhost",
        "Open or close the TensorBoard port-forward",
        label="tensorboard",
    ),
    needs=_needs_of_board,
    is_on_page=True,
    is_shown=False,
    is_repeatable=False,
    takes_many=False,
)
