"""Five hundred manifests with one mistake each: the strict dry run stops every one before the write."""

import json
import random
from collections.abc import Awaitable, Iterator
from typing import Any

import pytest

from cockpit.actions.execute.run_verb import Tried, What, conduct
from cockpit.clock import SystemClock
from cockpit.model.plan import Call, Plan
from tests.adapters.faults.proxy import FaultProxy
from tests.bed.api import Api
from tests.contract import shapes
from tests.contract.asking import in_space
from tests.contract.conftest import Connect
from tests.reliability.figures import Tell, whole
from tests.unit.actions.builders import Lines

Tree = dict[str, Any]
Path = tuple[str | int, ...]
FREE = frozenset({"labels", "annotations", "matchLabels", "nodeSelector", "limits", "requests"})
"""Maps that hold what their author likes."""
FIELD = {"fieldPath": "metadata.name"}
MISSPELT = ("paralelism", "Image", "x-note")


def rich(tree: Tree) -> Tree:
    """The same with what people write into pods."""
    spec = tree["spec"].get("template", tree)["spec"]
    (main,) = spec["containers"]
    main |= {
        "env": [{"name": "RANK", "value": "0"}, {"name": "POD", "valueFrom": {"fieldRef": FIELD}}],
        "ports": [{"name": "ssh", "containerPort": 22}],
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
        "resources": {"limits": {"nvidia.com/gpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}},
        "readinessProbe": {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 5},
    }
    spec |= {
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}}],
        "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "nodeSelector": {"pool": "a"},
        "securityContext": {"runAsUser": 1000},
        "terminationGracePeriodSeconds": 30,
    }
    tree["metadata"] |= {"labels": {"a": "b"}, "annotations": {"c": "d"}}
    return tree


BASES: dict[str, tuple[str, Tree]] = {
    "pods": ("/api/v1", rich(shapes.pod("wrong"))),
    "jobs": ("/apis/batch/v1", rich(shapes.job("wrong", suspend=True))),
    "deployments": ("/apis/apps/v1", rich(shapes.deployment("wrong", 0))),
}
WRONG_VALUES: tuple[tuple[Path, Any], ...] = (
    (("metadata", "name"), "Not A Name"),
    (("metadata", "name"), "x" * 300),
    (("metadata", "labels", "a"), "no spaces here"),
    (("metadata", "annotations"), {"no key/at/all": "x"}),
)


def nodes(tree: Any, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value with its path, the root too."""
    yield at, tree
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield from nodes(value, (*at, key))


def changed(tree: Tree, path: Path, value: Any) -> Tree:
    made: Tree = json.loads(json.dumps(tree))
    at: Any = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return made


def cases() -> list[tuple[str, Path, Tree]]:
    """The plural, the field that is wrong, and the manifest."""
    found: list[tuple[str, Path, Tree]] = []
    for plural, (_, tree) in BASES.items():
        for path, value in nodes(tree):
            if path[:1] in (("apiVersion",), ("kind",)) or path == ("metadata",):
                continue
            if isinstance(value, dict) and not FREE & set(path[-1:]):
                found += [(plural, (*path, name), changed(tree, (*path, name), "x")) for name in MISSPELT]
            if path:
                others: tuple[Any, Any] = ("text", 7.5)
                if not isinstance(value, dict | list):
                    others = (["text"], {"a": "b"})
                found += [(plural, path, changed(tree, path, other)) for other in others]
        found += [(plural, path, changed(tree, path, value)) for path, value in WRONG_VALUES]
    return found


class SaysYes:
    """Agrees to whatever may still be agreed to."""

    asks_again = True

    async def ask(
        self, face: Plan, changes: tuple[str, ...], trial: Awaitable[Tried[What]]
    ) -> Tried[What] | None:
        self.tried: Tried[Any] = await trial
        return self.tried if self.tried.may_go_on else None


@pytest.mark.row(51, "manifests with one mistake", least=500, unit="cases")
@pytest.mark.row(51, "of them stopped before the write", least=1)
@pytest.mark.row(51, "writes that were sent", most=0)
@pytest.mark.row(51, "objects made", most=0)
@pytest.mark.row(51, "refusals that name the field", least=0.9)
async def test_no_manifest_with_a_mistake_is_written(
    space: str, admin: Api, connect: Connect, proxy: FaultProxy, figure: Tell
) -> None:
    """Of a quantity that is none the API server itself names no field."""
    session = await connect(write=True, through=proxy)
    every = cases()
    chosen = random.Random(51).sample(every, min(len(every), whole(len(every), 60)))
    stopped = named = 0
    for plural, path, tree in chosen:
        collection = in_space(space, plural, base=BASES[plural][0])
        call = Call(method="POST", path=collection, body=tree, target="it")
        plan = Plan(verb="submit", title="Submit it", done="Submitted it", calls=(call,))
        person = SaysYes()
        outcome = await conduct(plan, None, session, Lines, SystemClock(), asker=person)
        said = person.tried.verdict
        stopped += outcome is None and said.state == "refused"
        words = [part for part in path if isinstance(part, str)][-2:]
        named += any(word in said.sentence for word in words)
    written = [seen for seen in proxy.seen if seen.method == "POST" and seen.query.get("dryRun") != "All"]
    figure("manifests with one mistake", len(chosen))
    figure("of them stopped before the write", stopped / len(chosen))
    figure("writes that were sent", len(written))
    left = [admin.items(in_space(space, plural, base=base)) for plural, (base, _) in BASES.items()]
    figure("objects made", sum(map(len, left)))
    figure("refusals that name the field", named / len(chosen))
