"""The full bed does what it is for: real controllers, real telemetry, ways in, and a clean end."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.bed import builder, machine_objects, pod_logs, sandbox, telemetry
from tests.bed.api import Api, ApiError, Tree
from tests.bed.bed import Bed
from tests.bed.estate import Estate, gpu_job, mpi_job
from tests.bed.exposition import reading
from tests.bed.fixtures import fresh
from tests.bed.layout import FULL
from tests.bed.machines import has_gpus, is_ready
from tests.bed.parts import ROOT

pytestmark = pytest.mark.real
QUOTA = 16
Found = TypeVar("Found")


def until(what: str, look: Callable[[], Found | None], seconds: float = 60.0) -> Found:
    """What `look` returns once it is not None; fails with `what` after `seconds`."""
    deadline = time.monotonic() + seconds
    while (found := look()) is None:
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.2)
    return found


@pytest.fixture(scope="module")
def estate(request: pytest.FixtureRequest) -> Iterator[Bed]:
    """A bed of this file's own, with four GPU nodes and a queue of 16 GPUs."""
    if (reason := sandbox.why_not()) is not None:
        pytest.skip(reason)
    for bed in fresh(FULL, request):
        Estate(bed.api()).create(nodes=4, quota=QUOTA)
        yield bed


def query(api: Api, text: str) -> list[dict[str, Any]]:
    """Prometheus's instant vector, through the API server's service proxy."""
    answer = api.get(f"{telemetry.PROXY_PATH}/api/v1/query", query=(("query", text),))
    found: list[dict[str, Any]] = answer["data"]["result"]
    return found


def running(api: Api, namespace: str, count: int) -> Callable[[], list[Tree] | None]:
    def look() -> list[Tree] | None:
        pods = api.items(f"/api/v1/namespaces/{namespace}/pods")
        good = [pod for pod in pods if pod["status"].get("phase") == "Running"]
        return good if len(good) == count else None

    return look


def test_two_gangs_run_and_the_third_waits_with_kueues_sentence(estate: Bed) -> None:
    api = estate.api()
    base = "/apis/kubeflow.org/v2beta1/namespaces/team-a/mpijobs"
    for name in ("one", "two"):
        api.create(base, mpi_job(name, workers=4, gpus_each=2))
    until("two launchers and eight workers run", running(api, "team-a", 10))
    api.create("/apis/batch/v1/namespaces/team-a/jobs", gpu_job("three", gpus=4))

    def pending() -> str | None:
        for one in api.items("/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a/workloads"):
            for condition in one.get("status", {}).get("conditions") or []:
                if condition["type"] == "QuotaReserved" and condition["status"] == "False":
                    return str(condition["message"])
        return None

    assert until("the third workload has a reason", pending) == (
        "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu "
        "in flavor h100, 4 more needed"
    )
    place = api.items("/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/research/pendingworkloads")
    assert [
        (one["metadata"]["ownerReferences"][0]["name"], one["positionInClusterQueue"]) for one in place
    ] == [("three", 0)]
    assert len(api.items("/api/v1/namespaces/team-a/pods")) == 10


def test_prometheus_says_through_the_proxy_what_the_exposition_said(estate: Bed) -> None:
    api = estate.api("viewer")
    until("every GPU is scraped", lambda: len(query(api, "DCGM_FI_DEV_FB_USED")) == 32 or None)
    pods = {
        f"{pod['metadata']['name']}": pod["spec"]["nodeName"]
        for pod in api.items("/api/v1/namespaces/team-a/pods")
    }

    def held() -> list[dict[str, Any]] | None:
        found = query(api, 'DCGM_FI_DEV_GPU_UTIL{exported_pod!=""}')
        return found if len(found) == QUOTA else None

    busy = until("sixteen GPUs are held", held)
    for one in busy:
        labels = one["metric"]
        assert labels["exported_namespace"] == "team-a"
        assert labels["namespace"] == "gpu-operator"
        assert pods[labels["exported_pod"]] == labels["Hostname"]
        expected = reading(labels["Hostname"], int(labels["gpu"]), held=True)
        assert float(one["value"][1]) == expected.duty_percent
        assert labels["UUID"] == expected.uuid
    for name, field in (
        ("DCGM_FI_DEV_FB_USED", "used_mib"),
        ("DCGM_FI_DEV_FB_FREE", "free_mib"),
        ("DCGM_FI_DEV_GPU_TEMP", "temperature_celsius"),
        ("DCGM_FI_DEV_POWER_USAGE", "power_watts"),
        ("DCGM_FI_DEV_SM_CLOCK", "sm_clock_mhz"),
    ):
        for one in query(api, f'{name}{{exported_pod!=""}}'):
            labels = one["metric"]
            expected = reading(labels["Hostname"], int(labels["gpu"]), held=True)
            assert float(one["value"][1]) == getattr(expected, field), name


def control(bed: Bed, asked: Tree) -> None:
    request = urllib.request.Request(
        f"{bed.exposition_url}/control",
        json.dumps(asked).encode(),
        {"Content-Type": "application/json"},
        method="POST",
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        assert answer.status == 200


def test_a_gpu_that_stops_reporting_is_gone_from_the_answers(estate: Bed) -> None:
    api = estate.api()
    wanted = 'DCGM_FI_DEV_GPU_TEMP{Hostname="gpu-003",gpu="7"}'
    until("it is reported", lambda: query(api, wanted) or None)
    control(estate, {"silence": [["gpu-003", 7]]})
    until("it is gone", lambda: True if not query(api, wanted) else None)
    assert len(query(api, 'DCGM_FI_DEV_GPU_TEMP{Hostname="gpu-003"}')) == 7
    control(estate, {"speak": [["gpu-003", 7]]})
    until("it is back", lambda: query(api, wanted) or None)


def test_a_pool_grows_in_stages_and_shrinks_by_its_scale_subresource(estate: Bed) -> None:
    api = estate.api()
    base = f"/apis/{machine_objects.GROUP}/{machine_objects.VERSION}/namespaces/default/machinedeployments"
    tree = machine_objects.machine_deployment("pool-a", 0)
    tree["metadata"]["annotations"] = {"bed/ready-after": "1", "bed/gpus-after": "1", "bed/drain-after": "1"}
    api.create(base, tree)
    assert api.merge(f"{base}/pool-a/scale", {"spec": {"replicas": 2}})["spec"]["replicas"] == 2
    seen: list[tuple[bool, bool]] = []

    def grown() -> bool | None:
        label = (("labelSelector", f"{machine_objects.DEPLOYMENT_LABEL}=pool-a"),)
        nodes = api.items("/api/v1/nodes", query=label)
        stages = [(is_ready(node), has_gpus(node)) for node in nodes]
        seen.extend(stage for stage in stages if stage not in seen)
        return True if stages == [(True, True)] * 2 else None

    until("two ready nodes with GPUs", grown)
    assert seen == [(False, False), (True, False), (True, True)]
    until("the status follows", lambda: api.get(f"{base}/pool-a")["status"]["readyReplicas"] == 2 or None)
    api.merge(f"{base}/pool-a/scale", {"spec": {"replicas": 0}})
    until("the pool is empty", lambda: api.get(f"{base}/pool-a/scale")["status"]["replicas"] == 0 or None)


def test_the_bed_is_entered_and_left(estate: Bed, tmp_path: Path) -> None:
    account = Path("/run/secrets/kubernetes.io/serviceaccount/token")
    script = f"ls /etc/kueue; kubectl get --raw /readyz; pwd; touch here; cat {account}"
    done = estate.run_inside(["sh", "-c", script], folder=tmp_path)
    token = (estate.run_dir / "controllers.token").read_text()
    assert done.stdout == f"metrics\nok{tmp_path}\n{token}", done.stderr
    assert (tmp_path / "here").exists()
    pod = estate.api().get("/api/v1/namespaces/monitoring/pods/prometheus-0")["status"]["podIP"]
    port = estate.layout.ports["prometheus"]
    reach = ["python3", "-c", f"import socket; socket.create_connection(('{pod}', {port}), 5)"]
    assert estate.run_inside(reach).returncode == 0
    # Out here nothing of it is seen.
    assert not account.exists() or account.read_text() != token


def test_people_have_the_rights_that_their_names_say(estate: Bed) -> None:
    estate.api("viewer").items("/api/v1/nodes")
    estate.api("engineer").items("/api/v1/namespaces/team-a/pods")
    for who, path, status in (
        ("viewer", "/api/v1/secrets", 403),
        ("engineer", "/api/v1/nodes", 403),
        ("engineer", "/api/v1/namespaces/team-b/pods", 403),
        ("nobody", "/api/v1/pods", 403),
        ("expired", "/api/v1/pods", 401),
    ):
        with pytest.raises(ApiError) as caught:
            estate.api(who).get(path)
        assert caught.value.status == status, who


def test_logs_are_read_and_followed(estate: Bed) -> None:
    pod = next(
        one["metadata"]["name"]
        for one in estate.api().items("/api/v1/namespaces/team-a/pods")
        if "launcher" in one["metadata"]["name"]
    )
    assert "mpirun" in estate.kubectl("-n", "team-a", "logs", pod)
    command = [estate.layout.programs["kubectl"], "--kubeconfig", str(estate.kubeconfig)]
    with subprocess.Popen(
        [*command, "-n", "team-a", "logs", "--follow", "--tail=1", pod], stdout=subprocess.PIPE, text=True
    ) as follower:
        assert follower.stdout is not None
        try:
            assert "step 200" in follower.stdout.readline()
            pod_logs.append(estate.run_dir, "launcher", "epoch 1 step 300")
            assert follower.stdout.readline() == "epoch 1 step 300\n"
        finally:
            follower.kill()


def test_exec_gives_the_commands_own_code_and_the_way_in() -> None:
    command = [sys.executable, "-m", "tests.bed", "exec", "--parts", "apiserver", "--"]
    script = "kubectl get --raw /readyz && exit 7"
    done = subprocess.run(
        [*command, "sh", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (7, "ok"), done.stderr


def test_a_part_is_restarted(estate: Bed) -> None:
    estate.restart("kwok")
    assert estate.api().get("/version")["gitVersion"] == "v1.36.3"


def living(run_dir: Path) -> list[str]:
    """Command lines of processes that name the run folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(run_dir) in line:
            found.append(line)
    return found


@pytest.mark.parametrize(
    ("how", "where"),
    [
        (signal.SIGTERM, "--no-namespace"),
        (signal.SIGINT, "--no-namespace"),
        (signal.SIGKILL, "--no-namespace"),
        (signal.SIGTERM, "--namespace"),
        (signal.SIGKILL, "--namespace"),
    ],
)
def test_nothing_is_left_when_the_owner_ends(how: signal.Signals, where: str) -> None:
    if where == "--namespace" and (reason := sandbox.why_not()) is not None:
        pytest.skip(reason)
    builder.ensure_all(("etcd", "kube-apiserver", "kubectl"))
    command = [sys.executable, "-m", "tests.bed", "up", "--parts", "apiserver", where]
    owner = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    assert owner.stdout is not None
    with owner, owner.stdout:
        line = owner.stdout.readline()
        assert line.startswith("KUBECONFIG=")
        run_dir = Path(line.removeprefix("KUBECONFIG=").strip()).parent
        assert len(living(run_dir)) >= 3
        owner.send_signal(how)
        owner.wait(timeout=20)
        until("all processes are gone", lambda: True if not living(run_dir) else None, 20.0)
        until("the folder is gone", lambda: True if not run_dir.exists() else None, 20.0)
