"""The jobs table and the page of one job."""

from cockpit.model.gpu import Mark
from cockpit.model.job import Job
from cockpit.model.namespaces import Namespaces
from cockpit.model.quantity import Absent
from cockpit.model.record import Kind
from cockpit.store.store import Store
from cockpit.views import job_page, jobs
from cockpit.views.lazy_table import LazyTable
from cockpit.views.view_state import ViewState
from tests.unit.views.builders import (
    NOW,
    card,
    cells,
    event,
    job,
    line,
    node,
    pod,
    says,
    store,
    texts,
)

RUNNING = job(
    "llm-70b",
    gpus_allocated=3,
    gpus_wanted=3,
    ready=2,
    wanted=2,
    pod_uids=("uid-w-0", "uid-w-1"),
    nodes=("gpu-1",),
    started_seconds=NOW - 2_400,
    engine="Kueue",
    queue="gpu-lq",
)
PENDING = job("llm-7b", "queued", gpus_wanted=16, wanted=8, position=2)
SHORT = "short of 4 GPUs in queue gpu-lq"
OTHERS = [job("done", "succeeded", gpus_wanted=8, finished_seconds=NOW - 60), job("broken", "degraded")]


def cluster() -> Store:
    return store(
        pod("w-0", gpus=2, role="worker", rank=0),
        pod("w-1", gpus=1, role="worker", rank=1, restarts=2),
        pod("launcher", gpus=0, role="launcher"),
        card(0, "w-0", duty=0.9),
        card(1, "w-0", duty=0.5),
        card(2, "w-1", duty=Absent.STALE, mark=Mark.GUESSED),
    )


def table(state: ViewState = ViewState(), *more: Job) -> LazyTable[jobs.JobRow]:  # noqa: B008 - frozen
    return jobs.table(
        [RUNNING, PENDING, *OTHERS, *more], cluster(), state, NOW, explain=says(SHORT, "llm-7b")
    )


def test_a_running_job() -> None:
    made = table(ViewState(filter="name=team-a/llm-70b"))
    assert line(made) == {
        "name": "team-a/llm-70b",
        "kind": "MPIJob",
        "engine": "Kueue",
        "state": "● running",
        "ready": "2/2",
        "gpus": "3/3",
        "duty": "70%",
        "min": "50%",
        "memory": "120Gi",
        "queue": "gpu-lq",
        "position": "",
        "age": "41m",
        "runs": "40m",
        "placement": "",  # its node is not known
        "team": "team-a",  # its namespace
        "owner": "",
        "why": "",
    }


def test_a_waiting_job_has_no_readings_and_says_why() -> None:
    shown = line(table(ViewState(filter="llm-7b")))
    assert (shown["duty"], shown["memory"], shown["runs"]) == ("", "", "")
    assert (shown["state"], shown["gpus"], shown["position"]) == ("◌ queued", "0/16", "#2")
    assert shown["why"] == SHORT


def test_what_needs_a_person_first_what_ended_last() -> None:
    assert texts(table(), "state") == ["▲ degraded", "◌ queued", "● running", "✓ succeeded"]


def test_a_job_that_holds_gpus_nobody_measures_reads_not_collected() -> None:
    made = jobs.table(
        [job("x", gpus_allocated=8, gpus_wanted=8)], store(), ViewState(), NOW, explain=says("")
    )
    assert line(made)["duty"] == "n/c"
    assert cells(made, "duty")[0].tone == "dim"


def test_a_job_without_gpus() -> None:
    assert (
        line(jobs.table([job("cpu", gpus_wanted=0)], store(), ViewState(), NOW, explain=says("")))["gpus"]
        == "none"
    )
    assert line(jobs.table([job("x")], store(), ViewState(), NOW, explain=says("")))["gpus"] == "0/?"


def test_filters_and_sorts_of_its_own() -> None:
    assert texts(table(ViewState(filter="duty>60%")), "name") == ["team-a/llm-70b"]
    assert texts(table(ViewState(filter="wanted>8")), "name") == ["team-a/llm-7b"]
    assert texts(table(ViewState(filter="node:gpu-1")), "name") == ["team-a/llm-70b"]
    assert texts(table(ViewState(sort="duty", descending=True)), "name")[0] == "team-a/llm-70b"
    assert len(table(ViewState(namespaces=Namespaces(("team-b",))))) == 0


def test_the_page_shows_members_by_rank_with_their_devices() -> None:
    made = cluster()
    members = [made.records(Kind.POD)[f"uid-{name}"] for name in ("launcher", "w-0", "w-1")]
    shown = job_page.members_table(members, made, ViewState(), NOW)
    assert texts(shown, "rank") == ["launcher", "worker 0", "worker 1"]
    assert texts(shown, "devices") == ["", "0-1", "2?"]
    assert texts(shown, "duty") == ["", "70%", "stale"]
    assert texts(shown, "memory") == ["", "80Gi/160Gi", "40Gi/80Gi"]
    assert texts(shown, "power") == ["", "824W", "412W"]
    assert texts(shown, "restarts") == ["0", "0", "2"]
    assert shown.key(1) == "uid-w-0"


def test_facts_of_a_running_job() -> None:
    found = {pair.name: pair.value for pair in job_page.facts(RUNNING, cluster(), NOW)}
    assert found["job"] == "team-a/llm-70b"
    assert found["state"] == "● running"
    assert found["members"] == "2/2 ready"
    assert found["GPUs"] == "3/3 allocated"
    assert found["now"] == "duty 70% · min 50% · memory 120Gi · power 1236W"
    assert found["time"] == "submitted 41m ago · running for 40m"
    assert "why" not in found


def test_facts_of_a_waiting_job() -> None:
    found = {pair.name: pair.value for pair in job_page.facts(PENDING, cluster(), NOW, why=SHORT)}
    assert found["why"] == SHORT
    assert "now" not in found


def test_a_mean_over_some_cards_says_so() -> None:
    partly = job("x", gpus_allocated=8, gpus_wanted=8, pod_uids=("uid-w-0",))
    found = {pair.name: pair.value for pair in job_page.facts(partly, cluster(), NOW)}
    assert found["now"].endswith("from 2 of 8 GPUs")


def test_gone() -> None:
    found = job_page.gone("MPIJob.kubeflow.org/team-a/llm")
    assert found[0].value == "team-a/llm"
    assert "gone" in found[1].value


def test_events_of_a_job_are_those_of_its_members_too_each_once() -> None:
    made = store(
        pod("w-0"),
        event("1", kind="Pod", name="w-0"),
        event("2", kind="MPIJob", name="job-llm-70b"),
        event("3", kind="Pod", name="other"),
    )
    member = made.records(Kind.POD)["uid-w-0"]
    found = job_page.events_of(RUNNING, [member, member], made)
    assert sorted(one.uid for one in found) == ["1", "2"]


def test_members_in_two_racks_with_mixed_cards_are_warned_of() -> None:
    where = job("llm-70b", "running", gpus_allocated=3, gpus_wanted=3, nodes=("a", "b"))
    nodes = [
        node(name, labels=(("topology.kubernetes.io/rack", rack),), gpu_model=model)
        for name, rack, model in (("a", "r1", "H100"), ("b", "r2", "A100"))
    ]
    made = jobs.table([where], store(*nodes), ViewState(), NOW, explain=says(""))
    assert line(made)["placement"] == "2 racks, mixed"
    (pair,) = (one for one in job_page.facts(where, store(*nodes), NOW) if one.name == "placed")
    assert (pair.tone, pair.value.partition(";")[0]) == ("warn", "2 nodes, 2 racks")
