"""The kinds of things that verbs are done to: how each is named, found, and looked up as it is by now."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cockpit.actions.planning import Planning
    from cockpit.model.gang import ClusterQueue, LocalQueue
    from cockpit.model.job import Job
    from cockpit.model.namespaces import Namespaces
    from cockpit.model.node import Node
    from cockpit.model.pod import Pod
    from cockpit.model.pool import Pool


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetKind:
    """One kind of thing. `watched` are the tables that a command waits for, the first is the one it cannot do
    without."""

    word: str  # "job": also the noun of its subcommands
    about: str  # help of that noun
    watched: Callable[[], tuple[str, ...]] = tuple
    naming: str = "name"  # how a person names one, in the help of a command
    shell_name: Callable[[Any], str]
    """`mpijob/team-a/llm`: as it is named to a command."""
    now: Callable[["Planning", Any], Any | None]
    """The same thing as it is by now, None where it is gone or another one of its name."""
    named: Callable[["Planning", str, "Namespaces"], Any] | None = None
    """The one that a text means; a namespace narrows it. Raises BadInput with what is near: see `found`."""
    distinct: Callable[[Sequence[Any], Any], list[Any]] = lambda things, _store: list(things)
    """Each thing that a verb reaches once, ordered, by (things, store)."""
    many: Callable[[Sequence[Any]], Iterable[str]] = lambda _things: ()
    """What is to be told of many of them before what becomes of them."""
    many_lines: Callable[[Sequence[Any], Any], Iterable[str]] = lambda _things, _store: ()
    """What becomes of them, where the verb itself does not say, by (things, store)."""
    is_namespaced: bool = False
    has_filter: bool = False
    """Its commands take `--filter` beside names."""

    def found(self, planning: "Planning", text: str, namespaces: "Namespaces") -> Any:
        """The one that a text means; a namespace narrows it.

        Raises BadInput: unknown, with names that are near, or several; and Refused where nothing has the
        name but not all that could have it was read.
        """
        from cockpit.actions.find import or_unread

        assert self.named is not None, self.word
        with or_unread(planning.store, self.watched()):
            return self.named(planning, text, namespaces)

    def target(self, thing: Any) -> str:
        """`mpijob team-a/llm`, `node gpu-1`: as sentences name it."""
        name = self.shell_name(thing)
        return name.replace("/", " ", 1) if self.is_namespaced else f"{self.word} {name}"


def _job_name(job: "Job") -> str:
    return f"{job.kind.lower()}/{job.namespace}/{job.name}"


def _job_now(planning: "Planning", job: "Job") -> "Job | None":
    found = planning.jobs.get(job.key)
    return found if found is not None and found.uid == job.uid else None


def _job_named(planning: "Planning", text: str, namespaces: "Namespaces") -> "Job":
    from cockpit.actions.find import job_named

    return job_named(planning.jobs.values(), text, namespaces)


def _jobs_distinct(jobs: Sequence["Job"], _store: Any) -> "list[Job]":
    return sorted(jobs, key=lambda one: (one.namespace, one.name, one.kind))


def _job_lines(jobs: Sequence["Job"]) -> Iterable[str]:
    from collections import Counter

    spaces = Counter(one.namespace for one in jobs)
    kinds = Counter(one.kind for one in jobs)
    states = Counter(one.state for one in jobs)
    yield ", ".join(f"{number} {kind}" for kind, number in kinds.most_common()) + (
        " in " + ", ".join(f"{space} ({number})" for space, number in spaces.most_common(6))
    )
    yield "now: " + ", ".join(f"{number} {state}" for state, number in states.most_common())


def _gpus_asked(jobs: Sequence["Job"], _store: Any) -> Iterable[str]:
    from cockpit.gangs.sentence import counted

    if wanted := sum(one.gpus_wanted or 0 for one in jobs):
        yield f"they request {counted(wanted, 'GPU')}"


def _pod_now(planning: "Planning", pod: "Pod") -> "Pod | None":
    return planning.store.get("pods", pod.uid)


def _node_now(planning: "Planning", node: "Node") -> "Node | None":
    found = planning.store.by_key("nodes", node.name)
    return found if found is not None and found.uid == node.uid else None


def _node_named(planning: "Planning", text: str, _namespaces: "Namespaces") -> "Node":
    from cockpit.errors import NotFound
    from cockpit.model.node import Node
    from cockpit.nearest import nearest_words

    name = text.removeprefix("node/")
    found = planning.store.by_key("nodes", name)
    if isinstance(found, Node):
        return found
    nodes = (node.name for node in planning.store.records("nodes").values())
    raise NotFound(f"node {text!r}", nearest_words(name, nodes))


def _pool_now(planning: "Planning", pool: "Pool") -> "Pool":
    from cockpit.pools.index import pool_again

    return pool_again(planning.store, pool)


def _pool_named(planning: "Planning", text: str, _namespaces: "Namespaces") -> "Pool":
    from cockpit.pools.index import pool_named

    return pool_named(planning.store, text)


def _queue_name(queue: "LocalQueue | ClusterQueue") -> str:
    from cockpit.actions.queue import full_name

    return full_name(queue)


def _queue_now(planning: "Planning", queue: "LocalQueue | ClusterQueue") -> Any | None:
    from cockpit.actions.queue import table_of

    return planning.store.get(table_of(queue), queue.uid)


def _queue_named(planning: "Planning", text: str, namespaces: "Namespaces") -> "LocalQueue | ClusterQueue":
    from cockpit.actions.queue import queue_named

    return queue_named(planning.store, text, namespaces)


def _job_tables() -> tuple[str, ...]:
    from cockpit.gangs import registry

    return ("pods", "mpijobs", "jobs", *registry.own_job_tables(), "workloads")


def _node_tables() -> tuple[str, ...]:
    return ("nodes", "pods", "pools", *_job_tables()[1:])


def _queue_tables() -> tuple[str, ...]:
    from cockpit.gangs import registry

    return (*registry.queue_tables(), "workloads")


# Tables are named here by their values: `cockpit.model` is not imported for --help.
KINDS: dict[str, TargetKind] = {
    one.word: one
    for one in (
        TargetKind(
            word="job",
            about="submit, suspend, resize and kill training jobs",
            watched=_job_tables,
            naming="name, namespace/name or kind/namespace/name",
            shell_name=_job_name,
            now=_job_now,
            named=_job_named,
            distinct=_jobs_distinct,
            many=_job_lines,
            many_lines=_gpus_asked,
            is_namespaced=True,
            has_filter=True,
        ),
        TargetKind(
            word="pod",
            about="one pod of a job",
            watched=lambda: ("pods",),
            shell_name=lambda pod: f"pod/{pod.namespace}/{pod.name}",
            now=_pod_now,
            is_namespaced=True,
        ),
        TargetKind(
            word="node",
            about="cordon, drain and uncordon nodes, and test their GPUs",
            watched=_node_tables,
            naming="see cockpit get nodes",
            shell_name=lambda node: str(node.name),
            now=_node_now,
            named=_node_named,
        ),
        TargetKind(
            word="pool",
            about="resize pools of nodes",
            watched=lambda: ("nodes", "pools", "pods", "machines"),
            naming="see cockpit get pools",
            shell_name=lambda pool: str(pool.name),
            now=_pool_now,
            named=_pool_named,
        ),
        TargetKind(
            word="queue",
            about="stop and resume queues",
            watched=_queue_tables,
            naming="namespace/name, or a ClusterQueue; see cockpit get queues",
            shell_name=_queue_name,
            now=_queue_now,
            named=_queue_named,
            is_namespaced=True,
        ),
    )
}
