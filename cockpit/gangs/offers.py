"""Changes of an engine's own objects that would let a job in, as data. What of them is offered is decided by
`cockpit.triage.changes`, which tries each at every gate."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cockpit.fit.quota import Cohorts
from cockpit.k8s.admission.admission_specs import FlavorSpec
from cockpit.k8s.json_patch import Operation
from cockpit.model.finding import Finding, Subject
from cockpit.model.gang import ClusterQueue, QuotaRow, Workload
from cockpit.model.job import Job
from cockpit.model.record import Record

Tree = Mapping[str, Any]
Trees = Mapping[tuple[str, str], Sequence[Tree]]
"""Objects that were read, by kind and namespace ("" for kinds without one)."""


class QueueCase(NamedTuple):
    """A job that its engine has yet to admit. `queue` is the one with the quota, `tree` the job's object as
    its author wrote it (None: not read), `asked` what all members ask for together, in base units."""

    namespace: str
    trees: Trees
    queue: ClusterQueue | None = None
    workload: Workload | None = None
    job: Job | None = None
    tree: Tree | None = None
    asked: Mapping[str, int] = {}


class EngineChange(NamedTuple):
    """One change. `records` and `trees` are objects as they read after it. `operations` edit the job's own
    object, where there is no `command`. `amount`: of two changes of one kind the smaller comes first."""

    kind: str
    words: str
    command: tuple[str, ...] = ()
    target: Subject | None = None
    records: tuple[tuple[str, Record], ...] = ()
    trees: tuple[Tree, ...] = ()
    operations: Sequence[Operation] = ()
    amount: int = 0


class Offers(NamedTuple):
    """What an engine with quota knows of changes that would let a job in.

    `changes` are those that mend the cause of a finding. `unmet` is what the queue asks of a job beside quota
    and the job does not meet. `quota_command` gives a queue the nominal quota of these rows. `flavors` and
    `cohorts` are those that were read, by name.
    """

    changes: Callable[[Finding, QueueCase], Iterator[EngineChange]]
    unmet: Callable[[QueueCase], Iterator[Finding]]
    quota_command: Callable[[ClusterQueue, Sequence[QuotaRow], Trees], tuple[str, ...]]
    flavors: Callable[[Trees], dict[str, FlavorSpec]]
    cohorts: Callable[[Trees], Cohorts]
