"""A night shift: many incidents of different kinds among about a thousand healthy objects, looked at fresh.

Most incidents are scripts of the corpus, each on nodes and in a namespace of its own; those that concern
several objects are staged here. What *Now* has to say is what the script says.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from cockpit.fit.scheduling_context import budget_of
from cockpit.model.finding import Finding, Subject
from cockpit.model.pod import Pod
from cockpit.triage.attention import needs_human
from cockpit.triage.on_demand import rows_of
from cockpit.triage.verdicts import Verdicts
from tests.triage.case import Case, CaseFile, Recorded, Tree
from tests.triage.draw import Draw
from tests.triage.fixture_stage import FixtureStage
from tests.triage.incidents import STAGED, running_job
from tests.triage.night_telemetry import Habit, Telemetry, healthy, used
from tests.triage.scripts import ALL
from tests.triage.stage import SCRIPTS
from tests.triage.world import store_of

PLAYED = (
    *(
        "launcher-not-made-group-counts-the-launcher",
        "namespace-going-namespace-going",
        "admission-gated-admission-gated",
        "evicted-in-a-loop-evicted-in-a-loop",
    ),
    *(
        "gang-members-missing-members-missing",
        "gang-missing-no-such-group",
        "several-schedulers-two-schedulers",
        "image-not-pulled-image-absent",
    ),
    *(
        "image-not-pulled-image-unauthorized",
        "gpus-unhealthy-unhealthy-gpus",
        "devices-unavailable-devices-unavailable",
        "refused-by-kubelet-numa",
    ),
    *(
        "init-container-init-container",
        "evicted-by-kubelet-evicted",
        "not-ready-not-ready",
        "node-pressure-pressure",
        "config-missing-config-missing",
    ),
    *(
        "cannot-start-driver-not-loaded",
        "cannot-start-no-such-command",
        "no-sandbox-sandbox",
        "volume-not-mounted-configmap-not-there",
        "volume-not-mounted-mount",
    ),
    *(
        "devices-not-prepared-prepare-devices",
        "node-not-ready-not-ready",
        "gpu-stack-down-plugin-down",
        "launcher-too-early-launcher-too-early",
    ),
    *(
        "quota-victims-ending-waits-for-victims",
        "elastic-quota-used-up-elastic-quota",
        "queue-over-limit-over-quota",
        "crashes-crash-loop",
        "lost-with-node-node-lost-under-kueue",
    ),
    *(
        "ssh-refused-ssh-refused",
        "too-few-slots-not-enough-slots",
        "shared-memory-shared-memory",
        "horovod-not-built-horovod-not-built",
        "no-rendezvous-rendezvous",
    ),
    *("below-minimum-too-few-slots",),
)
"""Scripts that need nothing but what the cockpit watches."""

LATER_SECONDS = 300.0
"""What scripts stage is ten minutes old: the cockpit is opened a quarter of an hour after it began."""
NODES, JOBS, WORKERS = 96, 96, 8
_NOW = 1_763_900_000.0


class Incident(NamedTuple):
    """What was injected; `subject` and `names` are in the one row about it. A name "a|b" is either."""

    kind: str
    subject: str
    names: tuple[str, ...]

    def is_told_by(self, row: Finding) -> bool:
        """Whether the row is about it, in words that name cause and object."""
        text = f"{row.title} {row.sentence}"
        wanted = (self.subject, *self.names)
        return all(any(one in text for one in name.split("|")) for name in wanted)


class Night(NamedTuple):
    """A cluster, what is wrong in it, when it is looked at, and what is wrong by what telemetry remembers."""

    incidents: tuple[Incident, ...]
    case: Case
    telemetry: Telemetry = Telemetry({})
    measured: tuple[Incident, ...] = ()

    def rows(self) -> tuple[Finding, ...]:
        """What *Now* says to somebody who just opened it."""
        store, jobs = store_of(self.case)
        verdicts, now = Verdicts(store, jobs), self.case.file.now
        self.telemetry.fill(store, jobs, verdicts.on_demand.idle, now)

        def look() -> tuple[Finding, ...]:
            return needs_human(store, jobs, now, verdicts=verdicts)

        on_demand = verdicts.on_demand
        for pod in on_demand.unread(rows_of(look(), store, jobs)):
            verdicts.hear(pod, self._last_lines(pod))
        if on_demand.needs_budgets(store, now):
            budgets = self.case.objects.get("poddisruptionbudgets.policy", ())
            on_demand.take_budgets(tuple(map(budget_of, budgets)), now)
        return look()

    def _last_lines(self, pod: Pod) -> str:
        said = [lines for key, lines in self.case.logs.items() if key.startswith(f"{pod.key}/")]
        return "\n".join(said[0]) if said else ""

    def complaints(self) -> list[str]:
        """What is missing, told twice, or told of nothing."""
        return self.complaints_about(self.rows(), self.measured)

    def complaints_about(self, rows: Sequence[Finding], measured: tuple[Incident, ...] = ()) -> list[str]:
        """The same of rows that were seen elsewhere, by default without telemetry."""
        told, found = set[str](), list[str]()
        for one in (*self.incidents, *measured):
            about = [row for row in rows if one.is_told_by(row)]
            told |= {row.key for row in about}
            if len(about) != 1:
                near = [row.sentence for row in rows if one.subject in row.title]
                found.append(f"{one.kind}: {len(about)} rows name {one.subject}, {one.names}; near: {near}")
        return found + [f"nothing is wrong: {row}" for row in rows if row.key not in told]


def night(seed: int, now_seconds: float = _NOW) -> Night:
    """The cluster of a seed, staged at that time and looked at `LATER_SECONDS` after."""
    assert ALL, "to import the scripts is to register them"
    draw = Draw("night", seed)
    stages: list[FixtureStage] = []

    def stage() -> FixtureStage:
        made = FixtureStage(draw)
        made.now_seconds = now_seconds
        stages.append(made)
        return made

    played = [(name, SCRIPTS[name].play(stage())) for name in PLAYED]
    incidents = [Incident(name, told.subject.key, told.names) for name, told in played]
    incidents += [_staged(stage(), play) for play in STAGED]
    habits: dict[str, Habit] = {}
    measured = [
        Incident(habit.name.lower(), *subject)
        for habit in Habit
        if (subject := used(stage(), habit, habits))[1]
    ]
    around = stage()
    _healthy(around)
    habits |= healthy(around.get("pods"))
    logs = {key: lines for _, told in played for key, lines in told.logs.items()}
    case = _case(seed, now_seconds, stages, logs)
    return Night(tuple(incidents), case, Telemetry(habits), tuple(measured))


def _staged(stage: FixtureStage, play: Callable[[FixtureStage], tuple[str, tuple[str, ...]]]) -> Incident:
    subject, names = play(stage)
    return Incident(play.__name__, subject, names)


def _case(seed: int, now_seconds: float, stages: list[FixtureStage], logs: Mapping[str, list[str]]) -> Case:
    objects: dict[str, list[Tree]] = {}
    for one in stages:
        for label, trees in one.objects().items():
            objects.setdefault(label, []).extend(trees)
    for label in ("pods", "events"):
        objects[label] = [counted_nodes(tree, len(objects["nodes"])) for tree in objects[label]]
    file = CaseFile(
        causes=(),
        top="",
        also=(),
        subject=Subject("fleet", "", ""),
        names=(),
        now=now_seconds + LATER_SECONDS,
        recorded=Recorded(source="fixture", script="night", seed=seed),
    )
    return Case(name=f"night-{seed}", file=file, objects=objects, logs=dict(logs))


def counted_nodes(tree: Tree, nodes: int) -> Tree:
    """An object with how many nodes there are, and how many less, in what schedulers say."""
    text = json.dumps(tree)
    if "<all" not in text:
        return tree
    counted: Tree = json.loads(re.sub(r"<all(?:-(\d+))?>", lambda one: str(nodes - int(one[1] or 0)), text))
    return counted


def _healthy(stage: FixtureStage) -> None:
    """Nodes and jobs that do what they should."""
    pool = stage.pool(NODES)
    for number in range(JOBS):
        running_job(stage, WORKERS, pool.nodes, number)
