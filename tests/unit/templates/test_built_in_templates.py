"""The templates that come with the cockpit: every parameter, with values good and wrong."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import checkpoints
import pytest

from cockpit.actions.submit import plan_submit
from cockpit.errors import BadInput
from cockpit.fit.pod_sets import pods_asked
from cockpit.jobs.parameters import Parameter
from cockpit.jobs.render import advice, lint, remarks, render, sample_values
from cockpit.jobs.template import Template, load_library
from cockpit.jobs.yaml_document import parse
from tests.unit.templates.filled import everything

LIBRARY = load_library()
TEMPLATES = LIBRARY.templates
EACH = [(template, one) for template in TEMPLATES.values() for one in template.parameters]
EVERY_TYPE = sorted({one.type for _, one in EACH})

WRONG = {
    "dns-label": "Not A Name",
    "integer": "four",
    "quantity": "16 Gi",
    "image": "a b",
    "switch": "maybe",
    "command": "echo 'open",
    "choice": "nobody",
    "environment": "1KEY=x",
    "labels": "pool",
    "resources": "rdma/hca=one",
    "table": "low",
    "annotations": "note",
    "tolerations": "gpu=yes:Never",
    "config-maps": "Not_A_Name",
    "secrets": "wandb:relative",
    "claims": "data",
    "host-paths": "relative:/x",
    "path": "relative/path",
    "git": "ext::sh -c id",
    "revision": "--upload-pack=x",
    "schedule": "0 24 * * *",
    "time-zone": "Europe/Berln",
    "resource-name": "gpu",
    "label-value": "two words",
    "label-key": "two words",
    "object-name": "Not_A_Name",
}


def ids(pair: tuple[Template, Parameter]) -> str:
    return f"{pair[0].name}-{pair[1].name}"


def leaves(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every scalar of a tree, and every key, with where it stands."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield (*path, "key"), key
            yield from leaves(value, (*path, key))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from leaves(value, (*path, index))
    else:
        yield path, tree


def texts_of(tree: Any) -> list[str]:
    return sorted(str(leaf) for _, leaf in leaves(tree))


def test_the_set_is_whole_and_without_a_remark() -> None:
    assert LIBRARY.problems == ()
    assert {template.kind for template in TEMPLATES.values()} == {
        "MPIJob",
        "PyTorchJob",
        "LeaderWorkerSet",
        "RayJob",
        "RayCluster",
        "CronJob",
        "Job",
        "JobSet",
        "TrainJob",
        "Pod",
    }
    assert {template.api_version for template in TEMPLATES.values()} >= {
        "batch.volcano.sh/v1alpha1",
        "batch/v1",
    }
    assert [sentence for template in TEMPLATES.values() for sentence in lint(template)] == []
    assert set(EVERY_TYPE) <= set(WRONG) | {"text"}


COVERED = (
    *("workers", "gpus", "gpu-model", "node", "pool", "queue", "priority", "image", "pull-secret", "command"),
    *("environment", "git", "data", "checkpoint", "shared-memory", "rdma", "ssh-port", "tensorboard"),
    *("gpu-resource", "driver-mounts", "cards", "clean-pods", "deadline", "keep-seconds", "suspended"),
    *("labels", "annotations", "tolerations", "service-account", "working-directory", "pull-policy"),
    *("config-maps", "secret-names", "host-network"),
)


def test_everything_that_was_asked_for_can_be_filled_in() -> None:
    assert {one.name for one in TEMPLATES["mpijob"].parameters} >= set(COVERED)


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=lambda one: str(one.name))
def test_every_field_filled_in_renders_and_reaches_the_manifest(template: Template) -> None:
    assert pods_asked(render(template, everything(template))).unknown is None
    for one in template.parameters:
        # A queue suspends, too, so that leaving the switch out is seen only without one.
        filled = {**everything(template), **({"queue": ""} if one.name == "suspended" else {})}
        full = render(template, filled)
        without = {name: text for name, text in filled.items() if name != one.name}
        if one.is_required:
            with pytest.raises(BadInput, match=f"^{one.name}: a value is required"):
                render(template, without)
        elif one.name != "cards" and filled[one.name] != one.default:
            assert texts_of(render(template, without)) != texts_of(full), one.name


@pytest.mark.parametrize("pair", EACH, ids=ids)
def test_a_wrong_type_is_refused_by_name(pair: tuple[Template, Parameter]) -> None:
    template, one = pair
    with pytest.raises(BadInput) as caught:
        render(template, {**sample_values(template), one.name: WRONG[one.type]})
    assert caught.value.sentence.startswith(f"{one.name}: ")


BOUNDED = [
    (template, one, bound, by)
    for template, one in EACH
    for bound, by in ((one.minimum, -1), (one.maximum, 1))
    if bound
]


@pytest.mark.parametrize(("template", "one", "bound", "by"), BOUNDED)
def test_a_value_beyond_its_bounds_is_refused(
    template: Template, one: Parameter, bound: str, by: int
) -> None:
    beyond = str(int(bound) + by) if one.type == "integer" else "1"
    if one.type == "quantity":
        beyond = {"100m": "99m", "64Mi": "67108863"}[bound]
    with pytest.raises(BadInput, match=f"^{one.name}: .*(too small|too large)"):
        render(template, {**sample_values(template), one.name: beyond})
    assert render(template, {**sample_values(template), one.name: bound})


TALK = {
    "name": "resnet",
    "namespace": "research",
    "image": "registry.example/horovod:0.28.1-torch2.4",
    "workers": "6",
    "gpus": "2",
    "ssh-port": "33",
    "git": "https://git.example.com/team/resnet.git",
    "data": "imagenet:/data",
    "environment": "NCCL_DEBUG=INFO BATCH=256",
    "launcher": "command",
    "command": "sh train.sh 12 2",
}


def test_the_submit_example_of_the_talk_is_reproduced() -> None:
    tree = render(TEMPLATES["mpijob"], TALK)
    assert tree["spec"]["slotsPerWorker"] == 2
    replicas = tree["spec"]["mpiReplicaSpecs"]
    assert [(one.role, one.replicas, one.gpus_each) for one in pods_asked(tree).sets] == [
        ("launcher", 1, 0),
        ("worker", 6, 2),
    ]
    worker = replicas["Worker"]["template"]["spec"]
    launcher = replicas["Launcher"]["template"]["spec"]
    assert worker["containers"][0]["command"] == ["/usr/sbin/sshd", "-De", "-p", "33"]
    assert launcher["containers"][0]["args"] == ["sh", "train.sh", "12", "2"]
    assert launcher["containers"][0]["command"][-1] == "33"
    for spec in (worker, launcher):
        clone = spec["initContainers"][0]
        assert clone["command"][-2:] == ["https://git.example.com/team/resnet.git", "HEAD"]
        assert {"name": "data-0", "mountPath": "/data"} in spec["containers"][0]["volumeMounts"]
        assert {"name": "data-0", "persistentVolumeClaim": {"claimName": "imagenet"}} in spec["volumes"]
        assert spec["containers"][0]["env"] == [
            {"name": "HOROVOD_STALL_CHECK_TIME_SECONDS", "value": "30"},
            {"name": "NCCL_DEBUG", "value": "INFO"},
            {"name": "BATCH", "value": "256"},
        ]
    assert launcher["containers"][0]["workingDir"] == "/code"
    assert advice(tree) == ()
    assert remarks(TEMPLATES["mpijob"], TALK) == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"workers": "4"}, ("command says 12 ranks, but workers x gpus is 8",)),
        (
            {"gpus": "4"},
            ("command says 12 ranks, but workers x gpus is 24", "command says 2 each, but gpus is 4"),
        ),
        ({"command": "sh train.sh 24 2"}, ("command says 24 ranks, but workers x gpus is 12",)),
        ({"command": "mpirun -np 6 python a.py"}, ("command says 6 ranks, but workers x gpus is 12",)),
        ({"command": "python a.py --steps 30 60"}, ()),
        ({"command": "python a.py"}, ()),
    ],
)
def test_numbers_in_the_command_that_disagree_are_told(change: dict[str, str], said: tuple[str, ...]) -> None:
    values = {**TALK, **change}
    assert remarks(TEMPLATES["mpijob"], values) == said
    assert set(said) <= set(plan_submit(TEMPLATES["mpijob"], values).warnings)


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=lambda one: str(one.name))
def test_form_command_line_and_yaml_give_the_same_object(template: Template) -> None:
    """The command line of a filled-in form leads to the object of the form, and so does its YAML."""
    import shlex

    from cockpit.cli import build_parser
    from cockpit.commands.job import values_given
    from cockpit.commands.output import tree_text

    values = everything(template)
    plan = plan_submit(template, values)
    words = shlex.split(plan.shell)
    assert words[:4] == ["cockpit", "job", "submit", template.name]
    options = build_parser().parse_args(words[1:])
    assert plan_submit(template, values_given(options)).calls == plan.calls
    assert parse(tree_text(plan.calls[0].body, "yaml"), "printed.yaml").tree == plan.calls[0].body


def test_cards_follow_the_priority_where_no_model_is_chosen() -> None:
    base = {"name": "a", "image": "a:1", "cards": "low=Tesla-K80 high=NVIDIA-H100"}

    def model(**more: str) -> str | None:
        tree = render(TEMPLATES["mpijob"], {**base, **more})
        selector = tree["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"].get("nodeSelector", {})
        found: str | None = selector.get("nvidia.com/gpu.product")
        return found

    assert model(priority="low") == "Tesla-K80"
    assert model(priority="high") == "NVIDIA-H100"
    assert model(priority="middle") is None
    assert model(priority="low", **{"gpu-model": "A100"}) == "A100"


def test_two_fields_may_not_set_the_same_key() -> None:
    values = {"name": "a", "image": "a:1", "node": "n1", "pool": "kubernetes.io/hostname=n2"}
    with pytest.raises(BadInput, match=r"^pool: kubernetes.io/hostname is already set by another field"):
        render(TEMPLATES["job"], values)


def test_what_a_pod_is_given_beside_its_command_reaches_every_pod() -> None:
    """Labels, tolerations, ServiceAccount, network, ConfigMaps and Secrets are those of all members."""
    values = {
        "name": "a",
        "image": "a:1",
        "labels": "example.com/team=vision",
        "annotations": "note='two words'",
        "tolerations": "spot pool=big:NoSchedule",
        "service-account": "trainer",
        "working-directory": "/app",
        "pull-policy": "Always",
        "config-maps": "train:/config limits",
        "secret-names": "wandb machine:/root/netrc:ro",
        "host-network": "true",
    }
    mpi = ("mpijob", "mpijob-ddp", "mpijob-deepspeed", "mpijob-elastic")
    for name in (*mpi, "job", "jobset", "pod", "volcano"):
        tree = render(TEMPLATES[name], values)
        assert tree["metadata"]["labels"]["example.com/team"] == "vision", name
        assert tree["metadata"]["annotations"]["note"] == "two words", name
        for part in pods_asked(tree).sets:
            spec = part.pod_spec
            assert spec["serviceAccountName"] == "trainer" and spec["hostNetwork"] is True
            assert spec["dnsPolicy"] == "ClusterFirstWithHostNet"
            wanted = [
                {"key": "spot", "operator": "Exists"},
                {"key": "pool", "operator": "Equal", "value": "big", "effect": "NoSchedule"},
            ]
            assert spec["tolerations"][-2:] == wanted
            (container,) = spec["containers"]
            assert container["imagePullPolicy"] == "Always"
            assert container["envFrom"] == [
                {"configMapRef": {"name": "limits"}},
                {"secretRef": {"name": "wandb"}},
            ]
            mounted = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
            volumes = {volume["name"]: volume for volume in spec["volumes"]}
            assert volumes[mounted["/config"]["name"]]["configMap"] == {"name": "train"}
            assert volumes[mounted["/root/netrc"]["name"]]["secret"] == {"secretName": "machine"}
            assert mounted["/root/netrc"]["readOnly"] is True


def test_other_vendors_cards_are_asked_for_and_tolerated() -> None:
    tree = render(TEMPLATES["job"], {"name": "a", "image": "a:1", "gpu-resource": "amd.com/gpu", "gpus": "4"})
    pod = tree["spec"]["template"]["spec"]
    assert pod["containers"][0]["resources"]["limits"]["amd.com/gpu"] == 4
    assert pod["tolerations"] == [{"key": "amd.com/gpu", "operator": "Exists"}]
    assert pods_asked(tree).sets[0].gpus_each == 4
    assert advice(tree) == ()


def test_the_command_that_the_training_code_tells_for_ddp_goes_into_a_job() -> None:
    training = Path(checkpoints.__file__).parent
    readme = (training / "README.md").read_text(encoding="utf-8")
    command = "torchrun --standalone --nproc-per-node 2 /app/language_model.py"
    assert f"template `job` with the command\n  `{command}`" in readme
    assert (training / Path(command).name).is_file()
    values = {"name": "language", "image": "registry.example/train:1", "gpus": "2", "command": command}
    plan = plan_submit(TEMPLATES["job"], values)
    assert plan.warnings == ()
    (call,) = plan.calls
    spec = call.body["spec"]
    (main,) = spec["template"]["spec"]["containers"]
    assert main["command"] == command.split()
    assert "args" not in main
    assert main["resources"]["limits"]["nvidia.com/gpu"] == 2
    # torchrun --standalone knows of no other pod.
    assert (spec["parallelism"], spec["completions"]) == (1, 1)


@pytest.mark.parametrize(
    ("workers", "least", "most", "said"),
    [
        ("2", "3", "4", "fewer workers are made than it needs to begin"),
        ("5", "2", "4", "more workers are made than it ever uses"),
        ("2", "2", "4", ""),
    ],
)
def test_an_elastic_job_says_which_sizes_do_not_go_together(
    workers: str, least: str, most: str, said: str
) -> None:
    values = {"name": "a", "image": "x:1", "command": "python t.py", "queue": "q"}
    sizes = {"workers": workers, "min-workers": least, "max-workers": most}
    found = remarks(TEMPLATES["mpijob-elastic"], values | sizes)
    assert any(one.startswith(said) for one in found) if said else found == ()
