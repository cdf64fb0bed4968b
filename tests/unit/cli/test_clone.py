"""`cockpit job clone`: the field that is set is the one that the job's template or kind means."""

from typing import Any

import pytest

from cockpit.jobs.render import render
from cockpit.jobs.template import load_library
from tests.unit.cli.builders import Cluster, run
from tests.unit.cli.test_commands import Capture, gang

PATH = "/apis/kubeflow.org/v2beta1/namespaces/team-a/mpijobs/llm"
VALUES = {"name": "llm", "namespace": "team-a", "image": "r.example/hvd:1", "gpus": "2"}


def read(tree: dict[str, Any]) -> dict[str, Any]:
    """The object as the server answers it."""
    return {**tree, "metadata": {**tree["metadata"], "uid": "uid-team-a-llm", "resourceVersion": "41"}}


def words_of(body: dict[str, Any], role: str) -> tuple[list[str], list[str]]:
    container = body["spec"]["mpiReplicaSpecs"][role]["template"]["spec"]["containers"][0]
    return container.get("command", []), container.get("args", [])


@pytest.mark.parametrize("template", ["mpijob", "mpijob-ddp", "mpijob-elastic"])
@pytest.mark.parametrize("how", [("--set", "command=sh new.sh 1"), ("--command", "sh new.sh 1")])
def test_the_command_goes_to_the_launcher(
    template: str, how: tuple[str, str], cluster: Cluster, capsys: Capture
) -> None:
    gang(cluster)
    before = render(load_library().templates[template], VALUES)
    cluster.reads[PATH] = [read(before)]
    code, out, err = run(capsys, "job", "clone", "team-a/llm", *how, "--write", "--yes")
    assert (code, err) == (0, ""), out
    (call,) = cluster.sent
    after = render(load_library().templates[template], {**VALUES, "command": "sh new.sh 1"})
    for role in ("Launcher", "Worker"):
        assert words_of(call.body, role) == words_of(after, role)
    assert words_of(after, "Worker") == words_of(before, "Worker")


def test_a_command_that_cannot_be_read_is_refused(cluster: Cluster, capsys: Capture) -> None:
    gang(cluster)
    tree = render(load_library().templates["mpijob"], VALUES)
    launcher = tree["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    launcher["command"], launcher["args"] = ["bash", "-c", "mpirun -np 4 python train.py"], []
    cluster.reads[PATH] = [read(tree)]
    code, out, err = run(capsys, "job", "clone", "team-a/llm", "--command", "true", "--dry-run")
    assert (code, out) == (2, "")
    assert "command: what mpijob team-a/llm runs cannot be told from its object" in err
    assert not cluster.rehearsed and not cluster.sent
