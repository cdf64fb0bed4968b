"""The verdict about one thing and what would start it, made again where the store moved."""

import msgspec

from cockpit.fit.scheduling_context import UNKNOWN
from cockpit.model.finding import Finding, Subject
from cockpit.screens.app_protocol import Cockpit
from cockpit.store.signal import SHARE_OF_TIME
from cockpit.triage.advice import advised
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain, is_explained
from cockpit.triage.troubles import Trouble
from cockpit.views.detail import Detail
from cockpit.views.why_detail import finding_detail


class Explanation:
    """Of one subject: for its page, which also reads on demand, and for the detail beside its row."""

    def __init__(self, cockpit: Cockpit, subject: Subject) -> None:
        self.subject = subject
        self.verdict: Finding | None = None
        self._cockpit = cockpit
        self._known = cockpit.known_of_pools()  # once: no pool grows while one reads
        self._read: ClusterView | None = None
        self._revision = -1
        self._explained_at = 0.0  # monotonic
        self._explain_seconds = 0.0

    @property
    def is_read(self) -> bool:
        """Whether what is read on demand is in the verdict."""
        return self._read is not None and self._revision != -1

    def take(self, read: ClusterView) -> None:
        """What was read on demand; it is in the next verdict."""
        self._read, self._revision = read, -1

    def view(self) -> ClusterView:
        """The cluster now, with what was read on demand for this subject or for the rows that led here."""
        cluster, now = self._cockpit.cluster, self._cockpit.clock.cluster_now()
        said = cluster.verdicts.on_demand
        known = ClusterView(
            store=cluster.store,
            jobs=cluster.jobs,
            now_seconds=now,
            last_lines=said.last_lines,
            around=msgspec.structs.replace(UNKNOWN, budgets=said.budgets),
            past=self._cockpit.now_watch.past,
            known=self._known,
            idle=said.idle,
            ended_drains=said.drains_ended,
        )
        if (read := self._read) is None:
            return known
        return msgspec.structs.replace(
            known, trees=read.trees, around=read.around, last_lines=read.last_lines, progress=read.progress
        )

    def explained(self, known: ClusterView) -> Finding:
        """The verdict on that view, made again when the store has changed, at a bounded share of the time."""
        clock, revision = self._cockpit.clock, known.store.revision
        since = clock.monotonic() - self._explained_at
        is_due = self._revision == -1 or since >= self._explain_seconds / SHARE_OF_TIME
        if self.verdict is None or (revision != self._revision and is_due):
            begun = clock.monotonic()
            self.verdict = advised(explain(self.subject, known), known)
            self._explained_at, self._revision = clock.monotonic(), revision
            self._explain_seconds = self._explained_at - begun
        return self.verdict


class ProblemDetail:
    """The detail of a row of *Now*. Keeps the explanation of the row that was asked for last."""

    def __init__(self, cockpit: Cockpit) -> None:
        self._cockpit = cockpit
        self._about: Explanation | None = None

    def of(self, row: Trouble) -> Detail:
        """Why, with its funnel and offers; what the row says where there is no verdict about its subject."""
        subject, now_seconds = row.found.subject, self._cockpit.clock.cluster_now()
        if not is_explained(subject.kind) or row.is_resolved:
            return finding_detail(row, None, None, now_seconds)
        if self._about is None or self._about.subject != subject:
            self._about = Explanation(self._cockpit, subject)
        known = self._about.view()
        return finding_detail(row, self._about.explained(known), known, now_seconds)
