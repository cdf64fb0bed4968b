"""The life of jobs on the embedded cluster, over HTTP: by the real command line, and by keys."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from cockpit.app import AppOptions, CockpitApp
from cockpit.attach import AttachOptions
from cockpit.clock import SystemClock
from cockpit.kube.resource import JOBS, PODS, WORKLOADS, Resource
from cockpit.kube.session import SessionOptions, open_session
from tests.tui.embedded import embedded
from tests.tui.on_the_bed import Headless, Shell, until

pytestmark = pytest.mark.waits

MANY = 50
Found = TypeVar("Found")


class Cluster:
    """The embedded cluster, asked past the cockpit's own views."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        async def one() -> Any:
            options = SessionOptions(kubeconfig=str(self.kubeconfig), context=None, read_only=False)
            session = await open_session(options, SystemClock())
            try:
                answer = await session.request(method, path, body=body)
                assert answer.status in (200, 201, 404), answer.message()
                return answer.json() if answer.status != 404 else None
            finally:
                await session.close()

        return asyncio.run(one())

    def items(self, resource: Resource, namespace: str) -> list[dict[str, Any]]:
        tree = self.ask("GET", resource.path(namespace))
        return list(tree["items"])

    def named(self, resource: Resource, namespace: str, prefix: str) -> list[dict[str, Any]]:
        found = self.items(resource, namespace)
        return [one for one in found if one["metadata"]["name"].startswith(prefix)]

    def running(self, namespace: str, prefix: str) -> int:
        pods = self.named(PODS, namespace, prefix)
        return sum((pod.get("status") or {}).get("phase") == "Running" for pod in pods)

    def workload(self, namespace: str, prefix: str) -> dict[str, Any]:
        (found,) = self.named(WORKLOADS, namespace, f"job-{prefix}")
        return found

    def is_gone(self, namespace: str, prefix: str) -> bool | None:
        """True once no object of that name is left, of any kind that a job leaves behind."""
        left = [one for kind in (JOBS, PODS, WORKLOADS) for one in self.items(kind, namespace)]
        names = [one["metadata"]["name"] for one in left]
        return None if any(prefix in name for name in names) else True


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A child process with the scenario of old and new cards; it ends with this test."""
    with embedded(tmp_path_factory.mktemp("embedded"), "old-and-new", 30) as kubeconfig:
        yield Cluster(kubeconfig)


@pytest.fixture
def shell(cluster: Cluster, tmp_path: Path) -> Shell:
    return Shell(cluster.kubeconfig, tmp_path)


def do(shell: Shell, *words: str, typed: str = "") -> str:
    """One command that changes the cluster and is done, with what has to be typed."""
    finished = shell.run(*words, "--write", "--yes", *(["--confirm", typed] if typed else []))
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def state(shell: Shell, name: str) -> Callable[[str], bool | None]:
    """Whether the job's row says so."""

    def is_so(wanted: str) -> bool | None:
        found = [one for one in shell.items("jobs") if one["name"] == name]
        return True if found and found[0]["state"] == wanted else None

    return is_so


def make_gang(cluster: Cluster) -> None:
    """The gang of the scenario, made anew where another test has ended it."""
    if not cluster.named(JOBS, "students", "homework"):
        body = batch("homework", "students", gpus=2)
        body["spec"] |= {"parallelism": 4, "completions": 4, "completionMode": "Indexed"}
        cluster.ask("POST", JOBS.path("students"), body)


def test_a_gang_is_held_resized_cloned_and_killed_by_commands(cluster: Cluster, shell: Shell) -> None:
    space, name = "students", "homework"
    make_gang(cluster)
    until("it runs", lambda: True if cluster.running(space, name) == 4 else None)

    assert "Suspended job students/homework" in do(shell, "job", "suspend", "students/homework")
    assert cluster.workload(space, name)["spec"]["active"] is False
    until("its pods are gone", lambda: True if not cluster.named(PODS, space, name) else None)
    until("its row says suspended", lambda: state(shell, name)("suspended"))
    refused = shell.run("job", "suspend", "students/homework", "--write", "--yes")
    assert refused.returncode == 2 and "suspended already" in refused.stderr

    do(shell, "job", "scale", "students/homework", "--to", "3")
    do(shell, "job", "resume", "job/students/homework")
    assert cluster.workload(space, name)["spec"].get("active", True) is True
    until("three pods run", lambda: True if cluster.running(space, name) == 3 else None)
    resized = shell.run("job", "scale", "students/homework", "--to", "2", "--write", "--yes")
    assert resized.returncode == 2 and "was admitted by Kueue at this size" in resized.stderr

    shown = shell.run("job", "clone", "students/homework", "--set", "workers=1", "--dry-run")
    assert shown.returncode == 0 and "the cluster would accept it" in shown.stdout
    assert "students/homework-r2" in do(shell, "job", "clone", "students/homework", "--set", "workers=1")
    until("the clone runs", lambda: True if cluster.running(space, "homework-r2") == 1 else None)
    (clone,) = cluster.named(JOBS, space, "homework-r2")
    assert clone["spec"]["parallelism"] == 1

    do(shell, "job", "prioritise", "students/homework-r2", "--priority", "normal")
    (clone,) = cluster.named(JOBS, space, "homework-r2")
    assert clone["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] == "normal"

    said = do(shell, "job", "kill", "students/homework", "students/homework-r2")
    assert said.splitlines()[-1] == "2 jobs killed"
    until("nothing is left over", lambda: cluster.is_gone(space, name))


PRIORITY = "kueue.x-k8s.io/priority-class"


@pytest.fixture
def fixed(cluster: Cluster) -> Iterator[None]:
    """An admitted job without a priority class, which may not be given one until it is suspended."""
    make_room(cluster)
    cluster.ask("POST", JOBS.path("students"), batch("fixed", "students", gpus=2))
    until("it runs", lambda: True if cluster.running("students", "fixed") == 1 else None)
    yield
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
    cluster.ask("DELETE", f"{JOBS.path('students')}/fixed", options)
    until("nothing is left over", lambda: cluster.is_gone("students", "fixed"))


def test_a_priority_that_kueue_refuses_is_refused_before_it_is_done(
    cluster: Cluster, shell: Shell, fixed: None
) -> None:
    words = ("job", "prioritise", "students/fixed", "--priority", "normal")
    shown = shell.run(*words, "--dry-run")
    refusal = "job students/fixed was denied by admission webhook vjob.kb.io: metadata.labels[" + PRIORITY
    assert shown.returncode == 1 and f"server: refused: {refusal}" in shown.stdout, shown
    done = shell.run(*words, "--write", "--yes")
    assert done.returncode == 1 and done.stderr.startswith(f"cockpit: {refusal}"), done
    assert done.stderr.endswith("field is immutable\n")
    (job,) = cluster.named(JOBS, "students", "fixed")
    assert PRIORITY not in job["metadata"]["labels"]


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=["80x24", "200x60"])
async def test_the_same_by_key_stands_in_the_dialog(
    cluster: Cluster, tmp_path: Path, size: tuple[int, int], fixed: None
) -> None:
    options = AttachOptions(kubeconfig=str(cluster.kubeconfig), write=True)
    app = CockpitApp(AppOptions(options, first_place="jobs", state_folder=tmp_path))
    async with app.run_test(size=size) as pilot:
        screen = Headless(app, pilot)
        await screen.press("slash", *"fixed", "enter")
        await screen.until_text("students/fixed", "● running")
        await screen.press("I")
        await screen.until_text("Priority or queue of students/fixed")
        await screen.press(*"priority normal", "enter")
        await screen.until_text("Prioritise job students/fixed", "× server: refused: ", "esc leave")
        await screen.press("y")
        await screen.until_text("× server: refused: ", "esc leave")
        await screen.press("escape")
        await screen.until_text("students/fixed", without=("Prioritise job",))
    assert not (tmp_path / "audit.jsonl").exists()


def test_a_queue_is_stopped_drained_and_resumed(cluster: Cluster, shell: Shell) -> None:
    make_room(cluster)
    job = batch("drained", "students", gpus=2)
    cluster.ask("POST", JOBS.path("students"), job)
    until("it runs", lambda: True if cluster.running("students", "drained") == 1 else None)
    shown = shell.run("queue", "stop", "students/main", "--drain", "--dry-run")
    assert "2 GPUs become free" in shown.stdout and "taken off: students/drained" in shown.stdout
    do(shell, "queue", "stop", "students/main", "--drain")
    until("it is taken off", lambda: True if not cluster.running("students", "drained") else None)
    do(shell, "queue", "resume", "localqueue/students/main")
    until("it runs again", lambda: True if cluster.running("students", "drained") == 1 else None)
    do(shell, "job", "kill", "students/drained")
    until("nothing is left over", lambda: cluster.is_gone("students", "drained"))


def batch(name: str, namespace: str, gpus: int = 1, queue: str = "main") -> dict[str, Any]:
    """A Job of one pod in a queue."""
    container = {
        "name": "main",
        "image": "registry.example/train:1",
        "resources": {
            "requests": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": str(gpus)},
            "limits": {"nvidia.com/gpu": str(gpus), "memory": "1Gi"},
        },
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {
            "suspend": True,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
                    "containers": [container],
                }
            },
        },
    }


def make_many(cluster: Cluster, prefix: str) -> None:
    """Fifty jobs: some of them have room, the others wait."""

    async def make() -> None:
        options = SessionOptions(kubeconfig=str(cluster.kubeconfig), context=None, read_only=False)
        session = await open_session(options, SystemClock())
        try:
            for number in range(MANY):
                answer = await session.request(
                    "POST", JOBS.path("students"), body=batch(f"{prefix}-{number:02d}", "students")
                )
                assert answer.status == 201, answer.message()
        finally:
            await session.close()

    asyncio.run(make())


def test_fifty_jobs_are_held_and_killed_by_one_command(
    cluster: Cluster, shell: Shell, tmp_path: Path
) -> None:
    make_room(cluster)
    make_many(cluster, "bulk")
    until("some of them run", lambda: True if cluster.running("students", "bulk") else None)
    shown = shell.run("job", "kill", "--filter", "bulk-", "--dry-run")
    assert f"Kill {MANY} jobs" in shown.stdout and "become free on" in shown.stdout
    assert len(cluster.named(JOBS, "students", "bulk")) == MANY
    said = do(shell, "job", "suspend", "--filter", "bulk-", typed=f"suspend {MANY}")
    assert said.splitlines()[-1] == f"{MANY} jobs suspended"
    until("no pod is left", lambda: True if not cluster.named(PODS, "students", "bulk") else None)
    began = time.monotonic()
    said = do(shell, "job", "kill", "--filter", "bulk-", typed=f"kill {MANY}")
    assert time.monotonic() - began < 30
    assert said.splitlines()[-1] == f"{MANY} jobs killed"
    assert len(said.splitlines()) == MANY + 1
    until("nothing is left over", lambda: cluster.is_gone("students", "bulk"))
    audit = (tmp_path / "state" / "gpu-cockpit" / "audit.jsonl").read_text().splitlines()
    told = [json.loads(line) for line in audit]
    ends = [one for one in told if one["verb"] == "kill" and one["step"] == "outcome"]
    # A job whose status moved under the plan is refused, and killed by a plan made anew: two true lines.
    killed = [one["target"] for one in ends if one["state"] == "done"]
    assert len(killed) == len(set(killed)) == MANY
    assert all((one["status"], one["reason"]) == (409, "Conflict") for one in ends if one["state"] != "done")
    assert len([one for one in told if one["verb"] == "kill"]) == 2 * len(ends)


def make_room(cluster: Cluster) -> None:
    """End the gang of the scenario, which holds every old card; past the cockpit, so no audit tells of it."""
    if cluster.named(JOBS, "students", "homework"):
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        cluster.ask("DELETE", f"{JOBS.path('students')}/homework", options)
        until("the gang is gone", lambda: cluster.is_gone("students", "homework"))


def test_what_failed_is_retried_and_what_ended_is_pruned(cluster: Cluster, shell: Shell) -> None:
    make_room(cluster)
    job = batch("brief", "students")
    told = {"cockpit.dev/duration": "1s", "cockpit.dev/exit-code": "1"}
    job["spec"]["backoffLimit"] = 0
    job["spec"]["template"]["metadata"] = {"annotations": told}
    cluster.ask("POST", JOBS.path("students"), job)
    until("it failed", lambda: state(shell, "brief")("failed"))
    held = shell.run("job", "suspend", "students/brief", "--write", "--yes")
    assert held.returncode == 2 and "has finished" in held.stderr
    do(shell, "job", "retry", "students/brief", "--memory", "2Gi")
    until("the retry failed, too", lambda: state(shell, "brief-r2")("failed"))
    (again,) = cluster.named(JOBS, "students", "brief-r2")
    resources = again["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert resources["limits"]["memory"] == "2Gi"
    young = shell.run("job", "prune", "--older-than", "90d", "--write", "--yes")
    assert (young.returncode, young.stdout) == (0, "no job to prune\n")
    wrong = shell.run("job", "prune", "--older-than", "soon", "--write", "--yes")
    assert wrong.returncode == 2 and "is not a valid age" in wrong.stderr
    said = do(shell, "job", "prune", "--older-than", "0s", "--filter", "brief")
    assert said.splitlines()[-1] == "2 jobs deleted"
    until("nothing is left over", lambda: cluster.is_gone("students", "brief"))


async def test_the_same_by_keys(cluster: Cluster, tmp_path: Path) -> None:
    await asyncio.to_thread(make_room, cluster)
    body = batch("typed", "students", gpus=2)
    body["spec"] |= {"parallelism": 2, "completions": 2, "completionMode": "Indexed"}
    await asyncio.to_thread(cluster.ask, "POST", JOBS.path("students"), body)
    options = AttachOptions(kubeconfig=str(cluster.kubeconfig), write=True)
    app = CockpitApp(AppOptions(options, first_place="jobs", state_folder=tmp_path))
    async with app.run_test(size=(160, 45)) as pilot:
        screen = Headless(app, pilot)
        await screen.press("slash", *"typed", "enter")
        await screen.until_text("students/typed", "● running", "2/2")
        await screen.press("P")
        await screen.until_text("Suspend job students/typed", "4 GPUs become free on 2 nodes")
        await screen.press("y")
        await screen.until_text("‖ suspended", "0/2", without=("Suspend job",))
        await screen.press("Z")
        await screen.until_text("Workers of typed")
        await screen.press("ctrl+u", "3")
        await screen.until_text("from 2 to 3 workers", "requests 2 more GPUs")
        await screen.press("ctrl+s")
        await screen.until_text("Resize job students/typed")
        await screen.press("y")
        await screen.until_text("‖ suspended", "0/3")
        await screen.press("P")
        await screen.until_text("Resume job students/typed")
        await screen.press("y")
        await screen.until_text("● running", "3/3")
        await screen.press("C")
        await screen.until_text("clone students/typed", "typed-r2")
        await screen.press("ctrl+s")
        await screen.until_text("Clone job students/typed as students/typed-r2")
        await screen.press("y")
        await screen.until_text("Members by rank", "students/typed-r2")
        await screen.press("escape")
        await screen.until_text("students/typed ", "students/typed-r2", without=("Members by rank",))
        await screen.press("ctrl+a", "K")
        await screen.until_text("Kill 2 jobs", "2 Job in students (2)")
        await screen.press("y")
        await screen.until_text("None of", without=("Kill 2 jobs",))
    gone = await asyncio.to_thread(
        until, "nothing is left over", lambda: cluster.is_gone("students", "typed")
    )
    assert gone


async def test_fifty_jobs_are_killed_by_two_keys_and_their_number(cluster: Cluster, tmp_path: Path) -> None:
    await asyncio.to_thread(make_room, cluster)
    await asyncio.to_thread(make_many, cluster, "keys")
    options = AttachOptions(kubeconfig=str(cluster.kubeconfig), write=True)
    app = CockpitApp(AppOptions(options, first_place="jobs", state_folder=tmp_path))
    async with app.run_test(size=(160, 45)) as pilot:
        screen = Headless(app, pilot)
        await screen.press("slash", *"keys-", "enter")
        await screen.until_text("students/keys-")
        await screen.until("all are there", lambda _: len(app.screen.table._source) == MANY or None)  # type: ignore[attr-defined]
        await screen.press("ctrl+a", "K")
        await screen.until_text(f"Kill {MANY} jobs")
        await screen.press(*f"kill {MANY}", "enter")
        await screen.until_text("None of", without=(f"Kill {MANY} jobs",))
    assert await asyncio.to_thread(until, "nothing is left", lambda: cluster.is_gone("students", "keys"))
