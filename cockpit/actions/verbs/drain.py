"""Empty a node for good reasons: drain it, now or after its jobs, and call that off."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cockpit.actions.verbs.verb import Flag, Verb, Words

if TYPE_CHECKING:
    from cockpit.actions.planning import Planning
    from cockpit.model.node import Node
    from cockpit.model.plan import Plan
    from cockpit.model.right import Right


@dataclass(frozen=True, slots=True)
class DrainOptions:
    """How a drain goes; times as they were typed, "" for none."""

    after_job: bool = False
    grace: str = ""
    within: str = ""
    force: bool = False
    delete_emptydir_data: bool = False

    def __post_init__(self) -> None:
        self.seconds("grace")
        self.seconds("within")

    def seconds(self, field: str) -> float | None:
        """One of the times, None where it was not given. Raises BadInput."""
        from cockpit.errors import BadInput
        from cockpit.model.duration import parse_duration

        text = getattr(self, field)
        try:
            return parse_duration(text) if text else None
        except ValueError:
            raise BadInput(f"--{field}: {text!r} is no time; write for example 90s or 10m") from None


async def plan_to_drain(planning: "Planning", node: "Node", options: DrainOptions) -> "Plan":
    """Cordon the node and evict its pods, as far as their budgets let it."""
    from cockpit.actions.drain.plan import plan_drain
    from cockpit.actions.verbs.node import as_now

    grace = options.seconds("grace")
    return await plan_drain(
        planning,
        await as_now(planning, node),
        after_job=options.after_job,
        grace_seconds=None if grace is None else int(grace),
        longest_seconds=options.seconds("within") or 0.0,
        force=options.force,
        takes_scratch=options.delete_emptydir_data,
    )


async def plan_to_stop(planning: "Planning", node: "Node", _options: Any) -> "Plan":
    """Call the drain off; uncordoned is only what it cordoned."""
    from cockpit.actions.drain.stop import plan_stop
    from cockpit.actions.verbs.node import as_now

    return plan_stop(await as_now(planning, node), planning.store)


def _needs_to_drain(planning: "Planning", node: "Node") -> "tuple[Right, ...]":
    from cockpit.model.right import Right
    from cockpit.pools.drain_mark import still_there

    spaces = sorted({one.namespace for one in still_there(node.name, planning.store)})
    evicts = (Right("create", "", "pods", "eviction", space) for space in spaces)
    return (Right("patch", "", "nodes", name=node.name), *evicts)


def _needs_to_stop(_planning: "Planning", node: "Node") -> "tuple[Right, ...]":
    from cockpit.model.right import Right

    return (Right("patch", "", "nodes", name=node.name),)


def is_draining(node: "Node") -> bool:
    """Whether a drain is noted on the node."""
    from cockpit.pools.drain_mark import mark_of

    return mark_of(node) is not None


DRAIN = Verb(
    name="drain",
    kind="node",
    key="D",
    opener="drain",
    words=Words(
        "drain",
        "drained",
        "cordon nodes and evict their pods, now or after the jobs on them",
        "Drain the node, now or after its jobs, or call that off",
    ),
    options=DrainOptions,
    flags=(
        Flag(
            "--after-job", "after_job", "wait until the jobs that hold GPUs on it have ended", is_switch=True
        ),
        Flag("--grace", "grace", "time that pods get to end (default: their own)", "TIME"),
        Flag("--within", "within", "give up after this long; what stays is told", "TIME"),
        Flag("--force", "force", "also pods without a controller", is_switch=True),
        Flag("--delete-emptydir-data", "delete_emptydir_data", "also pods with an emptyDir", is_switch=True),
    ),
    plan=plan_to_drain,
    needs=_needs_to_drain,
    is_destructive=True,
    is_repeatable=False,
)
SETTINGS = tuple(one for one in DRAIN.flags if one.field not in ("after_job", "confirm"))
"""The options that the dialog of the key offers beside *when*; the plan asks for the name itself."""
STOP_DRAIN = Verb(
    name="stop-drain",
    kind="node",
    key="D",
    opener="drain",
    words=Words("stop the drain of", "no longer drained", "call the drain of nodes off", label="stop drain"),
    plan=plan_to_stop,
    needs=_needs_to_stop,
    is_for=is_draining,
    is_repeatable=False,
)
