"""The commands, from words to printed lines and calls, on a cluster that answers at once."""

import io
from pathlib import Path

import pytest
import yaml

from cockpit.cli import KINDS
from cockpit.errors import NoConnection, NotTried
from cockpit.model.batch import Phase
from cockpit.model.gang import LocalQueue
from cockpit.model.job import JobObject, ReplicaSpec
from cockpit.model.pod import Pod
from cockpit.model.record import Kind
from tests.unit.actions.builders import refused
from tests.unit.cli.builders import Cluster, read_json, run
from tests.unit.pools.builders import deployment, node

Capture = pytest.CaptureFixture[str]


SUBMIT = ("job", "submit", "mpijob", "--name", "llm", "--image", "registry.example/hvd:1", "-n", "team-a")


def gang(cluster: Cluster, name: str = "llm", namespace: str = "team-a") -> None:
    cluster.add(
        Kind.MPIJOB,
        JobObject(
            uid=f"uid-{namespace}-{name}",
            name=name,
            namespace=namespace,
            resource_version="41",
            api_version="kubeflow.org/v2beta1",
            kind="MPIJob",
            replicas=(ReplicaSpec("worker", 2, 2, "nvidia.com/gpu"),),
        ),
    )
    for rank in range(2):
        cluster.add(
            Kind.POD,
            Pod(
                uid=f"uid-{namespace}-{name}-{rank}",
                name=f"{name}-worker-{rank}",
                namespace=namespace,
                phase="Running",
                node="n1",
                gpus=2,
                gpu_resource="nvidia.com/gpu",
                owner_api_version="kubeflow.org/v2beta1",
                owner_kind="MPIJob",
                owner_name=name,
                owner_uid=f"uid-{namespace}-{name}",
                job_label=name,
                role="worker",
                rank=rank,
                is_ready=True,
            ),
        )


class Terminal(io.StringIO):
    """Standard input of a person who types this."""

    def isatty(self) -> bool:
        return True


# ---- get


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("output", ["table", "json", "yaml"])
def test_get_prints_every_kind_in_every_form(
    kind: str, output: str, cluster: Cluster, capsys: Capture
) -> None:
    cluster.add(Kind.NODE, node("n1", pool="h100"))
    cluster.add(Kind.POOL, deployment(replicas=1))
    gang(cluster)
    code, out, err = run(capsys, "get", kind, "-o", output)
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    if output != "table":
        tree = read_json(out) if output == "json" else yaml.safe_load(out)
        assert tree["kind"] == kind
        assert tree["context"] == "prod"


def test_get_jobs_as_table_and_json(cluster: Cluster, capsys: Capture) -> None:
    gang(cluster)
    _code, out, _err = run(capsys, "get", "jobs")
    header, row = out.splitlines()
    assert "STATE" in header
    assert "llm" in row
    (job,) = read_json(run(capsys, "get", "jobs", "-o", "json")[1])["items"]
    assert (job["name"], job["namespace"], job["gpus_allocated"]) == ("llm", "team-a", 4)


def test_get_pools_and_nodes_tell_what_was_computed(cluster: Cluster, capsys: Capture) -> None:
    cluster.add(Kind.NODE, node("n1", pool="h100"))
    cluster.add(Kind.POOL, deployment(replicas=1))
    (pool,) = read_json(run(capsys, "get", "pools", "-o", "json")[1])["items"]
    assert (pool["name"], pool["gpus_total"], pool["target"]) == ("h100", 8, 1)
    (one,) = read_json(run(capsys, "get", "nodes", "-o", "json")[1])["items"]
    assert (one["name"], one["stage"], one["gpus_allocated"]) == ("n1", "GPUs up", 0)


def test_gpus_that_nothing_collects_are_rows_without_numbers(cluster: Cluster, capsys: Capture) -> None:
    cluster.add(Kind.NODE, node("n1", pool="h100", gpus=2))
    _code, out, _err = run(capsys, "get", "gpus")
    assert len(out.splitlines()) == 3
    assert out.count("n/c") >= 6
    assert " 0%" not in out
    items = read_json(run(capsys, "get", "gpus", "-o", "json")[1])["items"]
    assert [one["duty_ratio"] for one in items] == ["not collected", "not collected"]


def test_why_readings_are_missing_is_noted(cluster: Cluster, capsys: Capture) -> None:
    cluster.add(Kind.NODE, node("n1", pool="h100", gpus=2))
    assert run(capsys, "get", "gpus")[2] == ""
    cluster.phases[Kind.GPU] = Phase.ABSENT
    cluster.messages[Kind.GPU] = "No Prometheus found; set a Prometheus URL."
    code, out, err = run(capsys, "get", "gpus")
    assert (code, len(out.splitlines())) == (0, 3)
    assert err == "cockpit: gpus: No Prometheus found; set a Prometheus URL.\n"
    assert run(capsys, "get", "pods")[2] == ""


def test_filter_and_sort(cluster: Cluster, capsys: Capture) -> None:
    gang(cluster)
    gang(cluster, "eval", "team-b")
    assert "eval" not in run(capsys, "get", "jobs", "--filter", "llm")[1]
    code, _out, err = run(capsys, "get", "jobs", "--sort", "colour")
    assert code == 2
    assert "--sort: there is no column 'colour'; it has:" in err


def test_an_empty_table_says_why(cluster: Cluster, capsys: Capture) -> None:
    assert run(capsys, "get", "jobs") == (0, "no jobs\n", "")
    assert run(capsys, "get", "jobs", "-n", "team-a")[1] == "no jobs in namespace team-a\n"
    cluster.phases[Kind.LOCAL_QUEUE] = Phase.ABSENT
    cluster.messages[Kind.LOCAL_QUEUE] = "Kueue is not installed"
    assert run(capsys, "get", "queues")[1] == "no queues: Kueue is not installed\n"


def test_what_may_not_be_listed_is_refused_or_noted(cluster: Cluster, capsys: Capture) -> None:
    cluster.phases[Kind.NODE] = Phase.DENIED
    cluster.messages[Kind.NODE] = "list nodes is denied"
    assert run(capsys, "get", "nodes") == (1, "", "cockpit: nodes: list nodes is denied\n")
    cluster.phases[Kind.NODE] = Phase.LIVE
    cluster.phases[Kind.WORKLOAD] = Phase.DENIED
    code, out, err = run(capsys, "get", "jobs")
    assert (code, out) == (0, "no jobs\n")
    assert "workloads: denied" in err


def test_no_connection_and_no_patience(cluster: Cluster, capsys: Capture) -> None:
    cluster.phases[Kind.NODE] = Phase.LISTING
    code, out, err = run(capsys, "get", "nodes", "--timeout", "0.05")
    assert (code, out) == (2, "")
    assert "not listed within 0.05 s: nodes" in err
    cluster.failure = NoConnection("there is no context 'x'; available: a, b")
    assert run(capsys, "get", "nodes") == (2, "", "cockpit: there is no context 'x'; available: a, b\n")


def test_the_namespace_comes_from_the_configuration_unless_all_are_asked_for(
    cluster: Cluster, capsys: Capture, home: Path
) -> None:
    (home / "config" / "gpu-cockpit" / "config.toml").write_text('namespace = "team-c"\n')
    run(capsys, "get", "jobs")
    run(capsys, "get", "jobs", "-A")
    run(capsys, "get", "jobs", "-n", "team-d")
    assert cluster.namespaces == ["team-c", "", "team-d"]


# ---- job submit


def test_submit(cluster: Cluster, capsys: Capture, home: Path) -> None:
    code, out, err = run(
        capsys, *SUBMIT, "--workers", "4", "--gpus", "2", "--set", "queue=gpu-lq", "--write", "--yes"
    )
    assert (code, err) == (0, "")
    assert out.startswith("Submitted mpijob team-a/llm (audit ")
    (call,) = cluster.sent
    assert call.path == "/apis/kubeflow.org/v2beta1/namespaces/team-a/mpijobs"
    assert call.body["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] == 4
    assert len(cluster.rehearsed) == 1
    assert len((home / "state" / "gpu-cockpit" / "audit.jsonl").read_text().splitlines()) == 2
    shown = run(capsys, "audit", "show")[1]
    assert shown.count("submit") >= 2
    assert "Submitted mpijob team-a/llm" in shown
    assert (
        read_json(run(capsys, "audit", "show", "-o", "json", "--last", "1")[1])["items"][0]["state"] == "done"
    )


def test_submit_uses_the_contexts_namespace(cluster: Cluster, capsys: Capture) -> None:
    words = [one for one in SUBMIT if one not in ("-n", "team-a")]
    run(capsys, *words, "--write", "--yes")
    assert cluster.sent[0].path.endswith("/namespaces/team-a/mpijobs")


def test_submit_dry_run_needs_no_write_and_prints_the_manifest(cluster: Cluster, capsys: Capture) -> None:
    code, out, _err = run(capsys, *SUBMIT, "--dry-run")
    assert code == 0
    manifest, _, rest = out.partition("\n\n")
    assert yaml.safe_load(manifest)["kind"] == "MPIJob"
    assert "server: the cluster would accept it" in rest
    assert cluster.sent == []
    cluster.answers[True] = [refused(403, "Forbidden", 'admission webhook "v" denied the request: no')]
    code, out, _err = run(capsys, *SUBMIT, "--dry-run")
    assert code == 1
    assert "denied by admission webhook v: no" in out


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (
            ("job", "submit", "nothing"),
            "there is no template 'nothing'; known templates: cronjob, job, jobset",
        ),
        (("job", "submit", "mpijob", "--image", "a:1"), "name: a value is required"),
        ((*SUBMIT, "--workers", "0"), "workers: 0 is too small, at least 1"),
        ((*SUBMIT, "--set", "workers"), "--set 'workers': write NAME=VALUE"),
        ((*SUBMIT, "--set", "cpu=1", "--set", "cpu=2"), "--set cpu: given twice"),
        ((*SUBMIT, "--set", "name=x"), "--name and --set name= set the same parameter"),
        ((*SUBMIT, "--set", "colour=red"), "has no parameter 'colour'"),
        (SUBMIT, "read-only: press :write or start with --write"),
        ((*SUBMIT, "--write"), "stdin is not a terminal; use --yes"),
        (("job", "kill", "llm"), "read-only: press :write or start with --write"),
        (("job", "kill", "a//b", "--write", "--yes"), "'a//b' is not a job"),
        (("pool", "scale", "h100", "--to", "4"), "read-only: press :write or start with --write"),
        (
            ("pool", "scale", "h100", "--to", "many", "--write"),
            "--to: 'many' is not a whole number",
        ),
    ],
)
def test_bad_input_is_told_before_the_cluster_is_asked(
    words: tuple[str, ...], part: str, cluster: Cluster, capsys: Capture
) -> None:
    code, _out, err = run(capsys, *words)
    assert code == 2
    assert part in err
    assert err.count("\n") == 1
    assert cluster.sessions == []


def test_a_context_that_may_write_by_configuration(cluster: Cluster, capsys: Capture, home: Path) -> None:
    (home / "config" / "gpu-cockpit" / "config.toml").write_text('[context."prod"]\nwrite = true\n')
    assert run(capsys, *SUBMIT, "--yes", "--context", "prod")[0] == 0
    assert run(capsys, *SUBMIT, "--yes", "--context", "other")[0] == 2


def test_the_current_context_of_the_kubeconfig_decides_too(
    cluster: Cluster, capsys: Capture, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "config" / "gpu-cockpit" / "config.toml").write_text('[context."prod"]\nwrite = true\n')
    (home / "kc").write_text(yaml.safe_dump({"current-context": "prod", "contexts": []}))
    monkeypatch.setenv("KUBECONFIG", str(home / "kc"))
    assert run(capsys, *SUBMIT, "--yes")[0] == 0
    (home / "kc").write_text(yaml.safe_dump({"current-context": "other", "contexts": []}))
    assert run(capsys, *SUBMIT, "--yes")[0] == 2


def test_what_the_server_would_refuse_is_not_asked_for(cluster: Cluster, capsys: Capture) -> None:
    cluster.answers[True] = [refused(409, "AlreadyExists", 'mpijobs.kubeflow.org "llm" already exists')]
    code, _out, err = run(capsys, *SUBMIT, "--write", "--yes")
    assert code == 1
    assert err == ("cockpit: mpijob team-a/llm already exists: choose another name, or kill that one first\n")
    assert cluster.sent == []


def test_what_the_server_cannot_try_is_noted_and_done(cluster: Cluster, capsys: Capture) -> None:
    deaf = refused(400, "BadRequest", 'admission webhook "v.io" does not support dry run', error=NotTried)
    why = "mpijob team-a/llm: admission webhook v.io does not support dry run"
    cluster.answers[True] = [deaf]
    code, out, err = run(capsys, *SUBMIT, "--write", "--yes")
    assert code == 0 and out.startswith("Submitted mpijob team-a/llm") and len(cluster.sent) == 1
    assert err == f"cockpit: could not be tried: {why}\n"
    cluster.answers[True] = [deaf]
    code, out, err = run(capsys, *SUBMIT, "--dry-run")
    assert code == 2 and f"  server: could not be tried: {why}" in out
    assert len(cluster.sent) == 1


def test_a_lost_connection_at_the_dry_run_ends_it(cluster: Cluster, capsys: Capture) -> None:
    cluster.answers[True] = [NoConnection("the connection was cut")]
    code, _out, err = run(capsys, *SUBMIT, "--write", "--yes")
    assert (code, err) == (2, "cockpit: the connection was cut\n") and cluster.sent == []


@pytest.mark.parametrize(("typed", "sent"), [("y\n", 1), ("yes\n", 1), ("\n", 0), ("n\n", 0), ("", 0)])
def test_a_person_is_shown_the_plan_and_asked(
    typed: str, sent: int, cluster: Cluster, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    code, out, _err = run(capsys, *SUBMIT, "--write")
    assert code == 0
    assert "Submit mpijob team-a/llm" in out
    assert "$ cockpit job submit mpijob" in out
    assert len(cluster.sent) == sent
    assert ("nothing was changed" in out) == (not sent)


def test_a_queue_that_is_not_there_is_refused_by_name(cluster: Cluster, capsys: Capture) -> None:
    code, _out, err = run(capsys, *SUBMIT, "--queue", "nowhere", "--dry-run")
    assert code == 2
    assert "queue: namespace team-a has no LocalQueue nowhere: choose another one" in err
    queue = LocalQueue(uid="lq", name="main", namespace="team-a", cluster_queue="research")
    cluster.add(Kind.LOCAL_QUEUE, queue)
    _code, out, _err = run(capsys, *SUBMIT, "--queue", "main", "--dry-run")
    assert "no queue" not in out
    assert len(cluster.sessions) == 2, "each dry run attaches once"


def test_a_submit_without_an_engine_goes_where_the_cluster_queues(cluster: Cluster, capsys: Capture) -> None:
    queue = LocalQueue(uid="lq", name="main", namespace="team-a", cluster_queue="research")
    cluster.add(Kind.LOCAL_QUEUE, queue)
    out = run(capsys, *SUBMIT, "--dry-run")[1]
    assert "kueue.x-k8s.io/queue-name: main" in out
    assert "queue main is there; use --engine none to start it without an engine" in out
    assert "--set queue=main" in out
    for words in (("--engine", "none"), ("--queue", "")):
        assert "queue-name" not in run(capsys, *SUBMIT, *words, "--dry-run")[1]
    code, _out, err = run(capsys, *SUBMIT, "--engine", "none", "--queue", "main", "--dry-run")
    assert code == 2 and "engine none, and the manifest names Kueue" in err
    code, _out, err = run(capsys, *SUBMIT, "--engine", "native", "--dry-run")
    assert code == 2 and "MPIJob drops the pods' spec.schedulingGroup" in err
    code, _out, err = run(capsys, *SUBMIT, "--engine", "coscheduling", "--dry-run")
    assert code == 2 and "Coscheduling is not installed" in err


def test_engines_are_told_as_two_facts(cluster: Cluster, capsys: Capture) -> None:
    code, out, _err = run(capsys, "get", "engines")
    assert code == 0
    (line,) = (one for one in out.splitlines() if one.startswith("Kueue"))
    assert line.split()[1:4] == ["yes", "unknown", "Kueue"]
    assert "Volcano is not installed: podgroups.scheduling.volcano.sh is not served" in out
    pod = Pod(
        uid="k", name="kueue-controller-manager-1", namespace="kueue-system", phase="Running", is_ready=True
    )
    cluster.add(Kind.POD, pod)
    items = read_json(run(capsys, "get", "engines", "-o", "json")[1])["items"]
    assert {one["engine"]: (one["is_served"], one["is_alive"]) for one in items}["Kueue"] == (True, True)


def test_choices_of_a_template(cluster: Cluster, capsys: Capture) -> None:
    cluster.add(Kind.NODE, node("n1", pool="h100"))
    code, out, _err = run(capsys, "template", "choices", "mpijob")
    assert code == 0
    assert "n1" in out and "this cluster does not serve PersistentVolumeClaim" in out
    code, _out, err = run(capsys, "template", "choices", "mpijob", "workers")
    assert code == 2 and "takes no values from the cluster; these do: namespace, queue" in err


def test_a_dry_run_says_whether_it_fits(cluster: Cluster, capsys: Capture) -> None:
    _code, out, _err = run(capsys, *SUBMIT, "--dry-run")
    assert "pending: no node advertises a GPU" in out
    cluster.add(Kind.NODE, node("n1", gpus=2))
    _code, out, _err = run(capsys, *SUBMIT, "--gpus", "1", "--workers", "2", "--dry-run")
    assert "fits now on node n1" in out
    _code, out, _err = run(capsys, *SUBMIT, "--gpus", "1", "--workers", "3", "--dry-run")
    assert "pending: needs 3 GPUs as 3 x 1, 2 free, room for 3 of 4 members\n" in out
    assert "  would start if: 2 workers instead of 3\n" in out
    cluster.phases[Kind.POD] = Phase.DENIED
    _code, out, _err = run(capsys, *SUBMIT, "--dry-run")
    assert "cannot tell whether it fits now" in out


def test_a_queue_without_kueue_is_refused(cluster: Cluster, capsys: Capture) -> None:
    cluster.resources = [one for one in cluster.resources if one.kind != "LocalQueue"]
    code, _out, err = run(capsys, *SUBMIT, "--queue", "main", "--dry-run")
    assert (code, err) == (2, "cockpit: queue main: Kueue is not installed here; leave the queue empty\n")
