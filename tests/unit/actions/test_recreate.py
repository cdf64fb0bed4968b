"""A job recreated: it is deleted only where its successor would be taken, and can be created again."""

import json
from typing import Any

import pytest

from cockpit.actions.execute.dry_run import rehearse
from cockpit.actions.execute.execute_plan import carry_out
from cockpit.actions.offered import intended
from cockpit.actions.planning import Planning
from cockpit.actions.recreate import plan_recreate, plan_restore, read_operations
from cockpit.clock import ManualClock
from cockpit.errors import Answered, BadInput, NotTried
from cockpit.k8s.json_patch import Operation
from cockpit.model.finding import Change
from cockpit.model.plan import Outcome, Plan
from tests.unit.actions.builders import Line, Lines, Reply, Server, job, missing, newer, refused, store_of

PATH = "/apis/batch/v1/namespaces/team-a/jobs/fit"
WORKLOAD_PATH = "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a/workloads/job-fit-1"
WORKLOAD = {"metadata": {"name": "job-fit-1", "namespace": "team-a", "uid": "w1"}}
NO_SELECTOR: Operation = {"op": "remove", "path": "/spec/template/spec/nodeSelector/pool"}
TAKEN = refused(409, "AlreadyExists", 'jobs.batch "fit" already exists', about="jobs", name="fit")


def _tree(**metadata: Any) -> dict[str, Any]:
    written = {"kueue.x-k8s.io/workload": "job-fit-1"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "fit",
            "namespace": "team-a",
            "uid": "uid-fit",
            "resourceVersion": "41",
            **metadata,
        },
        "spec": {
            "template": {
                "metadata": {"annotations": written},
                "spec": {"containers": [{"name": "main"}], "nodeSelector": {"pool": "a", "zone": "z"}},
            }
        },
        "status": {"active": 1},
    }


def _plan(*operations: Operation, **more: Any) -> Plan:
    one = job("fit", kind="Job")
    return plan_recreate(one, _tree(), operations, store=store_of(), context="prod", **more)


class Going(Line):
    """What was deleted is there for as many looks as `looks` says, by path."""

    def __init__(self, looks: dict[str, int], uid: str = "uid-fit") -> None:
        super().__init__()
        self._looks, self._uid = looks, uid

    async def request(self, method: str, path: str, **more: Any) -> Any:
        self.reads.append(path)
        left = self._looks.get(path, 0)
        self._looks[path] = left - 1
        uid = "w1" if "workloads" in path else self._uid
        return Reply(200, {"metadata": {"uid": uid}}) if left > 0 else Reply(404, {})


async def _run(plan: Plan, server: Server, line: Line, lines: Lines) -> tuple[Outcome, list[float]]:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    outcome = await carry_out(
        plan, line, lines, ManualClock(), perform=server, new_id=lambda: "id1", sleep=sleep
    )
    return outcome, slept


def _sent(server: Server) -> list[str]:
    return [f"{call.method} {call.path}" for call, dry in server.calls if not dry]


def test_what_is_created_is_what_its_author_wrote_with_other_lines() -> None:
    plan = _plan(NO_SELECTOR)
    delete, create = plan.calls
    assert delete.body["preconditions"] == {"uid": "uid-fit", "resourceVersion": "41"}
    assert create.path == PATH.rpartition("/")[0]
    assert create.body == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "fit", "namespace": "team-a"},
        "spec": {"template": {"spec": {"containers": [{"name": "main"}], "nodeSelector": {"zone": "z"}}}},
    }
    assert plan.keeps is not None
    assert plan.keeps["spec"]["template"]["spec"]["nodeSelector"] == {"pool": "a", "zone": "z"}
    assert "uid" not in plan.keeps["metadata"]
    assert plan.is_destructive
    assert "without /spec/template/spec/nodeSelector/pool" in plan.lines


async def test_a_dry_run_in_which_only_the_name_is_taken_has_passed() -> None:
    verdict = await rehearse(_plan(), Line(), perform=Server(None, TAKEN))
    assert verdict.state == "done"


@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (refused(403, "Forbidden", "denied the request: no such image", about="jobs"), "refused"),
        (refused(422, "Invalid", "spec is invalid", about="jobs"), "refused"),
        (refused(400, "BadRequest", "does not support dry run", error=NotTried), "refused"),
        (refused(503, "ServiceUnavailable", "busy", error=NotTried), "refused"),
    ],
)
async def test_nothing_is_deleted_where_the_dry_run_of_its_successor_has_not_passed(
    answer: Answered, state: str
) -> None:
    server, lines = Server(None, answer), Lines()
    outcome, _ = await _run(_plan(), server, Line(), lines)
    assert outcome.state == state
    assert outcome.sentence.startswith("nothing was deleted: ")
    assert _sent(server) == []
    assert (lines.entries, lines.kept) == ([], {})


async def test_nothing_is_deleted_where_its_manifest_cannot_be_kept() -> None:
    server = Server(None, TAKEN)
    outcome, _ = await _run(_plan(), server, Line(), Lines(full_at=0))
    assert outcome.sentence == "nothing was deleted: the manifest cannot be kept"
    assert _sent(server) == []


async def test_a_job_that_is_newer_than_the_plan_is_planned_again() -> None:
    outcome, _ = await _run(_plan(), Server(newer(), TAKEN), Line(), Lines())
    assert outcome.is_moved


async def test_it_is_created_once_the_old_one_and_its_workload_are_gone() -> None:
    plan = _plan(workload=WORKLOAD, workload_path=WORKLOAD_PATH)
    server, lines = Server(None, TAKEN), Lines()
    line = Going({PATH: 1, WORKLOAD_PATH: 3})
    outcome, slept = await _run(plan, server, line, lines)
    assert (outcome.state, outcome.sentence) == ("done", "Recreated job team-a/fit")
    assert _sent(server) == [f"DELETE {PATH}", f"POST {PATH.rpartition('/')[0]}"]
    assert slept == [0.5, 0.5, 0.5]
    assert line.reads.count(PATH) == 2
    assert lines.kept == {"id1": plan.keeps}
    assert [one.is_kept for one in lines.entries] == [True] * 4


async def test_another_job_that_took_the_name_counts_as_gone() -> None:
    outcome, slept = await _run(_plan(), Server(None, TAKEN), Going({PATH: 9}, uid="another"), Lines())
    assert (outcome.is_done, slept) == (True, [])


async def test_one_that_does_not_go_is_not_created_beside_and_the_way_back_is_told() -> None:
    server = Server(None, TAKEN)
    outcome, slept = await _run(_plan(), server, Going({PATH: 10_000}), Lines())
    assert _sent(server) == [f"DELETE {PATH}"]
    assert outcome.state == "failed"
    assert "still there 120 s after it was deleted" in outcome.sentence
    assert "cockpit audit restore id1 --context prod --write" in outcome.sentence
    assert len(slept) == 240


async def test_one_that_is_refused_after_all_tells_how_the_old_one_is_created_again() -> None:
    server = Server(None, TAKEN, None, refused(403, "Forbidden", "no", about="jobs"))
    outcome, _ = await _run(_plan(), server, Line(), Lines())
    assert outcome.state == "refused"
    assert outcome.sentence.startswith("1 of 2 done, then: ")
    assert outcome.sentence.endswith(
        "to create it as it was: cockpit audit restore id1 --context prod --write"
    )


async def test_a_job_that_was_killed_meanwhile_is_not_created_again() -> None:
    server = Server(None, TAKEN, missing("jobs", "fit", PATH))
    outcome, _ = await _run(_plan(), server, Line(), Lines())
    assert outcome.state == "refused"
    assert _sent(server) == [f"DELETE {PATH}"]


def test_what_was_kept_is_created_as_it_was() -> None:
    kept = _plan().keeps
    assert kept is not None
    plan = plan_restore(kept, "id1", context="prod")
    (call,) = plan.calls
    assert (call.method, call.path, call.body) == ("POST", PATH.rpartition("/")[0], kept)
    assert plan.shell == "cockpit audit restore id1 --context prod --write"


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, "already being deleted"),
        ({"ownerReferences": [{"kind": "CronJob", "name": "n", "controller": True}]}, "made by cronjob n"),
        ({"uid": ""}, "no known uid"),
    ],
)
def test_what_cannot_be_recreated_is_refused_by_name(metadata: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        plan_recreate(job("fit", kind="Job"), _tree(**metadata), (), store=store_of())


def test_a_line_that_its_author_did_not_write_is_told() -> None:
    gone: Operation = {"op": "remove", "path": "/spec/template/metadata/annotations/kueue.x-k8s.io~1workload"}
    with pytest.raises(BadInput, match="its author wrote no /spec/template/metadata"):
        _plan(gone)


@pytest.mark.parametrize(
    "text",
    [
        *("{", "{}", "[1]", '[{"op": "test", "path": "/spec"}]', '[{"op": "add", "path": "/spec/a"}]'),
        '[{"op": "remove", "path": "spec"}]',
        '[{"op": "replace", "path": "/metadata/name", "value": "x"}]',
        '[{"op": "replace", "path": "/kind", "value": "x"}]',
    ],
)
def test_a_patch_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="--patch: "):
        read_operations(text)


def test_an_offer_is_carried_out_as_its_command_says() -> None:
    one = job("fit", kind="Job")
    text = json.dumps([NO_SELECTOR])
    words = ("cockpit", "job", "recreate", "team-a/fit", "--patch", text, "--write")
    planning = Planning(store_of(), Line(), lambda *_: None, "prod", {one.key: one})
    found = intended(Change(kind="drop_selector", words="", verb="job.recreate", command=words), planning)
    assert (found.verb.id, found.things, found.options.patch) == ("job.recreate", [one], text)
