"""A clone keeps no reference to its original: what is its own is renamed, what is shared is told."""

from typing import Any

import pytest
import yaml

from cockpit.jobs.own_names import ApartManifest, apart

TRAINER = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: trainer2}
spec:
  replicatedJobs:
  - name: w
    template:
      spec:
        parallelism: 4
        completions: 4
        template:
          spec:
            containers:
            - {name: m, image: "r/trainer:1", env: [{name: MASTER_ADDR, value: trainer-w-0-0.trainer}]}
"""
WRAPPER = """
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {name: wrap2}
spec:
  components:
  - template:
      apiVersion: kubeflow.org/v1
      kind: PyTorchJob
      metadata: {name: inner}
      spec:
        pytorchReplicaSpecs:
          Worker:
            template: {spec: {containers: [{name: m, env: [{name: MASTER_ADDR, value: inner-worker-0}]}]}}
  - template: {apiVersion: v1, kind: Service, metadata: {name: wrap-door}, spec: {selector: {app: wrap}}}
  - template: {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}}
"""


def _pod(container: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "m", "image": "r/llm:1", **container}], **spec}}


def _job(container: dict[str, Any], name: str = "llm-r2", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": _pod(container, **spec)},
    }


def _mpi(container: dict[str, Any]) -> dict[str, Any]:
    roles = {role: {"template": _pod(container)} for role in ("Launcher", "Worker")}
    metadata = {"name": "llm-r2"}
    return {"kind": "MPIJob", "metadata": metadata, "spec": {"mpiReplicaSpecs": roles}}


def _env(made: ApartManifest) -> str:
    job = made.manifest["spec"]["replicatedJobs"][0]["template"]["spec"]
    return str(job["template"]["spec"]["containers"][0]["env"][0]["value"])


def test_a_cloned_jobset_meets_at_its_own_host() -> None:
    made = apart(yaml.safe_load(TRAINER), "trainer")
    assert _env(made) == "trainer2-w-0-0.trainer2"
    assert made.renamed == (
        "MASTER_ADDR of m: trainer-w-0-0 to trainer2-w-0-0",
        "MASTER_ADDR of m: trainer to trainer2",
    )
    assert made.left == ()
    container = made.manifest["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"][
        "containers"
    ]
    assert container[0]["image"] == "r/trainer:1"


def test_inner_objects_of_a_cloned_wrapper_have_names_of_their_own() -> None:
    made = apart(yaml.safe_load(WRAPPER), "wrap")
    inner, door, claim = (one["template"] for one in made.manifest["spec"]["components"])
    assert inner["metadata"]["name"] == "wrap2-inner"
    assert door["metadata"]["name"] == "wrap2-door"
    worker = inner["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    assert worker["env"][0]["value"] == "wrap2-inner-worker-0"
    assert claim["metadata"]["name"] == "data"
    assert any("claim data keeps its name" in one for one in made.left)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("mpirun -H llm-worker-0:2,llm-worker-1:2", "mpirun -H llm-r2-worker-0:2,llm-r2-worker-1:2"),
        ("ssh llm-launcher.llm.team-a.svc", "ssh llm-r2-launcher.llm-r2.team-a.svc"),
        ("tcp://llm:29500/x", "tcp://llm-r2:29500/x"),
    ],
)
def test_hosts_of_a_cloned_mpijob_are_its_own(before: str, after: str) -> None:
    made = apart(_mpi({"args": [before]}), "llm")
    container = made.manifest["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    assert container["args"] == [after]
    assert made.left == ()


@pytest.mark.parametrize(
    "text", ["/ckpt/llm", "s3://runs/llm/last", "llm/last", "--run-name=llm", "llm-svc.llm.svc:80"]
)
def test_what_may_be_shared_is_told_and_left_as_it_is(text: str) -> None:
    made = apart(_job({"args": [text]}), "llm")
    assert made.manifest == _job({"args": [text]})
    assert made.left and not made.renamed
    assert "args of m names llm of the original" in made.left[0]


@pytest.mark.parametrize("text", ["llm-data", "my-llm", "allm", "llm_data", "llm-worker", "prellm-0"])
def test_another_name_that_is_alike_is_no_reference(text: str) -> None:
    made = apart(_job({"args": [text], "env": [{"name": "X", "value": f"/a/{text}/b"}]}), "llm")
    assert (made.renamed, made.left) == ((), ())


def test_claims_secrets_and_images_keep_their_names() -> None:
    volumes = [{"name": "llm", "persistentVolumeClaim": {"claimName": "llm"}}]
    tree = _job({"envFrom": [{"secretRef": {"name": "llm"}}]}, volumes=volumes)
    assert apart(tree, "llm") == ApartManifest(tree)


def test_hosts_of_an_indexed_job_are_renamed_and_its_service_is_told() -> None:
    made = apart(_job({"env": [{"name": "MASTER_ADDR", "value": "llm-0.llm"}]}, subdomain="llm"), "llm")
    spec = made.manifest["spec"]["template"]["spec"]
    assert spec["containers"][0]["env"][0]["value"] == "llm-r2-0.llm"
    assert spec["subdomain"] == "llm", "its service is an object of its own, which the clone does not make"
    assert len(made.left) == 2


def test_a_selector_by_the_label_of_its_controller_means_its_own_pods() -> None:
    term = {"labelSelector": {"matchLabels": {"job-name": "llm", "app": "llm"}}, "topologyKey": "zone"}
    listed = {
        "labelSelector": {"matchExpressions": [{"key": "job-name", "operator": "In", "values": ["llm"]}]}
    }
    near = {"requiredDuringSchedulingIgnoredDuringExecution": [term, listed]}
    made = apart(_job({}, affinity={"podAffinity": near}), "llm")
    terms = made.manifest["spec"]["template"]["spec"]["affinity"]["podAffinity"]
    first, second = (one["labelSelector"] for one in next(iter(terms.values())))
    assert first["matchLabels"] == {"job-name": "llm-r2", "app": "llm"}
    assert second["matchExpressions"][0]["values"] == ["llm-r2"]
    assert any("label app=llm in a selector" in one for one in made.left)


def test_words_that_a_person_just_wrote_are_told_and_not_renamed() -> None:
    made = apart(_mpi({"args": ["llm-worker-0"]}), "llm", kept=("llm-worker-0",))
    assert made.renamed == ()
    assert made.left == (
        "args of m names llm-worker-0 of the original (by its name): change it, or both use it",
    )


def test_no_value_of_a_variable_is_told_beyond_the_name_that_is_in_it() -> None:
    secret = "postgres://user:hunter2@llm-worker-0:5432/db"
    made = apart(_mpi({"env": [{"name": "DB_URL", "value": secret}]}), "llm")
    assert made.renamed == ("DB_URL of m: llm-worker-0 to llm-r2-worker-0",)
    assert not any("hunter2" in one for one in (*made.renamed, *made.left))
