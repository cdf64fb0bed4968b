"""The gang of kube-scheduler 1.36 itself, with its gates on. Real."""

from cockpit.model.finding import Subject
from tests.triage.builders import fill, job, pod_spec, pool, run
from tests.triage.case import Tree
from tests.triage.stage import Expected, Stage, script

SCHEDULER = "kube-scheduler"
NATIVE = frozenset({"native"})
GROUPS = "podgroups.scheduling.k8s.io"


def _group(name: str, least: int) -> Tree:
    spec = {"schedulingPolicy": {"gang": {"minCount": least}}}
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": spec,
    }


def _members(stage: Stage, group: str, count: int) -> Subject:
    """A Job whose pods are members of a group."""
    name = stage.draw.job()
    stage.make(job(name, pod_spec(gpus=4, schedulingGroup={"podGroupName": group}), pods=count))
    stage.until(
        "jobs.batch",
        lambda one: one["metadata"]["name"] == name and (one.get("status") or {}).get("active", 0) >= count,
    )
    return Subject("job", stage.space, name)


def _passed_by(stage: Stage) -> None:
    """What is held before the queue gets no word; a later pod that runs shows that the scheduler is there."""
    run(stage, pod_spec(cpu="1"))


@script("gang-missing", "native-group-missing", SCHEDULER, parts=NATIVE)
def native_group_missing(stage: Stage) -> Expected:
    """The group does not exist: its pods are held without a word."""
    pool(stage)
    group = stage.draw.word("ddp-group", "ring")
    subject = _members(stage, group, stage.draw.number(1, 2))
    _passed_by(stage)
    return Expected(subject, (group,), ("held-before-queue",), later_seconds=90)


@script("gang-members-missing", "native-members-missing", SCHEDULER, parts=NATIVE)
def native_members_missing(stage: Stage) -> Expected:
    """The group wants more members than there are: held without a word."""
    pool(stage)
    group, has = stage.draw.word("ddp-group", "ring"), stage.draw.number(1, 3)
    stage.make(_group(group, has + 2))
    subject = _members(stage, group, has)
    _passed_by(stage)
    return Expected(subject, (str(has), str(has + 2)), ("held-before-queue",), later_seconds=90)


@script("gang-not-placed", "native-unschedulable", SCHEDULER, parts=NATIVE)
def native_unschedulable(stage: Stage) -> Expected:
    """All members are there, the nodes have room for some of them only."""
    place = pool(stage, count=2)
    fill(stage, place, [8, 4])
    group, count = stage.draw.word("ddp-group", "ring"), stage.draw.number(2, 3)
    stage.make(_group(group, count))
    subject = _members(stage, group, count)

    def is_told(tree: Tree) -> bool:
        conditions = (tree.get("status") or {}).get("conditions") or []
        return any(one["status"] == "False" for one in conditions)

    stage.until(GROUPS, is_told)
    stage.until("events", lambda one: one["reason"] == "FailedScheduling")
    return Expected(subject, (str(count),), ("gpus-short",))
