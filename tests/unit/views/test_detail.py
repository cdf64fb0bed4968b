"""Details beside lists: the page's own words, in any room."""

import msgspec
from cockpit_widgets.text import width_of
from cockpit_widgets.types import Pair
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.jobs.index import JobIndex
from cockpit.model.finding import Finding, Subject
from cockpit.model.job import JobState
from cockpit.model.record import Kind
from cockpit.store.store import Store
from cockpit.triage.context import ClusterView
from cockpit.triage.troubles import Trouble
from cockpit.views import detail, job_page, node_page, queue_page
from cockpit.views.detail import Detail
from cockpit.views.queues import QueueRow
from cockpit.views.row_details import event_detail, job_detail, node_detail, pod_detail, queue_detail
from cockpit.views.run_curves import RunCurves
from cockpit.views.timeline import Run
from cockpit.views.why_detail import finding_detail
from tests.unit.views.builders import (
    NOW,
    card,
    cluster_queue,
    event,
    job,
    live,
    local_queue,
    node,
    pod,
    says,
    store,
)

WAITS = pod(
    "w-1", gpus=8, on="", phase="Pending", scheduled="False", scheduled_message="0/3 nodes are available"
)
MEMBERS = (pod("w-0", gpus=4), WAITS)
JOB = job("llm", JobState.PENDING, pod_uids=("uid-w-0", "uid-w-1"), wanted=2)
SENTENCE = "needs 8 GPUs, the best node has 4 free"


def cluster() -> Store:
    made = store(
        node("gpu-1", 8, gpu_allocatable=7),
        *MEMBERS,
        *(card(index, "w-0") for index in range(4)),
        event("e-1", kind="Pod", name="w-1", namespace="team-a", object_uid="uid-w-1", message="no room"),
        cluster_queue("gpus"),
        local_queue("gpu-lq"),
    )
    return live(made, Kind.NODE, Kind.POD, Kind.EVENT)


def text(found: Detail, width: int = 60, height: int = 60) -> str:
    return "\n".join("".join(cell.text for cell in line).rstrip() for line in found.lines(width, height))


def details() -> dict[str, Detail]:
    made = cluster()
    jobs = JobIndex(made)
    queue = QueueRow(local_queue("gpu-lq"), cluster_queue("gpus"))
    found = Finding(subject=Subject("job", "team-a", "llm"), finding="job-waits", row="k", sentence=SENTENCE)
    trouble = Trouble(found=found, first_seconds=NOW - 900, last_seconds=NOW)
    view = ClusterView(store=made, jobs=jobs, now_seconds=NOW)
    curves = RunCurves((3.0, 2.0, 1.5, 1.2), (900.0, 950.0, 940.0, 960.0), "samples/s")
    return {
        "job": job_detail(JOB, MEMBERS, made, Run(curves=curves), NOW, why=SENTENCE),
        "node": node_detail(node("gpu-1", 8, gpu_allocatable=7), made, NOW),
        "queue": queue_detail(queue, made, jobs, NOW, explain=says("")),
        "pod": pod_detail(WAITS, made, NOW, SENTENCE),
        "event": event_detail(event("e-1", message="no room"), made, NOW, None),
        "finding": finding_detail(trouble, msgspec.structs.replace(found, cause="gpus-short"), view, NOW),
    }


@settings(deadline=None, max_examples=60)
@given(st.integers(16, 120), st.integers(1, 50))
def test_no_detail_is_wider_or_higher_than_its_room(width: int, height: int) -> None:
    for name, found in details().items():
        lines = found.lines(width, height)
        assert len(lines) <= height, name
        assert all(width_of("".join(cell.text for cell in line)) <= width for line in lines), name


def test_of_a_job_the_sentence_curves_and_members_in_trouble_come_first() -> None:
    found = details()["job"]
    drawn = text(found)
    assert (found.title, found.figure) == ("team-a/llm", "◔ pending")
    assert drawn.startswith(f"why      {SENTENCE}")
    assert drawn.index("loss") < drawn.index("─ Members ─") < drawn.index("\nkind")
    assert drawn.index("waiting for") < drawn.index("● running")


def test_a_job_says_what_its_page_says() -> None:
    made = cluster()
    page = {
        pair.value
        for pair in job_page.facts(JOB, made, NOW, MEMBERS, why=SENTENCE)
        if pair.name not in ("job", "state")
    }
    drawn = text(job_detail(JOB, MEMBERS, made, Run(), NOW, why=SENTENCE), width=200)
    assert all(value in drawn for value in page)


def test_a_node_shows_its_cards_and_what_its_page_says() -> None:
    made, drawn = cluster(), text(details()["node"], width=200)
    facts = node_page.facts(node("gpu-1", 8, gpu_allocatable=7), made, NOW)
    assert all(pair.value in drawn for pair in facts if pair.name not in ("node", "state"))
    assert "─ GPUs ─" in drawn and drawn.count("team-a/w-0") >= 4


def test_a_queue_says_who_holds_it_and_who_waits() -> None:
    row = QueueRow(local_queue("gpu-lq"), cluster_queue("gpus"))
    drawn = text(details()["queue"])
    assert all(pair.value in drawn for pair in queue_page.facts(row) if pair.name not in ("queue", "state"))


def test_a_pod_and_an_event_say_the_whole_message() -> None:
    found = details()
    assert "0/3 nodes are available" in text(found["pod"]) and SENTENCE in text(found["pod"])
    assert text(found["event"]).startswith("no room")


def test_a_finding_without_a_page_says_what_its_row_says() -> None:
    found = Finding(
        subject=Subject("registry", "", "harbor"), finding="images", row="k", sentence="unreachable"
    )
    trouble = Trouble(found=found, first_seconds=NOW - 900, last_seconds=NOW)
    assert "unreachable" in text(finding_detail(trouble, None, None, NOW))


def test_that_a_job_idles_is_said_once_and_beside_another_row_both_stand() -> None:
    made = cluster()
    view = ClusterView(store=made, jobs=JobIndex(made), now_seconds=NOW)
    about = Subject("job", "team-a", "llm")
    verdict = Finding(subject=about, sentence="idle: 4 GPUs at 0% duty", state="running")
    for finding, times in (("job-idle", 1), ("job-starved", 2)):
        sentence = "4 GPUs at 0% duty, 35 GiB kept"
        row = Finding(subject=about, finding=finding, row="k", sentence=sentence, is_bad=False)
        drawn = text(
            finding_detail(Trouble(found=row, first_seconds=NOW, last_seconds=NOW), verdict, view, NOW)
        )
        assert (drawn.count("4 GPUs at 0% duty"), "35 GiB kept" in drawn) == (times, True), drawn
    row = Finding(
        subject=about, finding="job-idle", row="k", sentence="4 GPUs allocated, duty 0%", is_bad=False
    )
    unjudged = Finding(subject=about, state="running")
    drawn = text(finding_detail(Trouble(found=row, first_seconds=NOW, last_seconds=NOW), unjudged, view, NOW))
    assert "duty 0%" in drawn and "nothing blocks it" in drawn


def test_parts_without_content_leave_no_gap() -> None:
    found = Detail(
        "x", "", (detail.pairs(()), detail.pairs([Pair("a", "b")]), detail.text(()), detail.text(["c"]))
    )
    assert text(found) == "a  b\n\nc"
