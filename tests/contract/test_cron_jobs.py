"""A CronJob from its template, its runs, and every verb on it, against both servers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cockpit.jobs.render import render
from cockpit.jobs.template import load_library
from tests.bed.api import Api
from tests.waiting import until

CRONS, JOBS = "/apis/batch/v1/namespaces/{}/cronjobs", "/apis/batch/v1/namespaces/{}/jobs"
VALUES = ("name=nightly", "image=registry.test/train:1", "gpus=2", "schedule=@every 1s")
Said = Callable[..., Any]


def of_template(*more: str) -> list[str]:
    return ["job", "submit", "cronjob", *(f"--set={one}" for one in (*VALUES, *more)), "--write", "--yes"]


def cron(admin: Api, space: str, name: str = "nightly") -> Any:
    return admin.get(f"{CRONS.format(space)}/{name}")


def runs(admin: Api, space: str) -> list[Any]:
    return list(admin.items(JOBS.format(space)))


async def test_a_template_makes_one_whose_runs_carry_the_queue(said: Said, admin: Api, space: str) -> None:
    code, text = await said(*of_template("queue=main", f"namespace={space}"))
    assert code == 2 and "Kueue is not installed" in text  # it sees the queue of the runs
    values = dict(one.split("=", 1) for one in (*VALUES, "queue=main", f"namespace={space}"))
    admin.create(CRONS.format(space), render(load_library().templates["cronjob"], values))
    spec = cron(admin, space)["spec"]
    assert (spec["concurrencyPolicy"], spec["suspend"]) == ("Forbid", False)
    assert (spec["successfulJobsHistoryLimit"], spec["failedJobsHistoryLimit"]) == (3, 1)
    await until(lambda: runs(admin, space), seconds=60.0)
    (run,) = runs(admin, space)
    owner = run["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"]) == ("CronJob", "nightly")
    assert run["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "main" and run["spec"]["suspend"] is True
    code, text = await said("get", "jobs", "-n", space)
    assert code == 0 and "nightly " in text and run["metadata"]["name"] in text


async def test_it_is_suspended_resumed_edited_cloned_and_killed(said: Said, admin: Api, space: str) -> None:
    assert (await said(*of_template("suspended=true", f"namespace={space}")))[0] == 0
    here = f"cronjob/{space}/nightly"

    async def done(verb: str, name: str) -> str:
        """Its plan, carried out."""
        code, text = await said("job", verb, name, "--write", "--dry-run")
        assert code == 0, text
        assert (await said("job", verb, name, "--write", "--yes"))[0] == 0
        return str(text)

    code, text = await said("why", here)
    assert code == 3 and "suspended: it starts once it is resumed" in text
    assert runs(admin, space) == []
    text = await done("resume", here)
    assert "a run starts at each time of its schedule again" in text
    assert cron(admin, space)["spec"]["suspend"] is False
    await until(lambda: runs(admin, space), seconds=60.0)
    (run,) = runs(admin, space)
    text = await done("suspend", here)
    assert f"no run starts until it is resumed; {run['metadata']['name']} goes on" in text
    assert cron(admin, space)["spec"]["suspend"] is True
    patch = '[{"op": "replace", "path": "/spec/schedule", "value": "%s"}]'
    code, text = await said("job", "edit", here, "--patch", patch % "0 24 * * *", "--write", "--yes")
    assert code == 2 and "spec.schedule: '0 24 * * *' is no schedule: hour: '24'" in text
    code, text = await said("job", "edit", here, "--patch", patch % "0 3 * * *", "--write", "--yes")
    assert code == 0, text
    assert cron(admin, space)["spec"]["schedule"] == "0 3 * * *"
    code, text = await said("job", "clone", here, "--set", "name=weekly", "--write", "--yes")
    assert code == 0, text
    copy = cron(admin, space, "weekly")
    assert copy["spec"] == cron(admin, space)["spec"]
    text = await done("kill", here)
    assert f"with it its runs: 1: {run['metadata']['name']}" in text
    await until(lambda: not runs(admin, space), seconds=60.0)
    left = [item["metadata"]["name"] for item in admin.items(CRONS.format(space))]
    assert left == ["weekly"]


@pytest.mark.parametrize(
    ("schedule", "told"),
    [
        ("0 3 * *", "spec.schedule: '0 3 * *' is no schedule: it has 4 of 5 fields"),
        ("0 3 * * 7", "spec.schedule: '0 3 * * 7' is no schedule: weekday: '7' is not between 0 and 6"),
        ("TZ=UTC 0 3 * * *", "a time zone is given apart from it"),
    ],
)
async def test_a_file_with_a_wrong_schedule_is_refused_as_the_server_would(
    said: Said, admin: Api, space: str, tmp_path: Path, schedule: str, told: str
) -> None:
    assert (await said(*of_template("suspended=true", f"namespace={space}")))[0] == 0
    tree = cron(admin, space)
    answer = admin.request(
        "POST",
        CRONS.format(space),
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": {"name": "wrong"},
            "spec": {**tree["spec"], "schedule": schedule},
        },
    )
    assert answer.status == 422 and "spec.schedule" in str(answer.body)
    path = tmp_path / "cron.yaml"
    text = (
        f"apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: wrong}}\nspec:\n  schedule: {schedule!r}\n"
    )
    path.write_text(text + "  jobTemplate: {spec: {template: {spec: {containers: []}}}}\n")
    code, text = await said("job", "submit", "-f", str(path), "-n", space, "--write", "--dry-run")
    assert code == 2 and told in text
