"""What holds for every cluster: nothing overcommitted, no seat left out, every offered change helps."""

import re
from collections.abc import Iterator
from functools import cache

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from cockpit.fit.gang import FitAnswer
from cockpit.fit.reasons import fit_lines, fit_sentence
from cockpit.fit.shape import Shape, Spread
from cockpit.model.node import Node
from cockpit.model.pod import Pod
from tests.unit.fit.builders import (
    APP_A,
    HOST,
    NVIDIA,
    ZONE,
    apart,
    fits,
    fleet,
    holder,
    labelled,
    node,
    shape,
)

RACK = "rack"
CPU = 1_000


@st.composite
def cluster(draw: st.DrawFn) -> tuple[list[Node], list[Pod]]:
    nodes = []
    for index in range(draw(st.integers(0, 5))):
        gpus = draw(st.integers(0, 4))
        labels = {RACK: draw(st.sampled_from("12"))}
        zone = draw(st.sampled_from(("x", "x", "y", "z", "")))
        if zone:
            labels[ZONE] = zone
        offered = {NVIDIA: gpus, "cpu": draw(st.integers(1, 5)) * CPU, "pods": draw(st.integers(1, 6))}
        nodes.append(
            node(
                f"n{index}",
                gpus,
                labels=labels,
                unschedulable=draw(st.integers(0, 5)) == 0,
                allocatable=tuple(sorted(offered.items())),
            )
        )
    pods = []
    if nodes:
        for index in range(draw(st.integers(0, 4))):
            fields = {"cpu_millicores": draw(st.integers(0, 2)) * CPU}
            app = draw(st.sampled_from("ab"))
            on = draw(st.sampled_from(nodes)).name
            pods.append(holder(f"p{index}", on, draw(st.integers(0, 2)), traits=labelled(app=app), **fields))
    return nodes, pods


@st.composite
def member(draw: st.DrawFn, wishes: bool = True) -> Shape:
    fields: dict[str, object] = {"labels": (("app", "a"),)}
    if draw(st.integers(0, 3)) == 0:
        fields["node_selector"] = ((RACK, "1"),)
    if wishes:
        kind = draw(st.sampled_from(("", "", "spread", "apart", "both", "near", "two")))
        key, other = draw(st.permutations((ZONE, HOST, RACK)))[:2]
        skew = draw(st.integers(1, 2))
        least = draw(st.sampled_from((1, 1, 2)))
        if kind in ("spread", "both", "two"):
            fields["spreads"] = (Spread(key, skew, APP_A, least),)
        if kind == "two":
            fields["spreads"] = (Spread(key, skew, APP_A), Spread(other, 1, APP_A))
        if kind in ("apart", "both"):
            fields["keeps_away"] = apart(other)
        if kind == "near":
            fields["near"] = apart(key)
    return shape(draw(st.integers(1, 3)), more={"cpu": draw(st.integers(1, 2)) * CPU}, **fields)


class Rules:
    """The rules once more, plainly: may one more member go to a node, given where the others are."""

    def __init__(self, nodes: list[Node], pods: list[Pod], asked: Shape) -> None:
        self.nodes = {one.name: one for one in nodes}
        self.labels = {one.name: dict(one.labels) for one in nodes}
        self.pods = [one for one in pods if one.node in self.nodes]
        self.asked = asked

    def room(self, name: str) -> int:
        one = self.nodes[name]
        offered = dict(one.allocatable)
        here = [pod for pod in self.pods if pod.node == name]
        left = {
            NVIDIA: offered.get(NVIDIA, 0) - sum(pod.gpus for pod in here),
            "cpu": offered["cpu"] - sum(pod.cpu_millicores for pod in here),
            "pods": offered["pods"] - len(here),
        }
        wanted = {**dict(self.asked.requests), "pods": 1}
        return max(0, min(left[key] // each for key, each in wanted.items()))

    def admits(self, name: str) -> bool:
        labels = self.labels[name]
        if self.nodes[name].unschedulable:
            return False
        return all(labels.get(key) == value for key, value in self.asked.node_selector)

    def friends(self, others: tuple[str, ...]) -> list[str]:
        """Nodes of pods labelled app=a, members included."""
        return [pod.node for pod in self.pods if dict(pod.traits.labels) == {"app": "a"}] + list(others)

    def may(self, name: str, others: tuple[str, ...]) -> bool:
        if not self.admits(name) or others.count(name) >= self.room(name):
            return False
        labels, friends = self.labels[name], self.friends(others)
        for term in self.asked.keeps_away:
            value = labels.get(term.topology_key)
            if value is not None and value in {self.labels[one].get(term.topology_key) for one in friends}:
                return False
        for term in self.asked.near:
            value = labels.get(term.topology_key)
            there = {self.labels[one].get(term.topology_key) for one in friends} - {None}
            if value is None or (there and value not in there):
                return False
        return all(self.keeps_skew(name, spread, friends) for spread in self.asked.spreads)

    def keeps_skew(self, name: str, spread: Spread, friends: list[str]) -> bool:
        keys = [one.key for one in self.asked.spreads]
        eligible = [
            one
            for one in self.nodes
            if all(key in self.labels[one] for key in keys)
            and all(self.labels[one].get(key) == value for key, value in self.asked.node_selector)
        ]
        if not all(key in self.labels[name] for key in keys):
            return False
        counts = {self.labels[one][spread.key]: 0 for one in eligible}
        for one in friends:
            if one in eligible:
                counts[self.labels[one][spread.key]] += 1
        least = min(counts.values()) if len(counts) >= spread.min_domains else 0
        return counts[self.labels[name][spread.key]] + 1 - least <= spread.max_skew

    def extremes(self) -> tuple[int, int]:
        """The fewest and the most members that a scheduler going node by node can end with."""

        @cache
        def walk(others: tuple[str, ...]) -> tuple[int, int]:
            ends = [walk(tuple(sorted((*others, one)))) for one in self.nodes if self.may(one, others)]
            if not ends:
                return len(others), len(others)
            return min(low for low, _ in ends), max(high for _, high in ends)

        return walk(())


def small(nodes: list[Node], pods: list[Pod], asked: Shape) -> bool:
    """Few enough members that every order can be tried."""
    rules = Rules(nodes, pods, asked)
    return sum(rules.room(one) for one in rules.nodes if rules.admits(one)) <= 7


def seats_taken(answer: FitAnswer) -> Iterator[str]:
    for name, count in answer.places:
        yield from [name] * count


@settings(max_examples=300, deadline=None)
@given(cluster(), member(), st.integers(0, 8))
def test_nothing_is_overcommitted(there: tuple[list[Node], list[Pod]], asked: Shape, wanted: int) -> None:
    nodes, pods = there
    answer = fits(fleet(*nodes, *pods), wanted, asked)
    rules = Rules(nodes, pods, asked)
    for name, count in answer.places:
        assert rules.admits(name) and 0 < count <= rules.room(name)
    assert sum(count for _, count in answer.places) + answer.missing == answer.wanted == wanted
    for term in asked.keeps_away:
        values = [rules.labels[one].get(term.topology_key) for one in seats_taken(answer)]
        named = [one for one in values if one is not None]
        assert len(named) == len(set(named))


@settings(max_examples=400, deadline=None)
@given(cluster(), member(), st.integers(1, 6))
def test_every_order_of_a_scheduler_ends_as_said(
    there: tuple[list[Node], list[Pod]], asked: Shape, wanted: int
) -> None:
    nodes, pods = there
    if not small(nodes, pods, asked):
        return
    fewest, most = Rules(nodes, pods, asked).extremes()
    answer = fits(fleet(*nodes, *pods), wanted, asked)
    assert answer.largest <= most
    if answer.fits and answer.is_sure:
        assert fewest >= wanted
    if not answer.fits:
        assert most < wanted
    if not asked.near and len(asked.spreads) + len(asked.keeps_away) < 2:
        assert answer.largest == most == fewest


@settings(max_examples=200, deadline=None)
@given(cluster(), member(wishes=False), st.integers(1, 8), st.integers(0, 4))
def test_one_more_node_never_hurts(
    there: tuple[list[Node], list[Pod]], asked: Shape, wanted: int, gpus: int
) -> None:
    nodes, pods = there
    before = fits(fleet(*nodes, *pods), wanted, asked)
    after = fits(fleet(*nodes, node("more", gpus, labels={RACK: "1"}), *pods), wanted, asked)
    assert after.largest >= before.largest
    assert after.fits or not before.fits


@settings(max_examples=200, deadline=None)
@given(cluster(), member(), st.integers(1, 8))
def test_the_largest_gang_is_the_largest(
    there: tuple[list[Node], list[Pod]], asked: Shape, wanted: int
) -> None:
    store = fleet(*there[0], *there[1])
    largest = fits(store, wanted, asked).largest
    assert largest == 0 or fits(store, largest, asked).fits
    assert not fits(store, largest + 1, asked).fits


@settings(max_examples=300, deadline=None)
@given(cluster(), member(), st.integers(1, 8))
def test_every_offered_change_helps(there: tuple[list[Node], list[Pod]], asked: Shape, wanted: int) -> None:
    nodes, pods = there
    answer = fits(fleet(*nodes, *pods), wanted, asked)
    assert (answer.missing == 0) == (not answer.remedies) or not answer.fits
    for one in answer.remedies:
        changed, shape_then, count = nodes, asked, wanted
        if found := re.fullmatch(r"uncordon (?:\d+ nodes \()?([n0-9, ]+)(?:, \.\.\.\))?", one.words):
            names = found[1].split(", ")
            if "..." in one.words:
                continue
            heal = msgspec.structs.replace
            changed = [heal(each, unschedulable=False) if each.name in names else each for each in nodes]
        elif found := re.fullmatch(r"(\d+) workers? fewer", one.words):
            count = wanted - int(found[1])
        elif found := re.fullmatch(r"(\d+) GPUs? fewer for each worker", one.words):
            less = {**dict(asked.requests), NVIDIA: asked.gpus - int(found[1])}
            shape_then = msgspec.structs.replace(asked, requests=tuple(sorted(less.items())))
        elif one.words.startswith("remove the node selector"):
            shape_then = msgspec.structs.replace(asked, node_selector=())
        elif found := re.fullmatch(r"remove the spread over (\S+)", one.words):
            kept = tuple(each for each in asked.spreads if each.key != found[1])
            shape_then = msgspec.structs.replace(asked, spreads=kept)
        elif one.words.startswith("remove the anti-affinity"):
            shape_then = msgspec.structs.replace(asked, keeps_away=())
        elif one.words.startswith("remove the affinity"):
            shape_then = msgspec.structs.replace(asked, near=())
        else:
            found = re.fullmatch(r"(\d+) more nodes? like (n\d)", one.words)
            assert found, one.words
            like = next(each for each in nodes if each.name == found[2])
            changed = nodes + [another(like, number) for number in range(int(found[1]))]
        assert fits(fleet(*changed, *pods), count, shape_then).fits, one.words


def another(like: Node, number: int) -> Node:
    name = f"more{number}"
    labels = tuple(sorted({**dict(like.labels), HOST: name}.items()))
    return msgspec.structs.replace(like, uid=name, name=name, labels=labels, unschedulable=False)


@settings(max_examples=200, deadline=None)
@given(cluster(), member(), st.integers(1, 8))
def test_the_numbers_of_the_sentence_add_up(
    there: tuple[list[Node], list[Pod]], asked: Shape, wanted: int
) -> None:
    nodes, pods = there
    answer = fits(fleet(*nodes, *pods), wanted, asked)
    rules = Rules(nodes, pods, asked)
    free = [
        max(0, dict(one.allocatable)[NVIDIA] - sum(pod.gpus for pod in pods if pod.node == one.name))
        for one in nodes
        if dict(one.allocatable)[NVIDIA] and rules.admits(one.name)
    ]
    text = fit_sentence(answer)
    if found := re.match(r"pending: needs (\d+) GPUs? as (\d+) x (\d+), (\d+) free", text):
        total, count, each, shown = (int(one) for one in found.groups())
        assert total == count * each == wanted * asked.gpus
        if not asked.spreads and not asked.near and not asked.keeps_away:
            assert shown == sum(free) == answer.pieces.free_gpus
            assert answer.pieces.largest_block == max(free, default=0)
            parts = [
                max(0, dict(one.allocatable)[NVIDIA] - sum(pod.gpus for pod in pods if pod.node == one.name))
                % asked.gpus
                for one in nodes
                if dict(one.allocatable)[NVIDIA] >= asked.gpus and rules.admits(one.name)
            ]  # of a node that is smaller than a member nothing is a piece
            assert answer.pieces.scattered_gpus == sum(parts)
    for line in fit_lines(answer)[1:]:
        if found := re.match(r"  no room for (\d+) of (\d+) workers", line):
            assert (int(found[1]), int(found[2])) == (answer.missing, wanted)
    assert sum(count for _, count in answer.pieces.obstacles) <= answer.pieces.matching_nodes
