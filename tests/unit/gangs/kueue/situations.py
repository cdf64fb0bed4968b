"""Situations of jobs under a real Kueue and mpi-operator, each in a namespace and queues of its own.

`record.py` makes them on a bed, waits until the controllers have said what there is to say, and writes the
objects down; `test_recorded.py` reads them. A situation is named by its function.
"""

from collections.abc import Callable, Sequence

from tests.unit.gangs.kueue.stage import KUEUE, Stage

HOST, RACK = "kubernetes.io/hostname", "cloud.example/rack"


def twins(stage: Stage) -> None:
    """Three equal jobs wait behind a running one."""
    stage.queue(gpus=8)
    stage.running("first", gpus=8)
    for name in ("second", "third", "fourth"):
        stage.job(name, gpus=8)
    stage.until_pending(3, conditions=1)


def too_large(stage: Stage) -> None:
    stage.queue(gpus=64)
    stage.job("huge", gpus=8, pods=512)
    stage.until_told("huge")


def strict_head(stage: Stage) -> None:
    """A head that waits, and one behind it that would fit."""
    stage.queue(gpus=8, queueingStrategy="StrictFIFO")
    stage.running("first", gpus=6)
    stage.job("head", gpus=8)
    stage.until_told("head")
    stage.job("small", gpus=1)
    stage.settle()


def lent_out(stage: Stage) -> None:
    """The queue's own quota is unused and lent to its cohort."""
    cohort = stage.name("site")
    preemption = {"reclaimWithinCohort": "Never", "withinClusterQueue": "Never"}
    stage.queue(gpus=8, cohortName=cohort, preemption=preemption)
    stage.queue("other", gpus=8, cohortName=cohort, preemption=preemption)
    stage.running("borrower", gpus=7, pods=2, queue="other")
    stage.job("owner", gpus=8)
    stage.until_told("owner")


def cpu_short(stage: Stage) -> None:
    stage.queue(gpus=64, cpu="16")
    stage.running("first", gpus=1, cpu="12")
    stage.job("second", gpus=1, cpu="5500m")
    stage.until_told("second")


def check_waits(stage: Stage) -> None:
    stage.check("budget")
    stage.queue(gpus=8, checks=("budget",))
    stage.job("first", gpus=8)
    stage.until("QuotaReserved", "True")
    stage.say_check("Pending", "waits for the approval of cost centre 4711")


def check_retries(stage: Stage) -> None:
    stage.check("capacity")
    stage.queue(gpus=8, checks=("capacity",))
    stage.job("first", gpus=8)
    stage.until("QuotaReserved", "True")
    stage.say_check("Retry", "no capacity in zone-b: try again later", requeueAfterSeconds=600)


def check_rejects(stage: Stage) -> None:
    stage.check("budget")
    stage.queue(gpus=8, checks=("budget",))
    stage.job("first", gpus=8)
    stage.until("QuotaReserved", "True")
    stage.say_check("Rejected", "budget of team research is used up for November")
    stage.until("Evicted", "True")


def gated(stage: Stage) -> None:
    stage.queue(gpus=8)
    stage.job("first", gpus=8, annotations={"kueue.x-k8s.io/admission-gated-by": "example.com/budget"})
    stage.settle()


def no_priority_class(stage: Stage) -> None:
    """Kueue makes no Workload, and no event of it comes in 0.19."""
    stage.queue(gpus=8)
    stage.job("first", gpus=8, labels={"kueue.x-k8s.io/priority-class": "urgent"})
    stage.settle(4)


def no_queue(stage: Stage) -> None:
    stage.queue(gpus=8)
    stage.job("first", gpus=8, queue="nowhere")
    stage.until_told("first")


def wrong_namespace(stage: Stage) -> None:
    stage.queue(gpus=8, namespaceSelector={"matchLabels": {"team": "secret"}})
    stage.job("first", gpus=8)
    stage.until_told("first")


def stopped_queue(stage: Stage) -> None:
    stage.queue(gpus=8, stopPolicy="HoldAndDrain")
    stage.job("first", gpus=8)
    stage.until_told("first")


def no_flavor(stage: Stage) -> None:
    stage.queue(gpus=8, flavor="nosuch")
    stage.job("first", gpus=8)
    stage.until_told("first")


def tainted_flavor(stage: Stage) -> None:
    stage.flavor("spot", nodeTaints=[{"key": "team", "value": "secret", "effect": "NoSchedule"}])
    stage.queue(gpus=8, flavor=stage.name("spot"))
    stage.job("first", gpus=8)
    stage.until_told("first")


def selector_rules_out(stage: Stage) -> None:
    stage.flavor("h100", nodeLabels={"gpu": "h100"})
    stage.queue(gpus=8, flavor=stage.name("h100"))
    stage.job("first", gpus=8, nodeSelector={"gpu": "b300"})
    stage.until_told("first")


def resource_not_covered(stage: Stage) -> None:
    stage.queue(gpus=8)
    stage.job("first", gpus=8, resource="amd.com/gpu")
    stage.until_told("first")


def deactivated(stage: Stage) -> None:
    stage.queue(gpus=8)
    stage.running("first", gpus=8)
    stage.patch_workload("first", {"spec": {"active": False}})
    stage.until("Requeued", "False")


def preempted(stage: Stage) -> None:
    stage.queue(gpus=8, preemption={"withinClusterQueue": "LowerPriority"})
    stage.running("first", gpus=8)
    stage.priority("urgent", 1000)
    stage.job("second", gpus=8, labels={"kueue.x-k8s.io/priority-class": stage.name("urgent")})
    stage.until("Evicted", "True", "first")
    stage.until("Admitted", "True", "second")
    stage.until("QuotaReserved", "False", "first")
    stage.settle()


def partly_admitted(stage: Stage) -> None:
    stage.queue(gpus=4)
    stage.job("first", gpus=1, pods=6, annotations={"kueue.x-k8s.io/job-min-parallelism": "2"})
    stage.until("Admitted", "True")
    stage.until_running(4)


def elastic_grows(stage: Stage) -> None:
    """It runs with one pod; the slice with nine waits."""
    stage.queue(gpus=4)
    stage.job("first", gpus=1, annotations={"kueue.x-k8s.io/elastic-job": "true"}, completions=None)
    stage.until("Admitted", "True")
    stage.until_running(1)
    stage.patch("jobs", "first", {"spec": {"parallelism": 9}})
    stage.settle(4)


def _topology(stage: Stage, levels: Sequence[str]) -> None:
    stage.make(
        {
            "apiVersion": KUEUE,
            "kind": "Topology",
            "metadata": {"name": stage.name("dc")},
            "spec": {"levels": [{"nodeLabel": level} for level in levels]},
        }
    )
    pool = {"node-pool": stage.space}
    stage.flavor("tas", topologyName=stage.name("dc"), nodeLabels=pool)
    for index in range(3):
        stage.node(f"{stage.space}-{index}", rack=f"rack-{index // 2}")
    stage.queue(gpus=64, flavor=stage.name("tas"))


def rack_too_small(stage: Stage) -> None:
    _topology(stage, (RACK, HOST))
    stage.job("first", gpus=8, pods=3, notes={"kueue.x-k8s.io/podset-required-topology": RACK})
    stage.until_told("first")


def level_missing(stage: Stage) -> None:
    _topology(stage, (HOST,))
    stage.job("first", gpus=8, notes={"kueue.x-k8s.io/podset-required-topology": "cloud.example/block"})
    stage.until_told("first")


def topology_node_lost(stage: Stage) -> None:
    _topology(stage, (HOST,))
    stage.job("first", gpus=8, pods=3, notes={"kueue.x-k8s.io/podset-required-topology": HOST})
    stage.job("second", gpus=8, pods=2, notes={"kueue.x-k8s.io/podset-preferred-topology": HOST})
    stage.until("Admitted", "True", "second")
    stage.until_running(2)
    stage.lose_node_of("second")
    stage.settle(6)


def launcher_not_covered(stage: Stage) -> None:
    """The launcher asks for nothing that the queue covers."""
    _topology(stage, (HOST,))
    stage.mpijob(
        "first", workers=2, gpus=8, launcher={}, notes={"kueue.x-k8s.io/podset-required-topology": HOST}
    )
    stage.until_told("first")


def mpijob_waits(stage: Stage) -> None:
    stage.queue(gpus=8)
    stage.mpijob("first", workers=2, gpus=8)
    stage.until_told("first")


def launcher_as_worker(stage: Stage) -> None:
    stage.queue(gpus=64)
    stage.mpijob("first", workers=2, gpus=4, run_launcher_as_worker=True)
    stage.until_running(3)


def worker_evicted(stage: Stage) -> None:
    """A node low on memory evicts a worker: mpi-operator and Kueue quarrel about the launcher since."""
    stage.queue(gpus=64)
    stage.mpijob("first", workers=2, gpus=4)
    stage.until_running(3)
    stage.evict("first-worker-1")
    stage.settle(12)


def mpijob_invalid(stage: Stage) -> None:
    stage.queue(gpus=64)
    stage.mpijob("first", workers=2, gpus=4, launchers=2, queue=None)
    stage.until_warning("first")


SITUATIONS: dict[str, Callable[[Stage], None]] = {
    one.__name__: one
    for one in (
        twins,
        too_large,
        strict_head,
        lent_out,
        cpu_short,
        check_waits,
        check_retries,
        check_rejects,
        gated,
        no_priority_class,
        no_queue,
        wrong_namespace,
        stopped_queue,
        no_flavor,
        tainted_flavor,
        selector_rules_out,
        resource_not_covered,
        deactivated,
        preempted,
        partly_admitted,
        elastic_grows,
        rack_too_small,
        level_missing,
        topology_node_lost,
        launcher_not_covered,
        mpijob_waits,
        launcher_as_worker,
        worker_evicted,
        mpijob_invalid,
    )
}
