"""The kinds behind the field reports, as others had them: another engine or owner, other words, the healthy
case beside it, which says nothing of the kind."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import NamedTuple

import pytest
import yaml

from cockpit.catalogue import Cause, Permanence, by_cause, lasts
from cockpit.model.finding import FilterStep, Finding, Funnel, Subject
from cockpit.triage.engine import explain
from cockpit.triage.pool_walk import of_queue
from cockpit.views.why import lines
from tests.triage.case import Case, Tree
from tests.triage.field_reports import FOLDER, LOOK, reports
from tests.triage.world import view_of

NOW_SECONDS = 1_800_000_000.0
Edit = Callable[[list[Tree]], None]


class Played(NamedTuple):
    """A report with other words (`a=b`), then edited, all of them in one cluster with the other reports."""

    file: str
    words: tuple[str, ...]
    edit: Edit


def asked(kind: str, key: str, played: Played) -> Finding:
    space, _, name = key.rpartition("/")
    view = view_of(_case(played))
    subject = Subject(kind, space, name)
    return of_queue(subject, view) if kind == "queue" else explain(subject, view)


def _case(played: Played) -> Case:
    text = next(FOLDER.glob(f"{played.file}-*.yaml")).read_text()
    for word in played.words:
        old, _, new = word.partition("=")
        text = re.sub(rf"\b{re.escape(old)}\b", new, text)
    trees = list(yaml.safe_load_all(text))
    played.edit(trees)
    return reports(NOW_SECONDS, instead={played.file: trees})


def _of(trees: list[Tree], kind: str, name: str = "") -> Tree:
    return next(tree for tree in trees if tree["kind"] == kind and name in tree["metadata"]["name"])


def _nothing(trees: list[Tree]) -> None:
    pass


# ---- evicted, and its quota not released


def _drained(trees: list[Tree]) -> None:
    for mark in _of(trees, "Workload", "mt-base")["status"]["conditions"]:
        if mark["type"] == "Evicted":
            mark |= {"reason": "ClusterQueueStopped", "message": "The ClusterQueue is stopped"}


def _pytorch(trees: list[Tree]) -> None:
    _drained(trees)
    owner = _of(trees, "Workload", "mt-base")["metadata"]["ownerReferences"][0]
    owner |= {"apiVersion": "batch/v1", "kind": "Job"}
    set_ = _of(trees, "JobSet")
    set_ |= {"apiVersion": "batch/v1", "kind": "Job", "status": {}}
    set_["spec"] = {**_of(trees, "Job", "mt-small")["spec"], "parallelism": 2, "completions": 2}


def _lent(trees: list[Tree]) -> None:
    """The quota is that of another queue of the cohort."""
    queue = _of(trees, "ClusterQueue")
    queue["spec"]["cohort"] = "all-langs"
    other = yaml.safe_load(yaml.safe_dump(queue))
    other["metadata"]["name"] = "lang-spare"
    other["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] = "0"
    for part in ("flavorsUsage", "flavorsReservation"):
        other["status"][part][0]["resources"][0] |= {"total": "16", "borrowed": "16"}
        queue["status"][part][0]["resources"][0]["total"] = "0"
    _of(trees, "Workload", "mt-base")["status"]["admission"]["clusterQueue"] = "lang-spare"
    trees.append(other)


def _still_runs(trees: list[Tree]) -> None:
    job = _of(trees, "JobSet")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "mt-base-w-0-0-abcde",
            "namespace": "lang",
            "ownerReferences": [
                {
                    "apiVersion": "jobset.x-k8s.io/v1alpha2",
                    "kind": "JobSet",
                    "name": "mt-base",
                    "controller": True,
                }
            ],
        },
        "spec": {
            **job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"],
            "nodeName": "rack-a1",
        },
        "status": {"phase": "Running"},
    }
    trees.append(pod)


@pytest.mark.parametrize("edit", [_drained, _pytorch, _lent])
def test_quota_that_is_not_released_is_told_of_the_job_and_of_what_waits_for_it(edit: Edit) -> None:
    played = Played("01", (), edit)
    for name in ("mt-base", "mt-small"):
        found = asked("job", f"lang/{name}", played)
        assert (found.cause, "16 GPUs" in found.sentence) == (Cause.QUOTA_NOT_RELEASED, True), found.sentence
    assert "mt-base" in asked("job", "lang/mt-small", played).sentence


def test_a_queue_names_what_holds_it_and_is_well_once_that_has_pods() -> None:
    assert "lang/mt-base" in asked("queue", "lang-gpus", Played("01", (), _drained)).sentence
    for kind, key in (("job", "lang/mt-base"), ("job", "lang/mt-small"), ("queue", "lang-gpus")):
        found = asked(kind, key, Played("01", (), _still_runs))
        assert Cause.QUOTA_NOT_RELEASED not in {found.cause, *found.also}, found.sentence


# ---- a part is suspended


def _resumed(trees: list[Tree]) -> None:
    _of(trees, "RayCluster")["spec"]["suspend"] = False


def _in_a_queue(trees: list[Tree]) -> None:
    _of(trees, "RayCluster")["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "rl-nightly"}


def _of_a_service(trees: list[Tree]) -> None:
    job = _of(trees, "RayJob")
    job |= {"kind": "RayService", "status": {"activeServiceStatus": {"rayClusterName": "search-lr-x7"}}}
    job["spec"] = {"rayClusterConfig": job["spec"]["rayClusterSpec"]}
    _of(trees, "RayCluster")["metadata"]["ownerReferences"][0]["kind"] = "RayService"


@pytest.mark.parametrize(("edit", "word"), [(_in_a_queue, "rl-nightly"), (_of_a_service, "RayService")])
def test_the_part_that_is_suspended_is_named(edit: Edit, word: str) -> None:
    found = asked("job", "rl/search-lr", Played("02", (), edit))
    assert found.cause == Cause.PART_SUSPENDED, found.sentence
    assert "search-lr-x7" in found.sentence and word in found.sentence


def test_nothing_is_suspended_once_it_is_resumed() -> None:
    found = asked("job", "rl/search-lr", Played("02", (), _resumed))
    assert Cause.PART_SUSPENDED not in {found.cause, *found.also}


# ---- never fits, under a scheduler of its own


def _of_kai(trees: list[Tree]) -> None:
    pod = _of(trees, "Pod")
    del pod["metadata"]["annotations"]["gpu-memory"]
    pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = "12"
    pod["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "12"


def _in_other_words(trees: list[Tree]) -> None:
    group = _of(trees, "PodGroup", "asr-small")
    text = "0/1 tasks in gang unschedulable: pod group is not ready, 1 minAvailable; Pending: 1 Unschedulable"
    group["status"]["conditions"][0]["message"] = text


@pytest.mark.parametrize(
    ("file", "subject", "edit", "most"),
    [
        ("04", ("job", "speech/asr-small"), _in_other_words, "9"),
        ("04", ("job", "speech-big/asr-large"), _nothing, "12"),
        ("14", ("pod", "shares/share-a"), _of_kai, "12"),
    ],
)
def test_a_pod_that_no_node_is_large_enough_for_is_told_so(
    file: str, subject: tuple[str, str], edit: Edit, most: str
) -> None:
    found = asked(*subject, Played(file, (), edit))
    assert found.sentence == f"needs {most} GPUs on one node, no node has more than 8"
    assert not {Cause.GPUS_IN_PIECES, Cause.NO_SUCH_SCHEDULER} & {*found.also}


# ---- an operator that is down


def _has_no_node(trees: list[Tree]) -> None:
    pod = _of(trees, "Pod")
    del pod["spec"]["nodeName"]
    pod["status"] = {"phase": "Pending"}


def _no_image(trees: list[Tree]) -> None:
    status = _of(trees, "Pod")["status"]
    status["phase"] = "Pending"
    status["containerStatuses"][0] |= {
        "restartCount": 0,
        "lastState": {},
        "state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}},
    }


def _one_is_up(trees: list[Tree]) -> None:
    pod = yaml.safe_load(yaml.safe_dump(_of(trees, "Pod")))
    pod["metadata"]["name"] += "b"
    state = {"running": {"startedAt": "2026-11-28T05:28:43Z"}}
    pod["status"]["containerStatuses"][0] |= {
        "ready": True,
        "restartCount": 0,
        "state": state,
        "lastState": {},
    }
    pod["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    trees.append(pod)


MPI = ("PyTorchJob=MPIJob", "pytorchReplicaSpecs=mpiReplicaSpecs", "kubeflow.org/v1=kubeflow.org/v2beta1")


@pytest.mark.parametrize(
    ("words", "edit", "says"),
    [
        ((), _has_no_node, "has no node"),
        ((*MPI, "training-operator=mpi-operator"), _no_image, "mpi-operator"),
        ((*MPI, "training-operator=mpi-operator"), _nothing, "crashed 12 times"),
    ],
)
def test_an_operator_that_is_down_is_why_there_is_no_pod(
    words: tuple[str, ...], edit: Edit, says: str
) -> None:
    found = asked("job", "vision/resnet-fit", Played("05", words, edit))
    assert found.cause == Cause.OPERATOR_DOWN, found.sentence
    assert says in found.sentence


def test_a_second_pod_of_the_operator_that_is_up_acts() -> None:
    found = asked("job", "vision/resnet-fit", Played("05", (), _one_is_up))
    assert found.cause == Cause.NO_CONTROLLER


# ---- preempted, and its pod lingers


def _on_a_lost_node(trees: list[Tree]) -> None:
    pod = _of(trees, "Pod", "grid-search")
    del pod["metadata"]["finalizers"]
    pod["spec"]["nodeName"] = "rack-a1"
    pod["status"]["phase"] = "Running"


def _only_tracked(trees: list[Tree]) -> None:
    pod = _of(trees, "Pod", "grid-search")
    pod["metadata"]["finalizers"] = ["example.com/backup"]


def _an_older_attempt(trees: list[Tree]) -> None:
    pod = _of(trees, "Pod", "grid-search")
    for key in ("finalizers", "deletionTimestamp", "deletionGracePeriodSeconds"):
        del pod["metadata"][key]


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (_on_a_lost_node, "grid-search-x7k2p"),
        (_only_tracked, "example.com/backup"),
        (_an_older_attempt, "grid"),
    ],
)
def test_what_took_the_place_of_a_job_is_told_before_what_is_left_of_its_pods(edit: Edit, says: str) -> None:
    found = asked("job", "grid/grid-search", Played("13", (), edit))
    assert found.cause == Cause.PREEMPTED, found.sentence
    assert found.sentence.startswith("preempted by grid/rush-hour") and says in found.sentence
    assert "143" not in found.sentence


# ---- a share of a GPU


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("gpu-memory=gpu-fraction", "2000=0.5"), "no node has 0.5 of a GPU free"),
        (("GPUs=CPU cores",), "no node has enough CPU cores free"),
        (("No=no", "5=3"), "no node has 2000 MiB of GPU memory free"),
    ],
)
def test_the_words_of_a_scheduler_that_divides_cards_are_understood(
    words: tuple[str, ...], says: str
) -> None:
    assert asked("pod", "shares/share-a", Played("14", words, _nothing)).sentence == says


# ---- what holds as well


@pytest.mark.parametrize(("steps", "says"), [(("selector", "ready"), " (3 of 9 nodes)"), (("selector",), "")])
def test_nodes_that_are_out_as_well_are_counted(steps: tuple[str, ...], says: str) -> None:
    left = {"selector": 7, "ready": 4}
    funnel = Funnel(nodes=9, steps=tuple(FilterStep(one, one, left[one]) for one in steps))
    cause = Cause.NODES_NOT_READY
    found = Finding(cause=Cause.GPUS_SHORT, sentence="needs 8 GPUs", funnel=funnel, also=(cause,))
    told = [one for one in lines(found, view_of(reports(NOW_SECONDS))) if one.startswith("Then also")]
    assert told == [f"Then also: {by_cause()[cause].meaning}{says}."]


def test_a_pod_of_a_job_that_is_called_like_the_operator_is_not_the_operator() -> None:
    def belongs_to_a_job(trees: list[Tree]) -> None:
        pod = _of(trees, "Pod")
        place = {"name": "mpi-test", "namespace": pod["metadata"]["namespace"]}
        trees.append({"apiVersion": "batch/v1", "kind": "Job", "metadata": place})
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "mpi-test", "controller": True}
        pod["metadata"]["ownerReferences"] = [owner]

    found = asked("job", "vision/resnet-fit", Played("05", (), belongs_to_a_job))
    assert found.cause != Cause.OPERATOR_DOWN, found.sentence


# ---- a machine that does not become a node


def _launched(minutes: int) -> Edit:
    """The machine was launched so long before the look."""

    def edit(trees: list[Tree]) -> None:
        at = (LOOK - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
        claim = _of(trees, "NodeClaim")
        claim["metadata"]["creationTimestamp"] = at
        for mark in claim["status"]["conditions"]:
            mark["lastTransitionTime"] = at

    return edit


def _not_launched(trees: list[Tree]) -> None:
    mark = _of(trees, "NodeClaim")["status"]["conditions"][0]
    mark |= {"status": "False", "reason": "LaunchFailed", "message": "UnauthorizedOperation: not allowed"}


def _said_long_ago(trees: list[Tree]) -> None:
    _launched(300)(trees)
    event = next(tree for tree in trees if tree["metadata"]["name"] == "digits-nominated")
    event |= {"firstTimestamp": "2026-11-28T01:40:00Z", "lastTimestamp": "2026-11-28T01:52:00Z"}


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (_nothing, "join failure"),
        (_launched(20), "join failure"),
        (_said_long_ago, "join failure"),
        (_not_launched, "permission"),
    ],
)
def test_a_pod_does_not_wait_for_a_machine_that_its_pool_says_does_not_come(edit: Edit, why: str) -> None:
    played = Played("23", ("elastic=stretch",), edit)
    found, pool = asked("job", "digits-team/digits", played), asked("pool", "stretch-az", played)
    assert found.sentence.endswith(f"machine stretch-az-k2: {why}") and pool.sentence.startswith(why)
    assert (found.cause, found.root) == (Cause.NO_MACHINE, Subject("pool", "", "stretch-az"))
    assert lasts(found) is Permanence.ACTS


def test_a_pod_waits_for_a_machine_that_may_still_join() -> None:
    found = asked("job", "digits-team/digits", Played("23", (), _launched(5)))
    assert (found.cause, "to join" in found.sentence) == (Cause.NODE_COMING, True), found.sentence


# ---- a label promises a card


def _an_older_label(trees: list[Tree]) -> None:
    labels = _of(trees, "Node")["metadata"]["labels"]
    del labels["nvidia.com/gpu.present"], labels["nvidia.com/gpu.product"]
    labels["nvidia.com/gpu.count"] = "8"


def _some_are_there(trees: list[Tree]) -> None:
    node = _of(trees, "Node")
    node["metadata"]["labels"]["nvidia.com/gpu.count"] = "8"
    for part in ("capacity", "allocatable"):
        node["status"][part]["nvidia.com/gpu"] = "6"


@pytest.mark.parametrize("edit", [_an_older_label, _some_are_there])
def test_a_node_with_fewer_cards_than_its_labels_promise_is_what_its_pods_wait_for(edit: Edit) -> None:
    played = Played("22", ("rack=lab", "hopper=h-any"), edit)
    node, job = asked("node", "lab-promised", played), asked("job", "sky/sky-worker", played)
    assert node.is_trouble and node.cause in (Cause.GPU_STACK_DOWN, Cause.GPUS_UNHEALTHY), node.sentence
    assert (job.root, job.cause) == (Subject("node", "", "lab-promised"), node.cause), job.sentence


def test_a_node_with_all_that_its_labels_promise_is_well() -> None:
    def is_whole(trees: list[Tree]) -> None:
        _some_are_there(trees)
        for part in ("capacity", "allocatable"):
            _of(trees, "Node")["status"][part]["nvidia.com/gpu"] = "8"

    assert not asked("node", "rack-promised", Played("22", (), is_whole)).is_trouble
