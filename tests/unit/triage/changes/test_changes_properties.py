"""Clusters drawn by seed: every change that is offered, done to the objects, starts the job; and where
nothing is offered none of the single changes that a person would try does."""

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from cockpit.fit.gang import fit
from cockpit.model.finding import Change, Subject
from cockpit.triage.wanted import wanted_of
from tests.unit.triage.objects import NVIDIA, PRODUCT, Tree, changes_of, job, node, pods_of, view_of

MODELS = ("H100", "A100")
TAINT = {"key": "team", "value": "b", "effect": "NoSchedule"}
WAITS = Subject("job", "team-a", "waits")


def drawn(seed: int) -> list[Tree]:
    """A few nodes, jobs that hold some of their GPUs, and one that waits."""
    random = Random(seed)
    trees: list[Tree] = []
    free: dict[str, int] = {}
    for number in range(random.randint(1, 5)):
        name, gpus = f"n{number}", random.choice((2, 4, 8))
        spec: Tree = {}
        if random.random() < 0.25:
            spec["unschedulable"] = True
        if random.random() < 0.25:
            spec["taints"] = [TAINT]
        trees.append(node(name, gpus, labels={PRODUCT: random.choice(MODELS)}, **spec))
        free[name] = gpus
    for number in range(random.randint(0, 4)):
        gpus = random.choice((1, 2, 4))
        places = []
        for _ in range(random.randint(1, 2)):
            where = [name for name, left in free.items() if left >= gpus]
            if where:
                places.append(random.choice(where))
                free[places[-1]] -= gpus
        if places:
            holds = job(f"holds-{number}", len(places), gpus)
            trees += [holds, *pods_of(holds, places)]
    spec = {}
    if random.random() < 0.4:
        spec["nodeSelector"] = {PRODUCT: random.choice((*MODELS, "B300"))}
    waits = job("waits", random.randint(1, 3), random.choice((1, 2, 4, 8)), **spec)
    return [*trees, waits, *pods_of(waits)]


def starts(trees: list[Tree]) -> bool:
    view = view_of(trees)
    wanted = wanted_of(WAITS, view)
    assert wanted is not None
    return fit(view.store, wanted.parts).fits


def by_name(trees: list[Tree], kind: str, name: str) -> Tree:
    return next(one for one in trees if one["kind"] == kind and one["metadata"]["name"] == name)


def reworked(
    trees: list[Tree], members: int | None = None, gpus: int | None = None, **spec: Any
) -> list[Tree]:
    """The waiting job made anew."""
    old = by_name(trees, "Job", "waits")["spec"]
    asked = old["template"]["spec"]["containers"][0]["resources"]["limits"]
    kept = {key: one for key, one in old["template"]["spec"].items() if key != "containers"}
    made = job("waits", members or old["parallelism"], gpus or int(asked[NVIDIA]), **{**kept, **spec})
    others = [one for one in trees if not one["metadata"]["name"].startswith("waits")]
    return [*others, made, *pods_of(made)]


def without(trees: list[Tree], *names: str) -> list[Tree]:
    """These jobs and their pods are gone."""
    return [
        one
        for one in trees
        if one["metadata"]["name"] not in names
        and one["metadata"].get("labels", {}).get("job-name") not in names
    ]


def done(change: Change, trees: list[Tree]) -> list[Tree]:
    """What the command of the change does to the objects."""
    for step in change.steps:
        trees = done(step, trees)
    if change.steps:
        return trees
    trees = copy.deepcopy(trees)
    words = [one for one in change.command if one != "--write"]
    match change.kind:
        case "uncordon_node":
            for name in words[3:]:
                by_name(trees, "Node", name)["spec"].pop("unschedulable")
        case "suspend" | "kill":
            return without(trees, *(one.partition("/")[2] for one in words[3:]))
        case "wait_for":
            assert change.target is not None
            names = change.words.removeprefix("wait for ").partition(" (")[0].split(" and ")
            assert names[0] == change.target.key
            return without(trees, *(one.partition("/")[2] for one in names))
        case "fewer_gpus":
            return reworked(trees, gpus=int(words[words.index("--gpus") + 1]))
        case "fewer_members":
            flag = "--to" if "--to" in words else "--workers"
            return reworked(trees, members=int(words[words.index(flag) + 1]))
        case "tolerate":
            return reworked(trees, tolerations=[{"key": "team", "operator": "Exists"}])
        case "other_pool":
            assert change.target is not None
            return reworked(trees, nodeSelector={PRODUCT: change.target.name})
        case "drop_selector":
            return reworked(trees, nodeSelector={})
        case "more_nodes":
            assert change.target is not None
            count = change.words.partition(" ")[0]  # "2 more nodes like n1"
            like = by_name(trees, "Node", change.target.name)
            for number in range(int(count)):
                more = copy.deepcopy(like)
                more["metadata"] |= {"name": f"more{number}", "uid": f"more{number}"}
                more["spec"].pop("unschedulable", None)
                trees.append(more)
        case _:
            raise AssertionError(change)
    return trees


def single_changes(trees: list[Tree]) -> Iterator[tuple[str, list[Tree]]]:
    """What a person would try, one at a time."""
    waits = by_name(trees, "Job", "waits")["spec"]
    for one in trees:
        name = one["metadata"]["name"]
        if one["kind"] == "Node" and one["spec"].get("unschedulable"):
            changed = copy.deepcopy(trees)
            by_name(changed, "Node", name)["spec"].pop("unschedulable")
            yield f"uncordon {name}", changed
        if one["kind"] == "Job" and name != "waits":
            yield f"end {name}", without(trees, name)
    gpus = int(waits["template"]["spec"]["containers"][0]["resources"]["limits"][NVIDIA])
    for fewer in range(1, gpus):
        yield f"{fewer} GPUs", reworked(trees, gpus=fewer)
    for fewer in range(1, waits["parallelism"]):
        yield f"{fewer} members", reworked(trees, members=fewer)
    for model in MODELS:
        if "nodeSelector" in waits["template"]["spec"]:
            yield model, reworked(trees, nodeSelector={PRODUCT: model})
    yield "tolerate", reworked(trees, tolerations=[{"key": "team", "operator": "Exists"}])


SEEDS = range(250)


@pytest.mark.parametrize("first", range(0, len(SEEDS), 50))
def test_every_change_that_is_offered_starts_the_job(first: int) -> None:
    offered = 0
    for seed in SEEDS[first : first + 50]:
        trees = drawn(seed)
        changes = changes_of(WAITS, view_of(trees))
        assert not (changes and starts(trees)), seed
        assert len(changes) <= 5
        assert len({one.kind for one in changes}) == len(changes)
        for change in changes:
            assert change.is_checked != bool(change.leaves), (seed, change)
            assert starts(done(change, trees)) == change.is_checked, (seed, change)
        offered += bool(changes)
    assert offered > 10


def with_rival(trees: list[Tree], random: Random) -> list[Tree]:
    """Another job of the same priority whose pods found no node either."""
    rival = job("rival", random.randint(1, 2), random.choice((1, 2, 4, 8)))
    return [*trees, rival, *pods_of(rival)]


def rival_first(trees: list[Tree], random: Random) -> list[Tree]:
    """The rival's pods take any seats that they find, unless it was ended."""
    trees = copy.deepcopy(trees)
    for pod in trees:
        if pod["kind"] != "Pod" or pod["metadata"]["labels"]["job-name"] != "rival":
            continue
        held: dict[str, int] = {}
        for one in trees:
            if one["kind"] == "Pod" and (where := one["spec"].get("nodeName")):
                held[where] = held.get(where, 0) + gpus_of(one)
        open_ = [
            one["metadata"]["name"]
            for one in trees
            if one["kind"] == "Node"
            and not one["spec"].get("unschedulable")
            and not one["spec"].get("taints")
            and int(one["status"]["allocatable"][NVIDIA]) - held.get(one["metadata"]["name"], 0)
            >= gpus_of(pod)
        ]
        if open_:
            pod["spec"]["nodeName"] = random.choice(open_)
            pod["status"] = {"phase": "Running"}
    return trees


def gpus_of(pod: Tree) -> int:
    return int(pod["spec"]["containers"][0]["resources"]["limits"][NVIDIA])


@pytest.mark.parametrize("first", range(0, len(SEEDS), 50))
def test_it_starts_too_where_another_one_that_waits_comes_first(first: int) -> None:
    offered = 0
    for seed in SEEDS[first : first + 50]:
        random = Random(seed)
        trees = with_rival(drawn(seed), random)
        if starts(rival_first(trees, random)):
            continue
        for change in changes_of(WAITS, view_of(trees)):
            for _ in range(3 if change.is_checked else 0):
                assert starts(rival_first(done(change, trees), random)), (seed, change)
            offered += 1
    assert offered > 10


@pytest.mark.parametrize("first", range(0, len(SEEDS), 50))
def test_where_nothing_is_offered_no_single_change_helps(first: int) -> None:
    for seed in SEEDS[first : first + 50]:
        trees = drawn(seed)
        if starts(trees) or any(one.is_checked for one in changes_of(WAITS, view_of(trees))):
            continue
        for words, changed in single_changes(trees):
            assert not starts(changed), (seed, words)
