"""The rows of *Now*, kept from look to look: what moved is judged at once, the rest in turn.

A row of a job is made again by whatever moves it (`JobReader.moved_since`), so its finding is, too. What
rests on the time, on the room of nodes or on samples has its turn: each of up to `TURNS` jobs and as many
nodes at every look, of more half as many, first those that tell of a root, then those that were looked at
longest ago.
"""

from collections.abc import Sized
from itertools import islice
from typing import Final

from cockpit.model.finding import Finding, Subject
from cockpit.model.job import Job
from cockpit.model.job_reader import JobReader
from cockpit.model.namespaces import Namespaces
from cockpit.model.node import Node
from cockpit.model.record import Kind
from cockpit.model.store_reader import StoreReader
from cockpit.triage.alike_rows import AlikeRows
from cockpit.triage.left_over import marked_nodes
from cockpit.triage.now_findings import (
    WAITING_SECONDS,
    NodeReads,
    gpu_node_finding,
    job_finding,
    plain_start,
    pod_findings,
)
from cockpit.triage.roots import RootGroups, job_of_root, membership
from cockpit.triage.verdicts import RIPE_SECONDS, Verdicts

TURNS: Final = 256
"""So many jobs, and nodes, are all looked at at every look."""
_MANY: Final = 512
"""Of more jobs a verdict is kept only where a screen asks for it: together they would be large."""
_COST: Final = 20
"""What verdicts may cost in turn at a look where none is kept, in those that look at no node."""


_SHARE_OF_MOVED: Final = 0.6
"""Of the time of a look, for rows that moved; what leads a root and what has its turn comes after them."""
_SHARE_OF_JOBS: Final = 0.8


class NowRows:
    """What needs a human about the jobs of some namespaces, their pods, and nodes."""

    def __init__(
        self, store: StoreReader, jobs: JobReader, verdicts: Verdicts, namespaces: Namespaces
    ) -> None:
        self._store = store
        self._job_rows = jobs
        self._verdicts = verdicts
        self._namespaces = namespaces
        self._groups = RootGroups(self._refresh)
        self._alike = AlikeRows(store)
        self._number = -1  # of the update of the job rows that was seen last
        self._now_seconds = 0.0
        self._jobs: dict[str, Job] = {}  # as they were judged, the longest ago first
        self._due: dict[str, None] = {}  # keys of rows that moved and have yet to be judged
        self._judged_at: dict[str, float] = {}  # when those that tell of a root were judged
        self._pods: set[str] = set()
        self._nodes: dict[str, Node] = {}  # as `_jobs`, by name
        self._nodes_due: dict[str, None] = {}
        self._node_names: dict[str, str] = {}  # by uid
        self._revision = -1  # of the store, up to which nodes were seen
        self._reads = NodeReads(frozenset(), frozenset(), None, frozenset())
        self._pod_roots: dict[Subject, tuple[Subject | None, set[str]]] = {}  # its job, and rows that name it
        self._pod_root_of: dict[str, Subject] = {}

    def are_of(self, store: StoreReader, jobs: JobReader, namespaces: Namespaces) -> bool:
        """Whether these are the rows of that cluster and those namespaces."""
        return store is self._store and jobs is self._job_rows and namespaces.names == self._namespaces.names

    @property
    def is_behind(self) -> bool:
        """Whether something moved and no time was left to judge it."""
        return bool(self._due or self._nodes_due)

    def look(self, now_seconds: float) -> list[Finding]:
        """A row for each root, or for many that are alike, in no order."""
        self.go_on(now_seconds)
        return self._alike.joined(self._groups.told())

    def go_on(self, now_seconds: float) -> None:
        """Judge what moved and what has its turn, as far as the pace allows."""
        self._now_seconds = now_seconds
        self._verdicts.pace.begin()
        self._look_at_jobs()
        self._look_at_pods()
        self._look_at_nodes()

    def _refresh(self, key: str) -> None:
        if key in self._nodes:
            self._judge_node(key)
        elif key in self._jobs:
            self._judge_job(key, in_full=True)

    # ---- jobs

    @property
    def _keeps_verdicts(self) -> bool:
        return len(self._job_rows.jobs) <= _MANY

    def _look_at_jobs(self) -> None:
        self._due.update(dict.fromkeys(self._moved()))
        pace = self._verdicts.pace
        while self._due:
            self._judge_job(self._due.popitem()[0])
            if pace.is_over(_SHARE_OF_MOVED):
                break
        self._follow_pods()
        begun, ripe = self._verdicts.cost, self._now_seconds - RIPE_SECONDS
        fronts = [key for key in self._groups.fronts() if key in self._jobs]
        judged_at = self._judged_at
        self._judged_at = {key: judged_at.get(key, self._now_seconds) for key in fronts}
        due = [key for key in fronts if not ripe < self._judged_at[key] <= self._now_seconds]
        due.sort(key=self._judged_at.__getitem__)
        for key in [*due, *islice(self._jobs, _turns(self._jobs))]:
            if not self._keeps_verdicts and self._verdicts.cost - begun >= _COST:
                break
            if pace.is_over(_SHARE_OF_JOBS):
                break
            self._judge_job(key)
            if key in self._judged_at:
                self._judged_at[key] = self._now_seconds

    def _moved(self) -> list[str]:
        """Keys of rows that came, changed or went since the last look, or of which something was heard."""
        rows = self._job_rows.jobs
        self._number, keys = self._job_rows.moved_since(self._number)
        if keys is None:
            keys = [key for key, job in rows.items() if self._jobs.get(key) is not job]
            keys += [key for key in self._jobs if key not in rows]
        return [*keys, *self._verdicts.doubted()]

    def _judge_job(self, key: str, *, in_full: bool = False) -> None:
        job = self._job_rows.job(key)
        self._jobs.pop(key, None)
        if job is None or job.namespace not in self._namespaces:
            self._leave(key)
            return
        self._jobs[key] = job
        plain = None if in_full else plain_start(job, self._store, self._job_rows)
        if plain is not None and plain.since_seconds is not None:
            if self._now_seconds - plain.since_seconds < WAITING_SECONDS:
                self._leave(key)
            else:
                self._groups.put(key, plain, is_job=True)
            return
        self._enter(
            key,
            job_finding(
                job,
                self._store,
                self._job_rows,
                self._verdicts,
                self._now_seconds,
                is_kept=self._keeps_verdicts,
            ),
            is_job=True,
        )

    # ---- any row

    def _enter(self, key: str, found: Finding | None, *, is_job: bool = False) -> None:
        if found is None:
            self._leave(key)
            return
        member = membership(found, self._store, self._job_rows)
        self._groups.put(key, member, found, is_job=is_job)
        root = found.root if found.root is not None and found.root.kind == "pod" else None
        if root != self._pod_root_of.get(key):
            self._forget_pod_root(key)
            if root is not None:
                owner = job_of_root(root, self._store, self._job_rows)
                self._pod_roots.setdefault(root, (owner, set()))[1].add(key)
                self._pod_root_of[key] = root

    def _leave(self, key: str) -> None:
        self._groups.drop(key)
        self._forget_pod_root(key)

    def _forget_pod_root(self, key: str) -> None:
        root = self._pod_root_of.pop(key, None)
        if root is not None:
            rows = self._pod_roots[root][1]
            rows.discard(key)
            if not rows:
                del self._pod_roots[root]

    def _follow_pods(self) -> None:
        """A pod that is a root is told as its job, which may be another one by now."""
        for root, (owner, rows) in list(self._pod_roots.items()):
            now = job_of_root(root, self._store, self._job_rows)
            if now != owner:
                self._pod_roots[root] = (now, rows)
                for key in list(rows):
                    self._judge_job(key)

    # ---- pods that are part of no job

    def _look_at_pods(self) -> None:
        view = self._verdicts.view(self._now_seconds)
        found = {row.row: row for row in pod_findings(view, self._namespaces)}
        for key in self._pods - found.keys():
            self._leave(key)
        for key, row in found.items():
            self._enter(key, row)
        self._pods = set(found)

    # ---- nodes

    def _look_at_nodes(self) -> None:
        store, known = self._store, self._verdicts.on_demand
        before = self._reads
        self._reads = NodeReads(
            self._groups.named("node"), marked_nodes(store), known.budgets, known.drains_ended
        )
        self._take_moved_nodes()
        if self._reads[1:] != before[1:]:
            self._nodes_due.update(dict.fromkeys(self._node_names.values()))
        self._nodes_due.update(dict.fromkeys(self._reads.named ^ before.named))
        pace = self._verdicts.pace
        while self._nodes_due:
            self._judge_node(self._nodes_due.popitem()[0])
            if pace.is_over():
                break
        for name in list(islice(self._nodes, _turns(self._nodes))):
            if pace.is_over():
                break
            self._judge_node(name)

    def _take_moved_nodes(self) -> None:
        store, seen = self._store, self._revision
        self._revision = store.revision
        moved = store.moved_since(Kind.NODE, seen)
        if moved is None:
            moved = {**self._node_names, **dict.fromkeys(store.records(Kind.NODE))}
        for uid in moved:
            node: Node | None = store.get(Kind.NODE, uid)
            if (former := self._node_names.pop(uid, None)) is not None:
                self._nodes_due[former] = None
            if node is not None:
                self._node_names[uid] = node.name
                self._nodes_due[node.name] = None

    def _judge_node(self, name: str) -> None:
        self._nodes.pop(name, None)
        node: Node | None = self._store.by_key(Kind.NODE, name)
        if node is None:
            self._leave(name)
            return
        self._nodes[name] = node
        self._enter(name, gpu_node_finding(node, self._store, self._now_seconds, self._reads))


def _turns(things: Sized) -> int:
    return TURNS if len(things) <= TURNS else TURNS // 2
