"""Values set into the parsed tree: typed, bounded, never text that could break out."""

import os
import shlex
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.errors import BadInput
from cockpit.fit.pod_sets import pods_asked
from cockpit.gangs.conflicts import refusals
from cockpit.jobs.parameters import Parameter, read
from cockpit.jobs.render import advice, checked, faults, lint, queue_of, render, sample_values
from cockpit.jobs.template import Template, load_library
from tests.unit.templates.builders import small

TEMPLATES = load_library().templates


def test_values_keep_their_types_and_empty_ones_vanish() -> None:
    tree = render(small(), {"name": "llm", "workers": "4", "gpus": "2", "command": "python 'a b'.py"})
    assert tree["spec"]["parallelism"] == 4
    assert tree["metadata"] == {"name": "llm", "labels": {}}
    assert tree["spec"]["suspend"] is False
    container = tree["spec"]["template"]["spec"]["containers"][0]
    assert container["args"] == ["-np", "8", "python", "a b.py"]
    assert container["command"] == ["python", "a b.py"]
    without = render(small(), {"name": "llm"})["spec"]["template"]["spec"]["containers"][0]
    assert "command" not in without
    assert without["args"] == ["-np", "2"]


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=lambda template: template.name)
def test_what_was_left_empty_is_no_field_of_the_manifest(template: Template) -> None:
    def empty(tree: Any) -> Iterator[str]:
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            if isinstance(value, dict | list):
                yield from empty(value) if value else (str(key),)

    meant = {"emptyDir", "metadata", "ssh", "svc"}  # written so in a template, or a mapping of plain fields
    assert set(empty(render(template, sample_values(template)))) <= meant


def test_the_entrypoint_of_ray_is_one_line_whose_words_no_shell_takes_apart() -> None:
    command = "python train.py --name 'a b; id' --lr 0.1"
    tree = render(load_library().templates["rayjob"], {"name": "r", "image": "i:1", "command": command})
    assert shlex.split(tree["spec"]["entrypoint"]) == shlex.split(command)
    assert "'a b; id'" in tree["spec"]["entrypoint"]


def test_a_deepspeed_rank_is_given_its_config_and_asks_mpi_for_nothing() -> None:
    values = {"name": "d", "image": "i:1", "command": "python t.py --deepspeed", "config": "/app/ds.json"}
    tree = render(load_library().templates["mpijob-deepspeed"], values)
    (launcher,) = tree["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"]
    assert launcher["args"][-5:] == ["python", "t.py", "--deepspeed", "--deepspeed_config", "/app/ds.json"]
    rank = launcher["args"].index("bash")
    words = [*launcher["args"][rank : rank + 4], "sh", "-c", "env"]
    ours = {f"OMPI_COMM_WORLD_{name}": str(at) for at, name in enumerate(("RANK", "LOCAL_RANK", "SIZE"), 3)}
    told = subprocess.run(words, env={"PATH": os.defpath, **ours}, capture_output=True, text=True, check=True)
    assert {"RANK=3", "LOCAL_RANK=4", "WORLD_SIZE=5"} <= set(told.stdout.split())
    assert "export MASTER_ADDR MASTER_PORT=29500" in launcher["command"][2]
    assert {"MASTER_ADDR", "MASTER_PORT"} <= set(launcher["args"][:rank])


def test_rendering_leaves_the_template_alone() -> None:
    template = small()
    before = repr(template.manifest)
    tree = render(template, {"name": "a", "queue": "q"})
    tree["spec"]["template"]["spec"]["containers"].clear()
    assert repr(template.manifest) == before
    assert render(template, {"name": "a"})["spec"]["template"]["spec"]["containers"]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({}, "name: a value is required"),
        ({"name": "LLM"}, "name: 'LLM' is not a valid name"),
        ({"name": "my_job"}, "name: 'my_job' is not a valid name: use lower-case letters, digits and '-'"),
        ({"name": "7b"}, "name: '7b' is not a valid name: begin with a letter"),
        ({"name": "-7b"}, "name: '-7b' is not a valid name: begin with a letter"),
        ({"name": "llm-"}, "name: 'llm-' is not a valid name: end with a letter or digit"),
        ({"name": "a" * 64}, "it has 64 characters, at most 20"),
        ({"name": "a" * 21}, "has 21 characters, at most 20"),
        ({"name": "a", "workers": "0"}, "workers: 0 is too small, at least 1"),
        ({"name": "a", "workers": "65"}, "workers: 65 is too large, at most 64"),
        ({"name": "a", "workers": "four"}, "workers: 'four' is not a whole number"),
        ({"name": "a", "workers": "٤"}, "is not a whole number"),
        ({"name": "a", "workers": "1e3"}, "is not a whole number"),
        ({"name": "a", "command": "echo 'open"}, "cannot be split into words: close the quote"),
        ({"name": "a", "colour": "red"}, "has no parameter 'colour'; it has: command, gpus"),
        ({"name": "a\x1b[2J"}, "control characters"),
    ],
)
def test_refuses_a_value_with_one_sentence(values: dict[str, str], sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        checked(small(), values)
    assert sentence in caught.value.sentence


def test_a_form_learns_every_problem_at_once() -> None:
    assert set(faults(small(), {"workers": "x"})) == {"name", "workers"}


@pytest.mark.parametrize(
    ("type_", "good", "bad"),
    [
        ("quantity", "16Gi", "16 Gi"),
        ("quantity", "500m", "-1"),
        ("image", "registry.example:5000/a/b@sha256:" + "0" * 64, "a b"),
        ("image", "train:1", "$(x)"),
        ("switch", "yes", "maybe"),
        ("command", "a b", "''''x'"),
    ],
)
def test_types(type_: str, good: str, bad: str) -> None:
    one = Parameter(name="p", type=type_)
    assert read(one, good) not in (None, "")
    with pytest.raises(BadInput, match=r"^p: "):
        read(one, bad)


def test_quantity_bounds_compare_amounts_not_text() -> None:
    one = Parameter(name="p", type="quantity", minimum="1Gi", maximum="1Ti")
    assert read(one, "1025Mi") == "1025Mi"
    for bad in ("1023Mi", "2000Gi"):
        with pytest.raises(BadInput):
            read(one, bad)


def test_choices_are_kept() -> None:
    one = Parameter(name="p", type="choice", choices=("a", "b"))
    assert read(one, "b") == "b"
    with pytest.raises(BadInput, match="'c' is not one of a, b"):
        read(one, "c")


def _mpijob(**values: str) -> dict[str, Any]:
    return render(TEMPLATES["mpijob"], {"name": "llm", "image": "registry.example/hvd:1", **values})


def test_mpijob_is_a_gang_of_workers_with_one_launcher() -> None:
    tree = _mpijob(
        workers="4", gpus="2", queue="gpu-lq", namespace="team-a", command="python train.py --lr 0.1"
    )
    assert tree["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "gpu-lq"
    spec = tree["spec"]
    assert spec["slotsPerWorker"] == 2
    assert spec["runPolicy"]["suspend"] is True
    assert spec["runPolicy"]["cleanPodPolicy"] == "Running"
    launcher = spec["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    assert launcher["args"][:4] == ["mpirun", "--allow-run-as-root", "-np", "8"]
    assert launcher["args"][-4:] == ["python", "train.py", "--lr", "0.1"]
    assert "resources" in launcher
    assert "nvidia.com/gpu" not in launcher["resources"]["limits"]
    worker = spec["mpiReplicaSpecs"]["Worker"]["template"]["spec"]
    assert worker["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == 2
    assert worker["containers"][0]["command"] == ["/usr/sbin/sshd", "-De", "-p", "22"]
    assert worker["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    assert worker["volumes"][0]["emptyDir"]["medium"] == "Memory"
    assert [(one.role, one.replicas, one.gpus_each) for one in pods_asked(tree).sets] == [
        ("launcher", 1, 0),
        ("worker", 4, 2),
    ]
    assert advice(tree) == ()


def test_the_launcher_is_chosen() -> None:
    def arguments(launcher: str) -> list[str]:
        tree = _mpijob(workers="2", gpus="2", launcher=launcher, command="python /app/train.py")
        spec = tree["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]
        return list(spec["containers"][0]["args"])

    own = ["python", "/app/train.py"]
    gloo = ["horovodrun", "--gloo", "-np", "4", "--hostfile", "/etc/mpi/hostfile", "-p", "22"]
    assert arguments("horovodrun") == [*gloo, *own]
    assert arguments("command") == own
    assert arguments("mpirun")[0] == "mpirun"
    assert arguments("mpirun")[-2:] == own


def test_ranks_are_told_before_their_sshd_ends() -> None:
    for name in ("mpijob", "mpijob-elastic", "mpijob-ddp", "mpijob-deepspeed"):
        tree = render(TEMPLATES[name], {"name": "llm", "image": "registry.example/hvd:1"})
        spec = tree["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]
        script = spec["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][-1]
        # On a host, where process 1 is another, it signals nobody: it is run here.
        assert subprocess.run(["sh", "-c", script], capture_output=True, check=False).returncode == 0
        assert script.splitlines()[1] == '[ "$(cat /proc/1/comm)" = sshd ] || exit 0'
        assert spec["terminationGracePeriodSeconds"] == 60


def test_mpijob_without_a_queue_is_not_suspended_for_ever() -> None:
    tree = _mpijob()
    assert tree["spec"]["runPolicy"]["suspend"] is False
    assert "kueue.x-k8s.io/queue-name" not in tree["metadata"]["labels"]


@given(st.text(max_size=60))
@settings(deadline=None, max_examples=150)
def test_a_command_never_reaches_the_shell_text(command: str) -> None:
    plain = _mpijob()["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"]
    try:
        tree = _mpijob(command=command)
    except BadInput as error:
        assert error.sentence.startswith("command: ")
        return
    launcher = tree["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    assert launcher["command"] == plain
    assert launcher["args"][0] == "mpirun"


@given(st.integers(1, 4096), st.integers(1, 16))
@settings(deadline=None, max_examples=40)
def test_ranks_are_workers_times_gpus(workers: int, gpus: int) -> None:
    tree = _mpijob(workers=str(workers), gpus=str(gpus))
    args = tree["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["args"]
    assert args[args.index("-np") + 1] == str(workers * gpus)


def test_advice_on_a_careless_manifest() -> None:
    tree = _mpijob(gpus="2", queue="q")
    tree["spec"]["runPolicy"] = {}
    tree["spec"]["launcherCreationPolicy"] = "WaitForWorkersReady"
    tree["spec"]["mpiReplicaSpecs"]["Launcher"]["replicas"] = 2
    worker = tree["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]
    del worker["tolerations"], worker["volumes"]
    worker["containers"][0]["image"] = "registry.example:5000/hvd"
    said = " / ".join(advice(tree))
    for part in (
        "not suspended",
        "cleanPodPolicy",
        "exactly one launcher",
        "has no effect",
        "taint",
        "64 MiB",
        "no fixed tag",
    ):
        assert part in said


def test_shared_memory_must_leave_room() -> None:
    assert any("takes all of it" in one for one in advice(_mpijob(memory="8Gi", **{"shared-memory": "8Gi"})))


def test_suspended_without_a_queue_is_told() -> None:
    tree = render(TEMPLATES["job"], {"name": "a", "image": "a:1"})
    tree["spec"]["suspend"] = True
    assert any("nothing will resume it" in one for one in advice(tree))


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=lambda one: one.name)
def test_sample_values_render_every_template(template: Template) -> None:
    tree = render(template, sample_values(template))
    assert tree["metadata"]["name"]
    assert (pods_asked(tree).gpus or 0) >= 1
    assert lint(template) == ()


_anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from(["", "1Gi", "x", "Memory", "nvidia.com/gpu"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *(
                        "spec",
                        "metadata",
                        "labels",
                        "template",
                        "containers",
                        "resources",
                        "limits",
                        "volumes",
                    ),
                    *(
                        "emptyDir",
                        "medium",
                        "sizeLimit",
                        "nvidia.com/gpu",
                        "memory",
                        "mpiReplicaSpecs",
                        "Worker",
                    ),
                    *(
                        "replicas",
                        "tolerations",
                        "runPolicy",
                        "image",
                        "kueue.x-k8s.io/queue-name",
                        "suspend",
                    ),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=25,
)


@given(st.sampled_from(["MPIJob", "Job", "Pod", "Other"]), _anything, _anything)
@settings(deadline=None, max_examples=200)
def test_whatever_a_users_manifest_holds_it_can_be_judged(kind: str, spec: object, metadata: object) -> None:
    manifest = {"apiVersion": "v1", "kind": kind, "spec": spec, "metadata": metadata}
    assert all(isinstance(one, str) for one in advice(manifest))
    asked = pods_asked(manifest)
    assert all(
        number is None or number >= 0 for one in asked.sets for number in (one.replicas, one.gpus_each)
    )
    assert asked.unknown is not None or asked.gpus == asked.gpus_at_least
    assert all(isinstance(one, str) for one in refusals(manifest))


def test_quantities_that_are_none_are_not_guessed() -> None:
    limits = {"nvidia.com/gpu": "many", "memory": "lots"}
    pod = {"kind": "Pod", "spec": {"containers": [{"resources": {"limits": limits}}]}}
    assert [one.gpus_each for one in pods_asked(pod).sets] == [None]
    assert pods_asked(pod).gpus is None


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (
            {"schedule": "0 24 * * *"},
            "schedule: '0 24 * * *' is no schedule: hour: '24' is not between 0 and 23",
        ),
        (
            {"schedule": "0 3 * *"},
            "schedule: '0 3 * *' is no schedule: it has 4 of 5 fields: write minute hour",
        ),
        ({"time-zone": "Europe/Berln"}, "time-zone: 'Europe/Berln' is no time zone"),
    ],
)
def test_a_schedule_that_is_none_is_refused_at_its_field(bad: dict[str, str], told: str) -> None:
    values = {"name": "a", "image": "a:1", "schedule": "0 3 * * *", **bad}
    with pytest.raises(BadInput) as caught:
        render(load_library().templates["cronjob"], values)
    assert caught.value.sentence.startswith(told)


def test_the_queue_of_a_schedule_stands_where_kueue_takes_each_run() -> None:
    values = {"name": "a", "image": "a:1", "schedule": "@daily", "queue": "main", "priority": "high"}
    made = render(load_library().templates["cronjob"], values)
    run, labels = made["spec"]["jobTemplate"], made["metadata"]["labels"]
    assert run["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "main" and run["spec"]["suspend"] is True
    assert made["spec"]["suspend"] is False and "kueue.x-k8s.io/queue-name" not in labels
    assert queue_of(made) == "main"
