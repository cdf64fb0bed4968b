"""Templates of one's own, of kinds that nobody here knows: what they ask for, and whether they are served."""

from pathlib import Path

import pytest

from cockpit.kube.resource import Resource
from cockpit.model.record import Kind
from tests.unit.cli.builders import Cluster, read_json, run
from tests.unit.cli.test_commands import Capture
from tests.unit.pools.builders import node

RAY = """
template: {name: ray, title: Ray}
parameters:
  - {name: name, type: dns-label}
  - {name: workers, type: integer, default: 2}
manifest:
  apiVersion: ray.io/v1
  kind: RayCluster
  metadata: {name: {$param: name}}
  spec:
    headGroupSpec:
      template: {spec: {containers: [{name: head, image: "ray:2"}]}}
    workerGroupSpecs:
      - groupName: gpu
        replicas: {$param: workers}
        template:
          spec:
            tolerations: [{operator: Exists}]
            containers: [{name: ray, image: "ray:2", resources: {limits: {nvidia.com/gpu: 1}}}]
"""
ODD = """
template: {name: odd, title: Odd}
parameters: [{name: name, type: dns-label}]
manifest: {apiVersion: example.com/v1, kind: Training, metadata: {name: {$param: name}}, spec: {gpus: 8}}
"""
RAYCLUSTERS = Resource("ray.io", "v1", "rayclusters", "RayCluster", namespaced=True)
TRAININGS = Resource("example.com", "v1", "trainings", "Training", namespaced=True)
YES = ("--write", "--yes")


@pytest.fixture(autouse=True)
def own(home: Path) -> Path:
    """A folder with the templates, which the configuration names."""
    folder = home / "mine"
    folder.mkdir()
    (folder / "ray.yaml").write_text(RAY)
    (folder / "odd.yaml").write_text(ODD)
    (home / "config" / "gpu-cockpit" / "config.toml").write_text(f'template-folders = ["{folder}"]\n')
    return folder


def test_a_kind_of_ones_own_is_counted_and_fitted(cluster: Cluster, capsys: Capture) -> None:
    cluster.resources.append(RAYCLUSTERS)
    cluster.add(Kind.NODE, node("n1", gpus=2))
    code, out, _err = run(capsys, "job", "submit", "ray", "--name", "r", "--dry-run")
    assert code == 0
    for line in ("1 head pod without GPUs", "2 gpu pods x 1 GPU", "2 GPUs in total", "fits now on"):
        assert line in out
    assert "--namespace team-a" in out, "the line goes where the form went"
    out = run(capsys, "job", "submit", "ray", "--name", "r", "--workers", "3", "--dry-run")[1]
    assert "3 GPUs in total" in out and "pending: needs 3 GPUs as 3 x 1, 2 free" in out


def test_what_cannot_be_counted_is_unknown_everywhere(cluster: Cluster, capsys: Capture) -> None:
    cluster.resources.append(TRAININGS)
    cluster.add(Kind.NODE, node("n1", gpus=2))
    code, out, _err = run(capsys, "job", "submit", "odd", "--name", "x", "--dry-run")
    assert code == 0
    assert "GPUs in total unknown: the manifest has no pod template" in out
    assert "cannot tell whether it fits now: the manifest has no pod template" in out
    assert "0 GPUs" not in out
    told = read_json(run(capsys, "job", "submit", "odd", "--name", "x", "--dry-run", "-o", "json")[1])
    assert (told["members"], told["gpus"], told["pods"]) == (None, None, [])
    assert told["unknown"] == "no pod template"
    assert told["fit"] == ["cannot tell whether it fits now: the manifest has no pod template"]


def test_a_dry_run_for_programs_says_the_same(cluster: Cluster, capsys: Capture) -> None:
    cluster.resources.append(RAYCLUSTERS)
    cluster.add(Kind.NODE, node("n1", gpus=2))
    words = ("job", "submit", "ray", "--name", "r", "--workers", "3")
    code, out, _err = run(capsys, *words, "--dry-run", "-o", "json")
    told = read_json(out)
    assert code == 0
    assert told["pods"] == [
        {"role": "head", "count": 1, "gpus_each": 0},
        {"role": "gpu", "count": 3, "gpus_each": 1},
    ]
    assert (told["members"], told["gpus"], told["gpus_at_least"], told["unknown"]) == (4, 3, 3, None)
    assert "3 GPUs in total" in told["plan"] and told["fit"][0].startswith("pending: needs 3 GPUs as 3 x 1")
    assert told["server"] == {"state": "done", "sentence": "the cluster would accept it"}
    assert told["manifest"]["kind"] == "RayCluster" and not cluster.sent
    code, _out, err = run(capsys, *words, "-o", "json", *YES)
    assert code == 2 and "only a dry run has this output; add --dry-run" in err


@pytest.mark.parametrize("more", [("--dry-run",), YES])
def test_a_kind_that_is_not_served_is_told_first_and_nothing_is_sent(
    more: tuple[str, ...], cluster: Cluster, capsys: Capture
) -> None:
    code, out, err = run(capsys, "job", "submit", "ray", "--name", "r", *more)
    assert (code, out) == (2, "")
    assert "this cluster does not serve RayCluster of ray.io/v1: install KubeRay" in err
    assert not cluster.rehearsed and not cluster.sent
    assert [one for line in cluster.sessions for one in line.asked if not one.startswith("GET")] == []


def test_a_group_that_does_not_answer_is_not_called_unserved(cluster: Cluster, capsys: Capture) -> None:
    cluster.incomplete = ("ray.io/v1",)
    code, _out, err = run(capsys, "job", "submit", "ray", "--name", "r", "--dry-run")
    assert code == 2 and "cannot tell whether this cluster serves RayCluster of ray.io/v1" in err


def test_a_built_in_kind_that_is_not_served_is_told_as_well(cluster: Cluster, capsys: Capture) -> None:
    cluster.resources = [one for one in cluster.resources if one.kind != "MPIJob"]
    words = ("job", "submit", "mpijob", "--name", "llm", "--image", "r.example/hvd:1")
    for more in (("--dry-run",), YES):
        code, out, err = run(capsys, *words, *more)
        assert (code, out) == (2, "")
        assert "does not serve MPIJob of kubeflow.org/v2beta1: install the Kubeflow operator" in err
    assert not cluster.rehearsed and not cluster.sent


def test_a_wrong_value_is_told_before_a_kind_nobody_asked_about(cluster: Cluster, capsys: Capture) -> None:
    code, _out, err = run(capsys, "job", "submit", "ray", "--name", "No Name", "--dry-run")
    assert code == 2 and "name: 'No Name' is not a valid name" in err
    assert not cluster.sessions


def test_lint_and_new_ask_the_cluster_that_is_named(cluster: Cluster, own: Path, capsys: Capture) -> None:
    file = str(own / "ray.yaml")
    assert run(capsys, "template", "lint", file)[0] == 0
    assert not cluster.sessions, "no cluster is asked where none is named"
    code, out, err = run(capsys, "template", "lint", file, "--context", "prod")
    assert (code, out) == (2, "")
    assert f"{file}: this cluster does not serve RayCluster of ray.io/v1" in err
    new = ("template", "new", "mine", "--from", "ray", "--context", "prod")
    code, out, err = run(capsys, *new)
    assert (code, out) == (0, f"{own}/mine.yaml\n")
    assert "does not serve RayCluster" in err
    cluster.resources.append(RAYCLUSTERS)
    assert run(capsys, "template", "lint", file, "--context", "prod")[0] == 0
