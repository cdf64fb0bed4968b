"""The kinds of things that verbs are done to: how each is named, found, and looked up as it is by now."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cockpit.actions.find import job_named, or_unread
from cockpit.actions.planning import Planning
from cockpit.actions.queue import full_name, queue_named, table_of
from cockpit.errors import NotFound
from cockpit.gangs import registry
from cockpit.gangs.sentence import counted
from cockpit.model.job import Job
from cockpit.model.namespaces import Namespaces
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from cockpit.nearest import nearest_words
from cockpit.pools.index import pool_again, pool_named


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetKind:
    """One kind of thing. `watched` are the tables that a command waits for, the first is the one it cannot do
    without."""

    word: str  # "job": also the noun of its subcommands
    watched: Callable[[], tuple[str, ...]] = tuple
    shell_name: Callable[[Any], str]
    """`mpijob/team-a/llm`: as it is named to a command."""
    now: Callable[[Planning, Any], Any | None]
    """The same thing as it is by now, None where it is gone or another one of its name."""
    named: Callable[[Planning, str, Namespaces], Any] | None = None
    """The one that a text means; a namespace narrows it. Raises BadInput with what is near: see `found`."""
    distinct: Callable[[Sequence[Any], Any], list[Any]] = lambda things, _store: list(things)
    """Each thing that a verb reaches once, ordered, by (things, store)."""
    many: Callable[[Sequence[Any]], Iterable[str]] = lambda _things: ()
    """What is to be told of many of them before what becomes of them."""
    many_lines: Callable[[Sequence[Any], Any], Iterable[str]] = lambda _things, _store: ()
    """What becomes of them, where the verb itself does not say, by (things, store)."""
    is_namespaced: bool = False

    def found(self, planning: Planning, text: str, namespaces: Namespaces) -> Any:
        """The one that a text means; a namespace narrows it.

        Raises BadInput: unknown, with names that are near, or several; and Refused where nothing has the
        name but not all that could have it was read.
        """
        assert self.named is not None, self.word
        with or_unread(planning.store, self.watched()):
            return self.named(planning, text, namespaces)

    def target(self, thing: Any) -> str:
        """`mpijob team-a/llm`, `node gpu-1`: as sentences name it."""
        name = self.shell_name(thing)
        return name.replace("/", " ", 1) if self.is_namespaced else f"{self.word} {name}"


def _job_name(job: Job) -> str:
    return f"{job.kind.lower()}/{job.namespace}/{job.name}"


def _job_now(planning: Planning, job: Job) -> Job | None:
    found = planning.jobs.get(job.key)
    return found if found is not None and found.uid == job.uid else None


def _jobs_distinct(jobs: Sequence[Job], _store: Any) -> list[Job]:
    return sorted(jobs, key=lambda job: (job.namespace, job.name, job.kind))


def _job_lines(jobs: Sequence[Job]) -> Iterable[str]:
    spaces = Counter(job.namespace for job in jobs)
    kinds = Counter(job.kind for job in jobs)
    states = Counter(job.state for job in jobs)
    yield ", ".join(f"{number} {kind}" for kind, number in kinds.most_common()) + (
        " in " + ", ".join(f"{space} ({number})" for space, number in spaces.most_common(6))
    )
    yield "now: " + ", ".join(f"{number} {state}" for state, number in states.most_common())


def _gpus_asked(jobs: Sequence[Job], _store: Any) -> Iterable[str]:
    if wanted := sum(job.gpus_wanted or 0 for job in jobs):
        yield f"they request {counted(wanted, 'GPU')}"


def _pod_now(planning: Planning, pod: Pod) -> Pod | None:
    return planning.store.get("pods", pod.uid)


def _node_now(planning: Planning, node: Node) -> Node | None:
    found = planning.store.by_key("nodes", node.name)
    return found if found is not None and found.uid == node.uid else None


def _node_named(planning: Planning, text: str, _namespaces: Namespaces) -> Node:
    name = text.removeprefix("node/")
    found = planning.store.by_key("nodes", name)
    if isinstance(found, Node):
        return found
    nodes = (node.name for node in planning.store.records("nodes").values())
    raise NotFound(f"node {text!r}", nearest_words(name, nodes))


def _job_tables() -> tuple[str, ...]:
    return ("pods", "mpijobs", "jobs", *registry.own_job_tables(), "workloads")


def _node_tables() -> tuple[str, ...]:
    return ("nodes", "pods", "pools", *_job_tables()[1:])


def _queue_tables() -> tuple[str, ...]:
    return (*registry.queue_tables(), "workloads")


KINDS: dict[str, TargetKind] = {
    kind.word: kind
    for kind in (
        TargetKind(
            word="job",
            watched=_job_tables,
            shell_name=_job_name,
            now=_job_now,
            named=lambda planning, text, spaces: job_named(planning.jobs.values(), text, spaces),
            distinct=_jobs_distinct,
            many=_job_lines,
            many_lines=_gpus_asked,
            is_namespaced=True,
        ),
        TargetKind(
            word="pod",
            watched=lambda: ("pods",),
            shell_name=lambda pod: f"pod/{pod.namespace}/{pod.name}",
            now=_pod_now,
            is_namespaced=True,
        ),
        TargetKind(
            word="node",
            watched=_node_tables,
            shell_name=lambda node: str(node.name),
            now=_node_now,
            named=_node_named,
        ),
        TargetKind(
            word="pool",
            watched=lambda: ("nodes", "pools", "pods", "machines"),
            shell_name=lambda pool: str(pool.name),
            now=lambda planning, pool: pool_again(planning.store, pool),
            named=lambda planning, text, _spaces: pool_named(planning.store, text),
        ),
        TargetKind(
            word="queue",
            watched=_queue_tables,
            shell_name=full_name,
            now=lambda planning, queue: planning.store.get(table_of(queue), queue.uid),
            named=lambda planning, text, spaces: queue_named(planning.store, text, spaces),
            is_namespaced=True,
        ),
    )
}
