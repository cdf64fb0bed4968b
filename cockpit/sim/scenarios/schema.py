"""What a scenario file may say. Durations are numbers of seconds or texts like `90s`, `12m`, `2m30s`.

Every struct refuses unknown fields; what a type cannot say (names that must exist, one verb a step) is
checked in `check.py`.
"""

from typing import Any, Literal

import msgspec

Duration = float | int | str
Labels = dict[str, str]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab", kw_only=True):
    """A part of a scenario file."""


class Stages(_Part, frozen=True):
    """How long a machine of a pool takes for each stage, each after the one before."""

    launch: Duration = 20
    join: Duration = 15
    ready: Duration = 10
    gpus: Duration = 15


class ScenarioTaint(_Part, frozen=True):
    """A taint of every node of a pool."""

    key: str
    value: str = ""
    effect: Literal["NoSchedule", "NoExecute", "PreferNoSchedule"] = "NoSchedule"


class ScenarioPool(_Part, frozen=True):
    """Nodes of one kind. With `owner: machines` a MachineDeployment owns their number, with `min` and `max`
    also an autoscaler; without an owner they simply are there."""

    name: str
    nodes: int = 1
    gpus: int = 0
    product: str = ""
    cpu: str = "32"
    memory: str = "128Gi"
    pods: int = 110
    labels: Labels = {}
    taints: tuple[ScenarioTaint, ...] = ()
    zones: tuple[str, ...] = ()
    rack_size: int = 0
    replicas: int = 1
    mig: dict[str, int] = {}
    owner: Literal["none", "machines"] = "none"
    min: int | None = None
    max: int | None = None
    stages: Stages = Stages()
    launch_fails: str = ""
    exporter: Literal["A", "B", "C", "cockpit", "none"] = "A"


class Namespace(_Part, frozen=True):
    """A namespace, and whether its jobs may be queued (a LocalQueue `main` for a ClusterQueue)."""

    name: str
    queue: str = ""
    labels: Labels = {}


class Flavor(_Part, frozen=True):
    """A quota of GPUs on a pool."""

    pool: str
    gpus: int
    borrow: int | None = None


class Preemption(_Part, frozen=True):
    """Kueue's words for who may push whom aside."""

    within: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] = "Never"
    reclaim: Literal["Never", "LowerPriority", "Any"] = "Never"


class ScenarioQueue(_Part, frozen=True):
    """A ClusterQueue."""

    name: str
    flavors: tuple[Flavor, ...]
    cohort: str = ""
    preemption: Preemption = Preemption()


class ScenarioPriority(_Part, frozen=True):
    """A PriorityClass; where there are queues also a WorkloadPriorityClass of Kueue."""

    name: str
    value: int


class ScenarioJob(_Part, frozen=True):
    """Something to submit. `seconds` is how long it runs, `load` its pattern on the GPUs (see
    `cockpit/sim/actors/common/gpu_load.py`), `annotations` more of what a simulated pod can be told
    (see `cockpit/sim/actors/kubelet`)."""

    name: str
    namespace: str
    kind: Literal["mpijob", "job", "pod", "gang", "deployment"] = "job"
    workers: int = 1
    gpus: int = 1
    resource: str = "nvidia.com/gpu"
    cpu: str = "4"
    memory: str = "16Gi"
    queue: str = ""
    priority: str = ""
    pool: str = ""
    seconds: Duration | None = None
    load: str = ""
    exit_code: int | None = None
    retries: int = 3
    image: str = "registry.example/train:2.13"
    command: tuple[str, ...] = ("python", "/app/train.py")
    labels: Labels = {}
    annotations: Labels = {}
    owner: str = ""


class ScenarioTarget(_Part, frozen=True):
    """An object by kind (`job`, `pod`, `mpijob`, `deployment`, ...) and name."""

    kind: str
    name: str
    namespace: str = ""


class NodeJoins(_Part, frozen=True):
    """A single node of a pool's kind without an owner; its GPUs show after `gpus-after`."""

    name: str
    pool: str
    gpus_after: Duration = 0


class Outage(_Part, frozen=True):
    """A node whose kubelet falls silent for a while."""

    node: str
    seconds: Duration


class BrokenGpu(_Part, frozen=True):
    """Something wrong with a card: heat in degrees above the room's, an XID, gone from the bus; or mended."""

    node: str
    index: int = 0
    heat: float = 0.0
    xid: int = 0
    lost: bool = False
    remapped_rows: int = 0
    mended: bool = False


class Silence(_Part, frozen=True):
    """A node whose exporter stops answering, or answers again."""

    node: str
    silent: bool = True


class ScenarioStep(_Part, frozen=True):
    """What happens at a time after the start: exactly one of the verbs. `say` tells the log what it means."""

    at: Duration
    say: str = ""
    submit: ScenarioJob | None = None
    apply: dict[str, Any] | None = None
    delete: ScenarioTarget | None = None
    cordon: str | None = None
    node: NodeJoins | None = None
    outage: Outage | None = None
    gpu: BrokenGpu | None = None
    exporter: Silence | None = None


VERBS = (
    "submit",
    "apply",
    "delete",
    "cordon",
    "node",
    "outage",
    "gpu",
    "exporter",
)


class StreamChoice(_Part, frozen=True):
    """One shape of job in a stream; `weight` says how often, `name` is a prefix."""

    job: ScenarioJob
    weight: float = 1.0
    seconds_between: tuple[Duration, Duration] | None = None


class JobStream(_Part, frozen=True):
    """Jobs that keep coming: `every` seconds on average (exponential), from `after` on.

    With `day-seconds` the rate rises and falls like the hours of a day of that length; `most` is how many of
    its jobs wait or run at a time. One that has ended goes after `keep`; one that has not ended `gives-up`
    after it came is deleted by its owner.
    """

    name: str
    every: Duration
    jobs: tuple[StreamChoice, ...]
    after: Duration = 0
    most: int = 40
    keep: Duration = 240
    gives_up: Duration | None = None
    day_seconds: Duration | None = None


class Bulk(_Part, frozen=True):
    """Many like jobs at the start: `count` of `job`, named `name-0`, `name-1`, ..."""

    count: int
    job: ScenarioJob


class Standing(_Part, frozen=True):
    """What has been there since `age` before the start: nodes that nobody owns, and these jobs."""

    age: Duration
    bulk: tuple[Bulk, ...] = ()


class Churn(_Part, frozen=True):
    """Changes a second that touch pods without a meaning of their own: what a large fleet does all day."""

    per_second: float


class Incidents(_Part, frozen=True):
    """Causes drawn by seed; the true one of each is recorded apart from the cluster."""

    causes: tuple[str, ...]
    count: int = 1
    first: Duration = 60
    every: Duration = 180


class Patience(_Part, frozen=True):
    """The autoscaler's timers."""

    scan: Duration = 10
    unneeded: Duration = 600
    after_add: Duration = 600


class Scenario(_Part, frozen=True):
    """A whole scenario. `seconds` is how long its story takes; it goes on living after that. It is stepped
    by at most `warm-most` before anybody may look at it: a large cluster comes up before one's eyes."""

    name: str
    title: str
    story: str = ""
    seconds: Duration = 180
    warm_most: Duration = 86_400
    native_gangs: bool = False
    """The gates of kube-scheduler's own gangs are on; they are off in a cluster of 1.36 that nobody asked."""
    prometheus: bool = False
    """A Prometheus remembers what exporters and kubelets told over the last hours."""
    namespaces: tuple[Namespace, ...] = ()
    priorities: tuple[ScenarioPriority, ...] = ()
    pools: tuple[ScenarioPool, ...] = ()
    queues: tuple[ScenarioQueue, ...] = ()
    autoscaler: Patience | None = None
    standing: Standing | None = None
    bulk: tuple[Bulk, ...] = ()
    steps: tuple[ScenarioStep, ...] = ()
    streams: tuple[JobStream, ...] = ()
    churn: Churn | None = None
    incidents: Incidents | None = None
    faults: tuple[dict[str, Any], ...] = ()
