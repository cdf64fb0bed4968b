"""A scenario with an error names file, line and field in one sentence and starts nothing."""

import copy
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cockpit.errors import BadInput
from cockpit.sim.cluster import EmbeddedCluster
from cockpit.sim.scenarios.loading import find, load, parse, shipped, shipped_folder

HEAD = "name: x\ntitle: y\n"
BROKEN = {
    "nothing": ("", "f.yaml, line 1: a scenario is a mapping"),
    "a list": ("- a", "f.yaml, line 1: a scenario is a mapping"),
    "no end": ("name: [", "f.yaml, line 1: expected the node content"),
    "a tab": ("name: x\n\ttitle: y", "f.yaml, line 2: "),
    "no title": ("name: x", "f.yaml, line 1, the file: missing field `title`."),
    "twice": ("name: x\ntitle: y\nname: z", "f.yaml, line 3, name: it is there twice; keep one."),
    "unknown field": (HEAD + "pols: []", "f.yaml, line 3, pols: no such field."),
    "unknown deep": (
        HEAD + "pools:\n  - name: a\n    gpu: 8",
        "f.yaml, line 5, pools[0].gpu: no such field.",
    ),
    "wrong type": (HEAD + "pools: 3", "f.yaml, line 3, pools: it must be a list, got 3."),
    "number for text": (HEAD + "pools: [{name: a, cpu: 8}]", "pools[0].cpu: it must be a text, got 8."),
    "text for number": (
        HEAD + "pools:\n- {name: a,\n   nodes: many}",
        "f.yaml, line 5, pools[0].nodes: it must be a whole number, got 'many'.",
    ),
    "no such choice": (
        HEAD + "pools: [{name: a, owner: me}]",
        "f.yaml, line 3, pools[0].owner: 'me' is none of none, machines.",
    ),
    "a name": (HEAD + "pools: [{name: A_1}]", "pools[0].name: 'A_1' is no name"),
    "a name twice": (HEAD + "pools:\n- name: a\n- name: a", "line 5, pools[1].name: 'a' is there twice"),
    "below": (HEAD + "pools: [{name: a, nodes: -1}]", "pools[0].nodes: -1 is not between 0 and 20000."),
    "which GPUs": (HEAD + "pools: [{name: a, gpus: 8}]", "pools[0].gpus: 8 GPUs of which kind? Add product"),
    "quantity": (HEAD + "pools: [{name: a, memory: big}]", "pools[0].memory: 'big' is no quantity"),
    "label": (HEAD + "pools: [{name: a, labels: {x: a b}}]", "pools[0].labels: 'a b' is no label's value"),
    "bounds": (HEAD + "pools: [{name: a, min: 1}]", "pools[0].min: min and max go together."),
    "profile": (HEAD + "pools: [{name: a, mig: {big: 1}}]", "pools[0].mig: 'big' is no MIG profile"),
    "unscaled": (
        HEAD + "pools: [{name: a, min: 1, max: 2}]",
        "pools[0].min: only a pool with owner: machines can be scaled by itself.",
    ),
    "no pool": (
        HEAD + "queues: [{name: q, flavors: [{pool: p, gpus: 1}]}]",
        "queues[0].flavors[0].pool: there is no pool 'p'; there are: none.",
    ),
    "no queue": (HEAD + "namespaces: [{name: a, queue: q}]", "namespaces[0].queue: there is no queue 'q'"),
    "no namespace": (
        HEAD + "bulk: [{count: 1, job: {name: j, namespace: n}}]",
        "bulk[0].job.namespace: there is no namespace 'n'",
    ),
    "time": (HEAD + "seconds: soon", "line 3, seconds: 'soon' is no duration; write 90, 90s or 2m30s."),
    "time below": (HEAD + "seconds: -1", "f.yaml, line 3, seconds: -1 is below 0."),
    "two verbs": (
        HEAD + "steps:\n- at: 1s\n- {at: 2s, cordon: a, exporter: {node: b}}",
        "f.yaml, line 4, steps[0]: a step does one thing",
    ),
    "kind": (
        HEAD + "steps: [{at: 1s, delete: {kind: jop, name: a}}]",
        "f.yaml, line 3, steps[0].delete.kind: kind 'jop' is not one that a scenario knows",
    ),
    "manifest": (HEAD + "steps: [{at: 1s, apply: {kind: Job}}]", "steps[0].apply: metadata.name is missing"),
    "cause": (HEAD + "incidents: {causes: [gremlins]}", "incidents.causes[0]: there is no cause 'gremlins'"),
    "empty stream": (HEAD + "streams: [{name: s, every: 1s, jobs: []}]", "streams[0].jobs: a stream needs"),
    "fault": (HEAD + "faults:\n- do: {status: 9}", "line 4, faults[0].do.status.code: 9 is no HTTP status"),
    "a program": (HEAD + "story: !!python/object:os.system x", "f.yaml, line 3: could not determine"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(BROKEN))
def test_one_sentence_with_file_line_and_field(name: str) -> None:
    text, wanted = BROKEN[name]
    with pytest.raises(BadInput) as caught:
        parse(text, "f.yaml")
    said = caught.value.sentence
    assert wanted in said and said.startswith("f.yaml")
    assert "\n" not in said and said.endswith(".")
    assert caught.value.exit_code == 2


def test_a_name_that_is_neither_file_nor_scenario_is_told_with_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="neither a file nor one of bad-day, bursty-day, default"):
        find("nonesuch")
    with pytest.raises(BadInput, match="cannot be read"):
        load(tmp_path / "gone.yaml")


def test_all_that_is_shipped_can_be_read_and_says_what_it_is() -> None:
    for name, path in shipped().items():
        scenario = load(path)
        assert scenario.name == name and scenario.title and scenario.story.strip()


def test_only_training_may_run_commands_of_this_machine(tmp_path: Path) -> None:
    for name, path in shipped().items():
        assert ("local/" in path.read_text()) is (name == "training")
    mine = tmp_path / "mine.yaml"
    mine.write_text(find("training").read_text())
    with pytest.raises(BadInput) as caught:
        load(mine)
    said = caught.value.sentence
    assert said.startswith(f"{mine}, line ") and said.count("\n") == 0
    assert (
        "Launcher.template.spec.initContainers[0].image: 'local/horovod' runs commands on this machine"
        in said
    )
    assert said.endswith("give --allow-local if you trust the file.")
    assert load(mine, allow_local=True) == load(find("training"))


@pytest.mark.parametrize(
    "part",
    [
        "steps: [{at: 1s, submit: {name: a, namespace: n, image: local/shell}}]",
        "bulk: [{count: 1, job: {name: a, namespace: n, image: local/shell}}]",
        "streams: [{name: s, every: 1s, jobs: [{job: {name: a, namespace: n, image: local/shell}}]}]",
    ],
)
def test_a_local_image_is_found_wherever_it_stands(part: str) -> None:
    text = f"name: x\ntitle: x\nnamespaces: [{{name: n}}]\npools: [{{name: p}}]\n{part}"
    with pytest.raises(BadInput, match="'local/shell' runs commands on this machine"):
        parse(text, "f.yaml")
    assert parse(text, "f.yaml", allow_local=True).name == "x"


def test_the_stand_in_takes_the_place_of_an_image_in_an_else_equal_spec() -> None:
    path = find("training")
    text = path.read_text().replace("image: local/horovod", "image: local/stand-in")
    assert load(path, images={"local/horovod": "local/stand-in"}) == parse(text, "f.yaml", allow_local=True)


# ---- random harm

_VALUES: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.sampled_from([-1, 0, 1, 3, 1.5, 10**12, float("nan"), float("inf")]),
    st.sampled_from(["", "x", "-", "a b", "10s", "1Gi", "none", "machines", "é", "\u0000", "a" * 300]),
    st.text(max_size=6), st.just([]), st.just({}), st.just([[]]), st.just({"x": "y"}),
    st.just([{"name": "z"}]),
)  # fmt: skip
SMALL = ["two-nodes", "gang-on-two", "late-gpus", "old-and-new", "shared-and-mig", "bad-day"]


def _places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a tree of lists and mappings."""
    found = [path] if path else []
    if isinstance(tree, dict):
        for key, value in tree.items():
            found += _places(value, (*path, key))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            found += _places(value, (*path, index))
    return found


@st.composite
def harmed(draw: st.DrawFn) -> str:
    """A shipped scenario with up to three parts replaced, taken away, doubled or renamed."""
    tree = yaml.safe_load((shipped_folder() / f"{draw(st.sampled_from(SMALL))}.yaml").read_text())
    for _ in range(draw(st.integers(1, 3))):
        places = _places(tree)
        if not places:
            break
        *way, last = draw(st.sampled_from(places))
        parent = tree
        for one in way:
            parent = parent[one]
        match draw(st.sampled_from(["replace", "replace", "remove", "rename", "double"])):
            case "replace":
                # A copy: what is drawn is one object for all examples, and may be harmed itself.
                parent[last] = copy.deepcopy(draw(_VALUES))
            case "remove":
                del parent[last]
            case "rename" if isinstance(parent, dict):
                parent[draw(st.sampled_from(["x", "name", "gpus", "seconds", 3]))] = parent.pop(last)
            case "double" if isinstance(parent, list):
                parent.append(copy.deepcopy(parent[last]))
            case _:
                pass
    return yaml.safe_dump(tree, allow_unicode=True)


async def _play(text: str) -> None:
    scenario = parse(text, "f.yaml")
    # How large a shipped one may become is not the question here.
    pools = tuple(msgspec.structs.replace(one, nodes=min(one.nodes, 5)) for one in scenario.pools)
    cluster = EmbeddedCluster.stepped(msgspec.structs.replace(scenario, pools=pools), 1)
    await cluster.engine.start()
    await cluster.engine.advance(40)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(harmed())
async def test_harm_is_told_in_one_sentence_or_is_none(text: str) -> None:
    try:
        await _play(text)
    except BadInput as error:
        assert "\n" not in error.sentence and error.sentence


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60), st.integers(0, 2_000), st.integers(0, 40))
def test_any_text_in_the_middle_of_a_file_is_told_in_one_sentence(text: str, at: int, gone: int) -> None:
    whole = (shipped_folder() / "old-and-new.yaml").read_text()
    try:
        parse(whole[:at] + text + whole[at + gone :], "f.yaml")
    except BadInput as error:
        assert "\n" not in error.sentence and error.sentence.startswith("f.yaml")
