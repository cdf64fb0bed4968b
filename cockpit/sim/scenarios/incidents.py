"""Night shift: causes of trouble, drawn by seed, done to a cluster that is well otherwise.

Each cause (`incidents.yaml`) does something to the cluster through the same verbs as a scenario's steps, and
says in one sentence what the truth is. The truth is recorded apart; nothing in the cluster tells it by name.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from random import Random
from typing import Any

import msgspec

from cockpit.sim.port import Tree
from cockpit.sim.scenarios.schema import Scenario, ScenarioStep

_COUNT_LABEL = "nvidia.com/gpu.count"


class FaultTargets(msgspec.Struct, frozen=True):
    """What a cause may choose from: GPU nodes and how many cards each has, namespaces with and without a
    queue."""

    cards: Mapping[str, int]
    namespaces: Sequence[str]
    queued: Sequence[str]

    @property
    def nodes(self) -> Sequence[str]:
        """Names of the GPU nodes, in their order."""
        return sorted(self.cards)

    @property
    def most_cards(self) -> int:
        """Of the node with the most."""
        return max(self.cards.values(), default=1)


class Incident(msgspec.Struct, frozen=True):
    """What is done, and the truth about it: the cause's name, the object it shows on, one sentence."""

    cause: str
    about: str
    truth: str
    steps: tuple[ScenarioStep, ...]


def causes() -> tuple[str, ...]:
    """The names that a scenario may use, in the order of `incidents.yaml`."""
    return tuple(_causes())


def drawn(cause: str, random: Random, targets: FaultTargets, number: int) -> Incident:
    """An incident of this cause; `number` sets its objects apart from those of others."""
    row = dict(_causes()[cause])
    words: dict[str, Any] = {"number": number, "most": targets.most_cards, "twice": 2 * targets.most_cards}
    match row.pop("draw"):
        case "namespace":
            words["namespace"] = random.choice(targets.namespaces)
        case "queued":
            words["namespace"] = random.choice(targets.queued or targets.namespaces)
        case where:
            words["node"] = node = random.choice(targets.nodes)
            if where == "card":
                words["index"] = random.randrange(targets.cards[node])
    filled = _filled(row, words)
    truth, about = filled.pop("truth"), filled.pop("about", "")
    if "submit" in filled:
        filled["submit"]["namespace"] = words["namespace"]
    step = msgspec.convert({"at": 0, **filled}, ScenarioStep)
    if step.submit is not None:
        about = f"{step.submit.kind}/{step.submit.namespace}/{step.submit.name}"
    return Incident(cause, about, truth, (step,))


@functools.cache
def _causes() -> dict[str, Tree]:
    text = resources.files("cockpit.sim.scenarios").joinpath("incidents.yaml").read_bytes()
    rows: dict[str, Tree] = msgspec.yaml.decode(text)
    return rows


def _filled(value: Any, words: Mapping[str, Any]) -> Any:
    """`value` with its words in braces replaced; a text that is one word becomes what it stands for."""
    if isinstance(value, dict):
        return {key: _filled(item, words) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, words) for item in value]
    if not isinstance(value, str):
        return value
    return words.get(value.removeprefix("{").removesuffix("}"), value.format_map(words))


def targets_of(scenario: Scenario, nodes: Iterable[Tree]) -> FaultTargets:
    """What causes may choose from, given the nodes that are there."""
    labels = {tree["metadata"]["name"]: tree["metadata"].get("labels") or {} for tree in nodes}
    return FaultTargets(
        cards={name: int(own[_COUNT_LABEL]) for name, own in labels.items() if _COUNT_LABEL in own},
        namespaces=[one.name for one in scenario.namespaces],
        queued=[one.name for one in scenario.namespaces if one.queue],
    )
