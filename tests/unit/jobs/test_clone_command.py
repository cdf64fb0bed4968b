"""The command of a clone is the one that its template means, or its kind; a field changes nothing else."""

import copy
import shlex
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.errors import BadInput
from cockpit.jobs.clone import as_written
from cockpit.jobs.clone_template import clone_template
from cockpit.jobs.launchers import launch_of
from cockpit.jobs.render import render
from cockpit.jobs.template import Template, load_library, read_template

Tree = dict[str, Any]

TEMPLATES = load_library().templates
NEEDED = {"image": "r.example/hvd:1", "runtime": "torch-distributed", "node": "n1", "schedule": "@daily"}
word = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1, max_size=12)
words = st.lists(word, min_size=1, max_size=5)


def values_for(template: Template, more: dict[str, str]) -> dict[str, str]:
    """These values, as far as the template has them, with what it needs besides."""
    given_ = {"name": "llm", "namespace": "team-a", **NEEDED, **more}
    known = {one.name for one in template.parameters}
    found = {name: text for name, text in given_.items() if name in known}
    return {name: text for name, text in found.items() if name != "node" or template.name == "smoke-test"}


def made_by(template: Template, more: dict[str, str]) -> Tree:
    """The object that a template makes, as a clone begins with it."""
    return as_written(render(template, values_for(template, more)))


def without_name(tree: Tree) -> Tree:
    made = copy.deepcopy(tree)
    del made["metadata"]["name"]
    return made


def cloned(tree: Tree, values: dict[str, str], templates: dict[str, Template] = TEMPLATES) -> Tree:
    """What the clone would send, but for its name."""
    return without_name(render(clone_template(tree, "llm-r2", templates.values()), values))


def parameter_names(tree: Tree) -> set[str]:
    return {one.name for one in clone_template(tree, "llm-r2", TEMPLATES.values()).parameters}


# ---- made by a template


@given(
    name=st.sampled_from(sorted(TEMPLATES)),
    command=words,
    other=words,
    workers=st.integers(1, 9),
    gpus=st.integers(1, 8),
    more=st.fixed_dictionaries(
        {},
        optional={
            "queue": st.just("main"),
            "launcher": st.sampled_from(["mpirun", "horovodrun", "command"]),
            "environment": st.sampled_from(["A=b", "A=b C=d"]),
            "git": st.just("https://example.com/code.git"),
            "tensorboard": st.just("/runs"),
            "retries": st.just("2"),
        },
    ),
    changed=st.sampled_from(["", "command", "workers", "gpus", "memory", "queue"]),
)
@settings(deadline=None, max_examples=400)
def test_a_clone_is_what_its_template_would_make_with_the_changed_value(
    name: str,
    command: list[str],
    other: list[str],
    workers: int,
    gpus: int,
    more: dict[str, str],
    changed: str,
) -> None:
    template = TEMPLATES[name]
    known = {"command": shlex.join(command), "workers": str(workers), "gpus": str(gpus), **more}
    new = {"command": shlex.join(other), "workers": str(workers + 3), "gpus": str(gpus + 4), "memory": "48Gi"}
    if changed and template.parameter(changed) is None:
        return  # the template has no word on it
    change = {changed: new.get(changed, "other")} if changed else {}
    try:
        before = made_by(template, known)
        after = made_by(template, {**known, **change})
    except BadInput:
        return
    if changed and changed not in parameter_names(before):
        # What is not offered is refused, not written somewhere else.
        with pytest.raises(BadInput, match="has no parameter"):
            cloned(before, change)
        assert cloned(before, {}) == without_name(before)
        return
    assert cloned(before, change) == without_name(after)


WITHOUT_COMMAND = {"raycluster"}
"""A Ray cluster runs what is sent to it later."""


def test_only_what_runs_no_command_has_none() -> None:
    assert {name for name, made in TEMPLATES.items() if made.parameter("command") is None} == WITHOUT_COMMAND


@pytest.mark.parametrize("name", sorted(TEMPLATES.keys() - WITHOUT_COMMAND))
def test_the_command_is_offered_for_every_built_in_template_as_it_was_written(name: str) -> None:
    tree = made_by(TEMPLATES[name], {"command": "python /app/train.py --lr 0.1"})
    command = clone_template(tree, "llm-r2", TEMPLATES.values()).parameter("command")
    assert command is not None and command.default == "python /app/train.py --lr 0.1"


OWN = """
template: {name: own, title: Own}
parameters:
  - {name: name, type: dns-label}
  - {name: nodes, type: integer}
  - {name: cards, type: integer}
  - {name: workers, type: integer}
  - {name: script, type: command, title: Script}
manifest:
  apiVersion: kubeflow.org/v2beta1
  kind: MPIJob
  metadata: {name: {$param: name}}
  spec:
    slotsPerWorker: {$param: cards}
    mpiReplicaSpecs:
      Launcher:
        template:
          spec:
            containers:
              - name: start
                command: [mylaunch, --loaders, {$text: {$param: workers}}, --ranks]
                args: [{$text: {$product: [nodes, cards]}}, {$splice: script}, --end]
      Worker:
        replicas: {$param: nodes}
        template:
          spec:
            containers:
              - name: sshd
                command: [/usr/sbin/sshd, -De]
                resources: {limits: {nvidia.com/gpu: {$param: cards}}}
"""


def test_a_template_of_ones_own_says_what_its_words_mean() -> None:
    own = read_template(OWN, "own.yaml")
    tree = as_written(
        render(own, {"name": "a", "nodes": "2", "cards": "4", "workers": "2", "script": "sh run.sh 8"})
    )
    form = clone_template(tree, "a-r2", [*TEMPLATES.values(), own])
    script = form.parameter("script")
    assert script is not None and (script.title, script.default) == ("Script", "sh run.sh 8")
    assert form.parameter("command") is None
    launcher = render(form, {"workers": "3", "gpus": "8", "script": "sh run.sh 24"})["spec"][
        "mpiReplicaSpecs"
    ]["Launcher"]["template"]["spec"]["containers"][0]
    # `workers` of the template are loaders, of the clone they are pods: one word is not the other.
    assert launcher["command"] == ["mylaunch", "--loaders", "2", "--ranks"]
    assert launcher["args"] == ["24", "sh", "run.sh", "24", "--end"]


# ---- made by hand

FLAGS = st.lists(
    st.sampled_from(
        [
            ["-x", "A=b"],
            ["--allow-run-as-root"],
            ["-mca", "btl", "^openib"],
            ["--mca", "pml", "ob1"],
            ["--bind-to", "none"],
            ["-map-by", "slot"],
            ["--hostfile", "/etc/mpi/hostfile"],
            ["--tag-output"],
            ["-H", "a:4,b:4"],
        ]
    ),
    max_size=5,
)
HOROVOD = st.lists(
    st.sampled_from([["-H", "a:4,b:4"], ["--gloo"], ["--verbose"], ["-p", "2222"], ["--log-level=INFO"]]),
    max_size=4,
)
SSHD = st.sampled_from(
    [
        {},
        {"command": ["/usr/sbin/sshd", "-De"]},
        {"command": ["bash", "-c", "mkdir -p /run/sshd && /usr/sbin/sshd -De"]},
        {"args": ["/usr/sbin/sshd", "-De", "-f", "/home/mpi/.sshd_config"]},
    ]
)


def by_hand(launcher: Tree, worker: Tree, workers: int = 2, slots: int = 4) -> Tree:
    """An MPIJob that no template made."""
    limits = {"limits": {"nvidia.com/gpu": slots, "memory": "64Gi"}}
    sets = {
        "Launcher": {
            "replicas": 1,
            "template": {"spec": {"containers": [{"name": "mpi", "image": "a:1", **launcher}]}},
        },
        "Worker": {
            "replicas": workers,
            "template": {
                "spec": {"containers": [{"name": "mpi", "image": "a:1", "resources": limits, **worker}]}
            },
        },
    }
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": "llm", "namespace": "team-a"},
        "spec": {"slotsPerWorker": slots, "mpiReplicaSpecs": sets},
    }


@st.composite
def launchers(draw: st.DrawFn) -> tuple[list[str], bool]:
    """The words up to the command, and whether they stand in `command` with the command in `args`."""
    program = draw(st.sampled_from(["mpirun", "/usr/local/bin/mpirun", "mpiexec", "horovodrun"]))
    flags = draw(HOROVOD if program == "horovodrun" else FLAGS)
    ranks = draw(st.sampled_from([[], ["-np", "8"], ["-n", "8"], ["-np", "6"]]))
    line = [program, *(one for flag in flags for one in flag)]
    if program == "horovodrun" and ranks[:1] == ["-n"]:
        ranks = ["-np", "8"]
    return [*line, *ranks], draw(st.booleans())


@given(line=launchers(), key=st.sampled_from(["command", "args"]), worker=SSHD, command=words, other=words)
@settings(deadline=None, max_examples=300)
def test_by_hand_the_command_is_what_the_launcher_starts(
    line: tuple[list[str], bool], key: str, worker: Tree, command: list[str], other: list[str]
) -> None:
    before, is_split = line
    if command[0].startswith("-") or other[0].startswith("-") or ":" in command:
        return

    def job(run: list[str]) -> Tree:
        own = {"command": before, "args": run} if is_split else {key: [*before, *run]}
        return by_hand(copy.deepcopy(own), copy.deepcopy(worker))

    tree = job(command)
    assert cloned(tree, {}) == without_name(tree)
    field = clone_template(tree, "llm-r2", TEMPLATES.values()).parameter("command")
    assert field is not None and shlex.split(field.default or "") == command
    assert cloned(tree, {"command": shlex.join(other)}) == without_name(job(other))


@given(line=launchers(), worker=SSHD, workers=st.integers(1, 9))
def test_by_hand_ranks_follow_the_workers_and_nothing_else_does(
    line: tuple[list[str], bool], worker: Tree, workers: int
) -> None:
    before, _ = line
    run = ["python", "train.py", "-n", "8", "-np", "8"]
    tree = by_hand({"command": [*before, *run]}, copy.deepcopy(worker))
    expected = copy.deepcopy(tree)
    expected["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"] = workers
    ours = [
        str(workers * 4) if at and before[at - 1] in ("-np", "-n") and one == "8" else one
        for at, one in enumerate(before)
    ]
    expected["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"] = [
        *ours,
        *run,
    ]
    assert cloned(tree, {"workers": str(workers)}) == without_name(expected)


UNREADABLE = {
    "a shell's own line": {"command": ["bash", "-c", "mpirun -np 8 python train.py"]},
    "no launcher": {"command": ["python", "launch.py"]},
    "an option that is not known": {"command": ["mpirun", "--surprise", "8", "python", "train.py"]},
    "two programs": {"command": ["mpirun", "-np", "1", "a", ":", "-np", "7", "b"]},
    "a command in both lists": {"command": ["mpirun", "-np", "8", "python"], "args": ["train.py"]},
    "nothing to run": {"command": ["mpirun", "-np", "8"]},
    "the image's own": {},
    "a script of many lines": {"command": ["mpirun", "bash", "-c", "a\nb"]},
}


@pytest.mark.parametrize("launcher", UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize("worker", [{}, {"command": ["/usr/sbin/sshd", "-De"]}])
def test_what_cannot_be_read_is_not_offered(launcher: Tree, worker: Tree) -> None:
    tree = by_hand(copy.deepcopy(launcher), copy.deepcopy(worker))
    assert not {"command", "args"} & parameter_names(tree)
    assert cloned(tree, {}) == without_name(tree)
    with pytest.raises(BadInput, match="has no parameter 'command'"):
        cloned(tree, {"command": "true"})


def pod(command: list[str] | None = None, gpus: int = 0) -> Tree:
    one: Tree = {"name": "main", "image": "a:1"}
    one |= {"command": command} if command else {}
    one |= {"resources": {"limits": {"nvidia.com/gpu": gpus}}} if gpus else {}
    return {"spec": {"containers": [one]}}


def of_kind(api_version: str, kind: str, spec: Tree) -> Tree:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "llm", "namespace": "x"},
        "spec": spec,
    }


def volcano(master: list[str]) -> Tree:
    tasks = [
        {"name": "master", "template": pod(master)},
        {"name": "worker", "replicas": 2, "template": pod(["sh", "-c", "/usr/sbin/sshd -D; sleep 1"], 4)},
    ]
    return of_kind("batch.volcano.sh/v1alpha1", "Job", {"tasks": tasks})


def pytorch(master: list[str], gpus: int = 1) -> Tree:
    sets = {"Master": {"template": pod(master, gpus)}, "Worker": {"replicas": 3, "template": pod(["run"], 1)}}
    return of_kind("kubeflow.org/v1", "PyTorchJob", {"pytorchReplicaSpecs": sets})


def ray_job(entrypoint: str) -> Tree:
    group = {"groupName": "g", "replicas": 2, "template": pod(["odd"], 1)}
    cluster = {"headGroupSpec": {"template": pod()}, "workerGroupSpecs": [group]}
    return of_kind("ray.io/v1", "RayJob", {"entrypoint": entrypoint, "rayClusterSpec": cluster})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (volcano(["mpirun", "-np", "8", "run"]), volcano(["mpirun", "-np", "8", "new", "1"])),
        (ray_job("run"), ray_job("new 1")),
        (
            of_kind("trainer.kubeflow.org/v1alpha1", "TrainJob", {"trainer": {"command": ["run"]}}),
            of_kind("trainer.kubeflow.org/v1alpha1", "TrainJob", {"trainer": {"command": ["new", "1"]}}),
        ),
        (of_kind("v1", "Pod", pod(["run"], 1)["spec"]), of_kind("v1", "Pod", pod(["new", "1"], 1)["spec"])),
    ],
    ids=["volcano", "ray", "trainjob", "pod"],
)
def test_other_kinds_by_hand(before: Tree, after: Tree) -> None:
    assert cloned(before, {}) == without_name(before)
    assert cloned(before, {"command": "new 1"}) == without_name(after)


def ray_group(**more: Any) -> Tree:
    return {
        "groupName": "g",
        "replicas": 2,
        "rayStartParams": {"num-gpus": "2"},
        "template": pod(["run"], 2),
    } | more


def ray_cluster(*groups: Tree) -> Tree:
    return of_kind("ray.io/v1", "RayCluster", {"workerGroupSpecs": list(groups)})


def test_what_a_worker_group_of_ray_is_told_of_its_devices_follows_them() -> None:
    other = ray_group(rayStartParams={"num-gpus": "3"})  # fewer or more than it has: meant so
    changed = cloned(ray_cluster(ray_group(), other), {"gpus": "4"})["spec"]["workerGroupSpecs"]
    assert [item["rayStartParams"]["num-gpus"] for item in changed] == ["4", "3"]


def test_the_size_of_a_worker_group_of_ray_moves_with_its_bounds_or_is_not_offered() -> None:
    fixed = ray_cluster(ray_group(minReplicas=2, maxReplicas=2))
    group = cloned(fixed, {"workers": "5"})["spec"]["workerGroupSpecs"][0]
    assert [group[key] for key in ("replicas", "minReplicas", "maxReplicas")] == [5, 5, 5]
    elastic = ray_group(minReplicas=1, maxReplicas=8)
    for tree in (ray_cluster(elastic), ray_cluster(ray_group(), elastic)):
        assert "workers" not in parameter_names(tree)


def test_members_that_run_the_same_change_together() -> None:
    for gpus in (1, 0):
        made = cloned(pytorch(["run"], gpus), {"command": "new 1"})
        for role in ("Master", "Worker"):
            (one,) = made["spec"]["pytorchReplicaSpecs"][role]["template"]["spec"]["containers"]
            assert one["command"] == ["new", "1"]


@pytest.mark.parametrize(
    "tree",
    [
        pytorch(["another"]),
        volcano(["python", "launch.py"]),
        of_kind("ray.io/v1", "RayCluster", {"headGroupSpec": {"template": pod(["odd"], 1)}}),
        of_kind("x.io/v1", "Pair", {"a": {"template": pod(["run"], 1)}, "b": {"template": pod(["run"])}}),
    ],
    ids=["two commands", "no launcher", "a Ray cluster", "an unknown kind of two roles"],
)
def test_of_other_kinds_nothing_is_guessed(tree: Tree) -> None:
    assert "command" not in parameter_names(tree)
    assert cloned(tree, {}) == without_name(tree)


# ---- other fields


def test_a_value_that_would_not_come_back_as_it_is_is_no_field() -> None:
    tree = by_hand({"command": ["mpirun", "run"]}, {})
    for one in tree["spec"]["mpiReplicaSpecs"].values():
        container = one["template"]["spec"]["containers"][0]
        container["image"] = " a:1"
        if "resources" in container:
            container["resources"]["limits"]["nvidia.com/gpu"] = "04"
    assert not {"image", "gpus"} & parameter_names(tree)
    assert cloned(tree, {}) == without_name(tree)


@given(
    st.lists(
        st.sampled_from(["mpirun", "bash", "-c", '"$@"', "-np", "8", "x", "-x", "", ":", "--mca"]), max_size=9
    )
)
def test_any_words_can_be_read(line: list[str]) -> None:
    found = launch_of(line)
    assert found is None or (0 < found.command < len(line) and all(at < found.command for at in found.ranks))
