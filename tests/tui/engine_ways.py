"""How gangs go under each engine: what is typed, what the form must say, what a row says while it waits."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Way:
    """How gangs go under one engine. `values` are form fields by label, beside name, namespace, image, size.

    `says` is what the form must say of its all or nothing, `foresees` what of the gang that does not fit,
    `why` one of what its row says while it waits. `retries` is False where only *retry now* helps.
    """

    template: str
    values: Mapping[str, str]
    says: tuple[str, ...]
    foresees: tuple[str, ...]
    why: tuple[str, ...]
    kinds: str
    retries: bool = True
    workers: str = "Pods"
    beside: int = 0
    """Pods of the gang that ask for no GPU: an MPIJob's launcher."""
    waits_for_quota: bool = False  # no scheduler sees a pod of it before it is admitted

    @property
    def kind(self) -> str:
        return self.template


NO_ROOM = "needs 4 GPUs on one node: all 2 nodes lack free GPUs"
ROOM_FOR_TWO = "3 pods need 4 GPUs each: the nodes have room for 2 of them"
NATIVE = Way(
    template="job",
    values={"Engine": "native"},
    says=("Binds minCount pods together or none",),
    foresees=("no room for 1 of 3",),
    why=(ROOM_FOR_TWO,),
    kinds="jobs,pods,podgroups.scheduling.k8s.io",
)
COSCHEDULING = Way(
    template="job",
    values={"Engine": "coscheduling"},
    says=("Binds all pods together or none", "retry now does"),
    foresees=("no room for 1 of 3",),
    # the cause stands in one event of one pod, and is lost where the server folds it into an earlier one
    why=(NO_ROOM, ROOM_FOR_TWO, "needs 3 x 4 GPUs at once and was refused; waits to be tried again"),
    kinds="jobs,pods,podgroups.scheduling.x-k8s.io",
    retries=False,
)
_KUEUE_WAITS = "waits in queue main until the whole job is admitted"
_SHORT_OF_QUOTA = "queue research has 8 of the 12 GPUs left"
JOBSET = Way(
    template="jobset",
    values={"Queue": "main"},
    says=(_KUEUE_WAITS,),
    foresees=(_SHORT_OF_QUOTA,),
    why=("4 more needed",),
    kinds="jobsets,jobs,pods,workloads,services",
    workers="Nodes (pods)",
    waits_for_quota=True,
)
KUEUE_JOB = Way(
    template="job",
    values={"Queue": "main"},
    says=(_KUEUE_WAITS,),
    foresees=(_SHORT_OF_QUOTA,),
    why=("4 more needed",),
    kinds="jobs,pods,workloads",
    waits_for_quota=True,
)
KUEUE_MPIJOB = Way(
    template="mpijob",
    values={"Queue": "main"},
    says=(_KUEUE_WAITS,),
    foresees=(_SHORT_OF_QUOTA,),
    why=("4 more needed",),
    kinds="mpijobs,jobs,pods,workloads,services,configmaps,secrets",
    workers="Workers (pods)",
    beside=1,
    waits_for_quota=True,
)
BY_QUOTA = Way(
    template="job",
    values={"Queue": "main"},
    says=("Kueue admits it whole by quota; its pods then bind one by one",),
    foresees=(
        "Kueue counts quota, not places: it may admit all 20 GPUs while 16 are free",
        "no room for 1 of 5",
    ),
    why=(),
    kinds="jobs,pods,workloads",
)
"""Under a quota far beyond the nodes: a gang of 20 GPUs half-binds on 16, of which the form warns before."""
