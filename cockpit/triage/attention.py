"""What needs a human now: one ranked list over jobs, nodes and streams, a row for each root or for many that
are alike, kept from look to look: what moved is judged at once, the rest in turn.

A row of a job is made again by all that moves it (`JobReader.moved_since`), so its finding is, too. What
rests on the time, on the room of nodes or on samples has its turn: each of up to `TURNS` jobs and as many
nodes at every look, of more half as many, first those that tell of a root, then those that were looked at
longest ago.
"""

from collections.abc import Iterable, Iterator, Sized
from datetime import UTC, datetime
from itertools import islice
from typing import Final

from msgspec.structs import replace

from cockpit.catalogue import row_of
from cockpit.gangs.sentence import counted, one_line
from cockpit.model.batch import Phase, StreamStatus
from cockpit.model.broken_write import BrokenWrite
from cockpit.model.finding import Finding, Subject
from cockpit.model.job import Job
from cockpit.model.job_reader import JobReader
from cockpit.model.namespaces import EVERY, Namespaces
from cockpit.model.node import Node
from cockpit.model.record import Kind
from cockpit.model.refusal import Remedy
from cockpit.model.right import cannot
from cockpit.model.store_reader import StoreReader
from cockpit.pools import registry as pool_owners
from cockpit.triage.alerts import APART, TOGETHER, AlertRows, shared_words, unread_finding
from cockpit.triage.judgement import qualified
from cockpit.triage.node_signs import marked_nodes
from cockpit.triage.now_findings import (
    WAITING_SECONDS,
    NodeReads,
    gpu_node_finding,
    job_finding,
    plain_start,
    pod_findings,
)
from cockpit.triage.remedies import LIST, KeyRemedy
from cockpit.triage.roots import RootGroups, job_of_root, membership
from cockpit.triage.verdicts import RIPE_SECONDS, Verdicts

BROKEN_OFF: Final = "write-broken-off"
ACKNOWLEDGE: Final = KeyRemedy("acknowledge", "a", "acknowledge")
UNKNOWN_AGE_SECONDS = 3_600.0
"""How old a trouble is taken to be of which nothing tells since when it is there."""


def rank(row: Finding, now_seconds: float) -> tuple[bool, float, float, str]:
    """Broken before wasteful, more GPU-hours before fewer, older before newer; the key settles ties."""
    since = row.since_seconds
    age_seconds = UNKNOWN_AGE_SECONDS if since is None else max(0.0, now_seconds - since)
    return not row.is_bad, -row.gpus * age_seconds, float("inf") if since is None else since, row.key


def needs_human(
    store: StoreReader,
    jobs: JobReader,
    now_seconds: float,
    namespaces: Namespaces = EVERY,
    *,
    verdicts: Verdicts | None = None,
) -> tuple[Finding, ...]:
    """A row for each root, or for many that are alike, the most urgent first.

    With namespaces only their jobs; nodes and streams belong to everybody. `verdicts` are those that a caller
    who asks again and again has kept, and the rows with them.
    """
    verdicts = verdicts or Verdicts(store, jobs)
    rows = _rows(verdicts)
    if rows is None or not rows.are_of(store, jobs, namespaces):
        rows = verdicts.rows_of_now = NowRows(store, jobs, verdicts, namespaces)
    found = rows.look(now_seconds)
    found += broken_findings(verdicts.on_demand.broken_writes)
    found += _owner_findings(store)
    found += filter(None, (unread_finding(store, now_seconds),))
    found += _stream_findings(store)
    return tuple(sorted(found, key=lambda row: rank(row, now_seconds)))


def _rows(verdicts: Verdicts) -> "NowRows | None":
    return verdicts.rows_of_now if isinstance(verdicts.rows_of_now, NowRows) else None


def go_on(verdicts: Verdicts, now_seconds: float) -> bool:
    """Carry on what the last look left, for as long as a look may take; whether something is left."""
    if (rows := _rows(verdicts)) is not None:
        rows.go_on(now_seconds)
    return is_behind(verdicts)


def is_behind(verdicts: Verdicts) -> bool:
    """Whether the last look left something."""
    rows = _rows(verdicts)
    return rows is not None and rows.is_behind


def _row(subject: Subject, sentence: str, since: float | None, remedy: str, *, finding: str) -> Finding:
    return Finding(
        subject=subject,
        finding=finding,
        row=subject.name if subject.kind == "stream" else f"{subject.kind}/{subject.name}",
        is_bad=finding != _DENIED,
        sentence=one_line(sentence),
        remedies=(KeyRemedy(remedy),),
        since_seconds=since,
    )


def broken_findings(writes: Iterable[BrokenWrite]) -> Iterator[Finding]:
    """A row for each write that was begun and not ended."""
    for write in writes:
        key = f"{write.audit_id}/{write.method}{write.path}"
        yield Finding(
            subject=Subject("write", "", f"{write.verb} {write.target}"),
            finding=BROKEN_OFF,
            row=key,
            is_bad=write.effect not in ("applied", "not applied") or write.is_between,
            sentence=one_line(_sentence(write)),
            remedies=(ACKNOWLEDGE,),
            since_seconds=write.at_seconds,
        )


def _sentence(write: BrokenWrite) -> str:
    begun = f"begun {datetime.fromtimestamp(write.at_seconds, UTC).strftime('%d %b %H:%M')} UTC, broken off"
    if write.is_between:
        return f"{begun} after {write.done} of {write.calls} calls: the rest was not sent"
    more = f"; {write.done} of {write.calls} calls before it done" if write.calls > 1 else ""
    why = f": {write.why}" if write.why else ""
    return f"{begun}: {write.effect}{why}{more}"


def _owner_findings(store: StoreReader) -> Iterator[Finding]:
    """Autoscalers that do not work: no pool of theirs grows, whoever waits."""
    for one in pool_owners.troubles(store):
        subject = Subject("stream", "", one.source)
        yield _row(subject, one.sentence, one.since_seconds, one.remedy, finding="autoscaler-stopped")


_DENIED, _ASK = "stream-denied", "ask for the right"
MOST_DENIED: Final = 3
"""Kinds that may not be listed anywhere and stand by themselves; more of them are one row: a missing role."""


def _resource(name: str) -> str:
    """`cronjobs.batch` of the list `otherjobs/cronjobs.batch/team-a`."""
    parts = name.split("/")
    return parts[min(1, len(parts) - 1)]


def _stream_findings(store: StoreReader) -> Iterator[Finding]:
    """Kinds that may not be read: what they would show is missing, not fine. An expired login is one row."""
    out = [one for one in store.statuses().values() if one.phase is Phase.NOT_LOGGED_IN]
    if status := next((one for one in out if one.kind not in (Kind.GPU, Kind.ALERT)), None):
        subject, remedy = Subject("stream", "", "login"), Remedy.LOG_IN.value
        yield _row(subject, status.message, status.since_seconds, remedy, finding="not-logged-in")
    by_namespace: dict[str, list[StreamStatus]] = {}
    everywhere: dict[str, StreamStatus] = {}
    for name, status in store.statuses().items():
        if status.phase is not Phase.DENIED or status.kind == Kind.ALERT:
            continue
        if status.scope and "/" not in status.scope and "." not in status.scope:
            by_namespace.setdefault(status.scope, []).append(status)
            continue
        if status.kind in (Kind.MACHINE, Kind.AUTOSCALER):
            continue  # no finding rests on it: the pool says where it misses them
        if status.kind in (Kind.DEVICE_SLICE, Kind.DEVICE_CLAIM) and not store.uses_claims:
            continue  # nothing comes by claim here
        everywhere[name] = status
    if len(everywhere) > MOST_DENIED:
        kinds = sorted({_resource(name) for name in everywhere})
        words = cannot(f"list {len(kinds)} kinds: {', '.join(kinds)}")
        yield _row(Subject("stream", "", "rights"), words, _first(everywhere.values()), _ASK, finding=_DENIED)
    else:
        for name, status in everywhere.items():
            words = status.message or cannot(f"list {status.kind}")
            yield _row(Subject("stream", "", name), words, status.since_seconds, _ASK, finding=_DENIED)
    for namespace, denied in by_namespace.items():
        words = cannot(f"list {', '.join(sorted(one.kind for one in denied))} in {namespace}")
        yield _row(Subject("namespace", "", namespace), words, _first(denied), _ASK, finding=_DENIED)


def _first(statuses: Iterable[StreamStatus]) -> float | None:
    return min((one.since_seconds for one in statuses if one.since_seconds is not None), default=None)


# ---- rows that are alike


MANY: Final = 10
"""Rows of one kind of object with one cause that stand by themselves (own choice: half a screen)."""
FEW: Final = 5
"""To so few they have to fall before they stand by themselves again."""


class AlikeRows:
    """Which rows are one at the moment; kept between looks, so that they do not come and go."""

    def __init__(self, store: StoreReader, many: int = MANY, few: int = FEW) -> None:
        self._store, self._many, self._few = store, many, few
        self._together: set[tuple[str, str, str]] = set()

    def joined(self, rows: Iterable[Finding]) -> list[Finding]:
        """The rows, with those of more than `many` objects of one kind and cause as one, or with one alert.
        What has neither has words and a remedy for one object, and stays by itself."""
        shapes: dict[tuple[str, str, str], list[Finding]] = {}
        for row in rows:
            kind = (row.root or row.subject).kind
            is_shared = bool(row.cause or row.alerts)
            shapes.setdefault((row.finding, row.cause, kind if is_shared else row.key), []).append(row)
        before = self._together
        self._together = {
            shape
            for shape, some in shapes.items()
            if len(some) > (self._few if shape in before else self._many)
        }
        found: list[Finding] = []
        for shape, some in shapes.items():
            found += [self._one(shape[2], some)] if shape in self._together else some
        return found

    def _one(self, kind: str, rows: list[Finding]) -> Finding:
        oldest = min(rows, key=lambda row: (row.since_seconds or 0.0, row.key))
        jobs = sum(row.others + (row.subject.kind == "job") for row in rows)
        tail = "" if kind == "job" or not jobs else f"; {counted(jobs, 'job')}"
        whole = replace(
            oldest,
            subject=Subject("alike", "", counted(len(rows), kind, _plural(kind))),
            root=None,
            sentence=(row_of(oldest.cause).meaning if oldest.cause else shared_words(rows)) + tail,
            words="",
            evidence=(),
            funnel=None,
            row=f"{oldest.cause}/{kind}",
            is_bad=any(row.is_bad for row in rows),
            gpus=sum(row.gpus for row in rows),
            since_seconds=min(
                (row.since_seconds for row in rows if row.since_seconds is not None), default=None
            ),
            remedies=(LIST,),
            others=sum(1 + row.others for row in rows) - 1,
            alike=tuple(rows),
            alerts=(),
        )
        return qualified(whole, self._store)


def _plural(noun: str) -> str:
    if noun.endswith("y"):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


# ---- kept from look to look


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
        self._groups = RootGroups(self._refresh, self._put_off)
        self._alike, self._alike_alerts = AlikeRows(store), AlikeRows(store, TOGETHER, APART)
        self._alerts = AlertRows(store, jobs, namespaces)
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
        own = self._alike.joined(self._groups.told())
        found, alerts = self._alerts.among(own, self._groups.covering, now_seconds)
        return [*found, *self._alike_alerts.joined(alerts)]

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

    def _put_off(self, keys: Iterable[str]) -> bool:
        """Whether the time of this look is used up: if so, these are judged with the looks that follow."""
        if not self._verdicts.pace.is_over():
            return False
        for key in keys:
            (self._nodes_due if key in self._nodes else self._due)[key] = None
        return True

    # ---- jobs

    @property
    def _keeps_verdicts(self) -> bool:
        return len(self._job_rows.jobs) <= _MANY

    def _look_at_jobs(self) -> None:
        self._due.update(dict.fromkeys(self._moved()))
        self._follow_pods()
        pace = self._verdicts.pace
        while self._due:
            self._judge_job(self._due.popitem()[0])
            if pace.is_over(_SHARE_OF_MOVED):
                break
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
        asked = (job, self._store, self._job_rows, self._verdicts, self._now_seconds)
        self._enter(key, job_finding(*asked, is_kept=self._keeps_verdicts), is_job=True)

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
                self._due.update(dict.fromkeys(rows))

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
