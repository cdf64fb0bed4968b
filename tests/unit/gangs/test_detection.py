"""The engine that a new job goes to where nobody says, and what is refused of an engine that is named."""

from typing import Any

import pytest

from cockpit.actions.submit import Findings, plan_submit
from cockpit.errors import BadInput
from cockpit.gangs import registry
from cockpit.gangs.choose_engine import choose_engine
from cockpit.gangs.engine import InstalledEngine
from cockpit.gangs.form_choice import attach
from cockpit.gangs.kueue.topology import binding_words, required_levels, topology_of
from cockpit.jobs.template import load_library
from cockpit.model.pod import Pod
from tests.unit.gangs.builders import cluster_queue, local_queue, store_of

MPI = ("kubeflow.org/v2beta1", "MPIJob")
INDEXED = ("batch/v1", "Job")
TRAIN = ("trainer.kubeflow.org/v1alpha1", "TrainJob")
TEMPLATES = load_library().templates
VALUES = {"name": "llm", "image": "registry.example/hvd:1", "namespace": "team-a"}


def engine(
    name: str, alive: bool | None = True, *, served: bool = True, told: str = "runs", pod: str = ""
) -> InstalledEngine:
    return InstalledEngine(engine=name, is_served=served, is_alive=alive, said=told, pod=pod)


KUEUE, COSCHEDULING, NATIVE = engine("Kueue"), engine("Coscheduling"), engine("native gang")
SEEN = engine("Coscheduling", pod="x/scheduler-plugins-scheduler-1")
NAMED = Pod(uid="p", name="r-0", namespace="g", gang="g", scheduler="gang-scheduler")


@pytest.mark.parametrize(
    ("kind", "present", "queues", "pods", "found"),
    [
        (MPI, (KUEUE,), ("main",), (), "kueue main"),
        (MPI, (engine("Kueue", None),), ("main",), (), "kueue main"),
        (MPI, (engine("Kueue", False),), ("main",), (), "none"),
        (MPI, (engine("Kueue", None, served=False),), ("main",), (), "none"),
        (MPI, (KUEUE,), ("a", "b"), (), "none"),
        (MPI, (KUEUE,), ("a", "default"), (), "kueue default"),
        (MPI, (KUEUE,), (), (), "none"),
        (("v1", "Pod"), (KUEUE,), ("main",), (), "none"),
        # the scheduler's name is learnt from pods, never guessed from groups alone
        (MPI, (COSCHEDULING,), (), (NAMED,), "coscheduling gang-scheduler"),
        (MPI, (COSCHEDULING,), (), (), "none"),
        (MPI, (SEEN,), (), (), "coscheduling"),
        (MPI, (engine("Coscheduling", None),), (), (NAMED,), "none"),
        (INDEXED, (NATIVE,), (), (), "native"),
        (MPI, (NATIVE,), (), (), "none"),  # its pods would lose the field
        (TRAIN, (engine("Volcano"),), (), (), "none"),  # its pods are not in its manifest
        (INDEXED, (engine("Volcano"), NATIVE), (), (), "volcano"),
        (INDEXED, (engine("KAI"),), (), (), "none"),  # needs a queue that only a person knows
        (("batch.volcano.sh/v1alpha1", "Job"), (KUEUE,), ("main",), (), "volcano"),
    ],
)  # fmt: skip
def test_the_default_is_what_the_cluster_has(
    kind: tuple[str, str],
    present: tuple[InstalledEngine, ...],
    queues: tuple[str, ...],
    pods: tuple[Pod, ...],
    found: str,
) -> None:
    told = choose_engine(*kind, present, queues, pods)
    assert f"{told.engine} {told.queue or told.scheduler}".strip() == found
    assert told.because


def test_several_queues_are_said() -> None:
    assert "2 queues here: choose one" in choose_engine(*MPI, (KUEUE,), ("a", "b")).because


def test_that_a_namespace_has_no_queue_is_said_only_where_it_is_known() -> None:
    assert choose_engine(*MPI, (KUEUE,), ()).because.startswith("Kueue has no queue in this namespace")
    for queues, present in ((None, KUEUE), ((), engine("Kueue", False))):
        assert (
            choose_engine(*MPI, (present,), queues).because == "no active queueing engine supports this kind"
        )


def submit(engine_word: str, findings: Findings = Findings(), **more: str) -> Any:  # noqa: B008 - never changed
    return plan_submit(TEMPLATES["mpijob"], {**VALUES, **more}, engine=engine_word, findings=findings)


def test_kueue_needs_a_queue_and_none_refuses_one() -> None:
    with pytest.raises(BadInput, match="queue: Kueue needs one"):
        submit("kueue")
    body = submit("kueue", queue="main").calls[0].body
    assert body["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "main"
    assert body["spec"]["runPolicy"]["suspend"] is True
    assert submit("kueue:main").calls[0].body["spec"]["runPolicy"]["suspend"] is True
    with pytest.raises(BadInput, match="engine none, and the manifest names Kueue: leave the queue empty"):
        submit("none", queue="main")
    assert submit("none").calls == submit("").calls


@pytest.mark.parametrize(
    ("word", "queue", "sentence"),
    [
        ("volcano", "main", "a Kueue queue and Volcano's scheduler"),
        ("kai:leaf", "main", "a Kueue queue and KAI's queue"),
        ("native", "", "MPIJob drops the pods' spec.schedulingGroup"),
        ("kai", "", "KAI schedules nothing without a queue"),
        ("slurm", "", f"engine 'slurm' is not one of {', '.join(registry.words())}"),
    ],
)
def test_pairs_that_cannot_work_are_refused_in_words(word: str, queue: str, sentence: str) -> None:
    with pytest.raises(BadInput) as refused:
        submit(word, queue=queue)
    assert sentence in refused.value.sentence


def test_an_engine_that_is_not_there_is_refused_and_a_dead_one_is_warned_of() -> None:
    absent = Findings((engine("Kueue", None, served=False, told="is not installed"),))
    with pytest.raises(BadInput, match="Kueue is not installed: nothing would start the job"):
        submit("kueue", absent, queue="main")
    assert submit("none", absent).calls
    dead = Findings((engine("Kueue", False, told="is installed, but its controller is not running"),))
    assert any("the job would wait until it does" in one for one in submit("", dead, queue="main").warnings)


def test_volcanos_own_job_keeps_its_queue() -> None:
    tree = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "v"},
        "spec": {"queue": "research", "tasks": [{"replicas": 2, "template": {"spec": {"containers": []}}}]},
    }
    assert attach("volcano", tree).manifest["spec"]["queue"] == "research"
    assert attach("volcano", tree, queue="other").manifest["spec"]["queue"] == "other"


# ---- topology


def test_a_queue_places_together_only_when_all_its_flavors_have_a_topology() -> None:
    store = store_of(local_queue(), cluster_queue())
    tree = submit("", queue="main").calls[0].body

    def told(topologies: dict[str, str] | None) -> str | None:
        return topology_of(tree, "team-a", "main", store, topologies)

    assert told({"h100": "dc"}) == "dc"
    assert told({"h100": ""}) == told({}) == ""
    assert told(None) is None
    assert topology_of(tree, "team-a", "nowhere", store, {"h100": "dc"}) is None


def test_how_it_binds_is_said_and_the_half_bind_warning_knows_topologies() -> None:
    store = store_of(local_queue(), cluster_queue())
    plain = submit("", queue="main").calls[0].body
    inside = submit("", queue="main", topology="example.com/rack").calls[0].body
    assert required_levels(plain) == ("", "")
    assert required_levels(inside) == ("", "example.com/rack")
    assert binding_words(plain, "") == "Kueue admits it whole by quota; its pods then bind one by one"
    assert "topology dc: it binds together or not at all" in binding_words(plain, "dc")
    assert "topology dc, inside one example.com/rack: it binds" in binding_words(inside, "dc")
    assert "no flavor of its queue has one" in binding_words(inside, "")

    def plan(topologies: dict[str, str] | None) -> Any:
        return plan_submit(
            TEMPLATES["mpijob"],
            {**VALUES, "queue": "main"},
            store=store,
            findings=Findings((), (), topologies),
        )

    assert "Kueue admits it whole by quota; its pods then bind one by one" in plan({"h100": ""}).lines
    assert any("together or not at all" in line for line in plan({"h100": "dc"}).lines)
    assert not any("one by one" in line for line in plan(None).lines), "not known is not said"
