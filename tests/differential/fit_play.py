"""Random clusters and gangs before a real scheduler: what the fit says first, what is bound in the end."""

import json
import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from cockpit.fit.gang import FitAnswer, fit
from cockpit.fit.reasons import fit_lines
from cockpit.fit.scheduling_context import Surroundings, claim_of, volume_of
from cockpit.fit.shape import Part, shape_of
from cockpit.kube.decode.decoders import NODE, POD
from cockpit.model.batch import Batch
from cockpit.model.record import Kind
from cockpit.store.store import Store
from tests.bed.api import Api
from tests.differential.fit_cases import FitCase, Tree

SEED = int(os.environ.get("GPU_COCKPIT_FIT_SEED", "1"))
# Backed-off pods come back within ten seconds: so long nothing may move before the end is believed.
QUIET_SECONDS = 14.0
LONGEST_SECONDS = 400.0
_THREADS = 8
# Nobody here takes the mark of an unready node away that admission gives to new ones.
FLAGS = ("--disable-admission-plugins", "TaintNodesByCondition")


@dataclass(frozen=True)
class Outcome:
    case: FitCase
    answer: FitAnswer
    wanted: int
    bound: int
    words: str

    @property
    def agrees(self) -> bool:
        return self.answer.fits == (self.bound == self.wanted)

    def line(self) -> str:
        said = "fits" if self.answer.fits else f"misses {self.answer.missing}"
        return (
            f"case {self.case.number} (seed {SEED}): fit says {said}, {self.bound} of {self.wanted} bound; "
            f"{' / '.join(fit_lines(self.answer))} | scheduler: {self.words} | "
            f"{json.dumps([one for _, one in self.case.templates])}"
        )


def each(doing: Callable[[Tree], object], trees: Iterable[Tree]) -> None:
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(doing, trees))


def pods_path(space: str) -> str:
    return f"/api/v1/namespaces/{space}/pods"


def _prepare(api: Api, cases: list[FitCase]) -> None:
    def make(path: str) -> Callable[[Tree], object]:
        return lambda tree: api.create(path.format(tree["metadata"].get("namespace", "")), tree)

    each(make("/api/v1/nodes"), [one for case in cases for one in case.nodes])
    each(make("/api/v1/namespaces"), [{"metadata": {"name": case.namespace}} for case in cases])
    each(make("/api/v1/persistentvolumes"), [one for case in cases for one in case.volumes])
    each(make("/api/v1/namespaces/{}/persistentvolumeclaims"), [one for case in cases for one in case.claims])
    each(make("/api/v1/namespaces/{}/pods"), [one for case in cases for one in case.pods])
    for case in cases:
        for tree in case.claims:
            if "status" in tree:
                path = f"/api/v1/namespaces/{case.namespace}/persistentvolumeclaims/data/status"
                api.merge(path, {"status": tree["status"]})
        for name in case.ended:
            api.merge(f"{pods_path(case.namespace)}/{name}/status", {"status": {"phase": "Succeeded"}})
        for name in case.leaving:
            api.delete(f"{pods_path(case.namespace)}/{name}")


def store_of(api: Api) -> Store:
    """Nodes and pods of the bed as the cockpit holds them."""
    store = Store()
    for kind, decoder, path in ((Kind.NODE, NODE, "/api/v1/nodes"), (Kind.POD, POD, "/api/v1/pods")):
        made = [decoder.from_json(json.dumps(one).encode()) for one in api.items(path)]
        store.apply(Batch(kind=kind, changed=tuple(one for one in made if one is not None)))
    return store


def _answer(api: Api, store: Store, case: FitCase) -> FitAnswer:
    path = f"/api/v1/namespaces/{case.namespace}/persistentvolumeclaims"
    claims = [claim_of(one) for one in api.items(path)] if case.claims else []
    volumes = [volume_of(one) for one in api.items("/api/v1/persistentvolumes")] if case.volumes else []
    around = Surroundings(
        claims={one.name: one for one in claims}, volumes={one.name: one for one in volumes}, classes={}
    )
    parts = [Part("member", count, shape_of(template, case.namespace)) for count, template in case.templates]
    return fit(store, parts, surroundings=around)


def settled(api: Api, spaces: set[str]) -> dict[str, list[Tree]]:
    """Members by namespace once each is bound or was refused, and for a while nothing has moved."""
    end = time.monotonic() + LONGEST_SECONDS
    quiet_since, before = time.monotonic(), -1
    while True:
        found: dict[str, list[Tree]] = {}
        for one in api.items("/api/v1/pods"):
            space, name = one["metadata"]["namespace"], one["metadata"]["name"]
            if space in spaces and name.startswith("member-"):
                found.setdefault(space, []).append(one)
        everyone = [one for some in found.values() for one in some]
        bound = sum("nodeName" in one["spec"] for one in everyone)
        asked = all("nodeName" in one["spec"] or one["status"].get("conditions") for one in everyone)
        now = time.monotonic()
        if bound != before or not asked:
            quiet_since, before = now, bound
        if now - quiet_since > QUIET_SECONDS or now > end:
            return found
        time.sleep(1.0)


def play(
    api: Api,
    cases: list[FitCase],
    members: Callable[[FitCase], list[Tree]] = FitCase.gang,
    *,
    before: Callable[[Api, list[FitCase]], None] | None = None,
    then: Callable[[Api, list[FitCase]], None] | None = None,
) -> list[Outcome]:
    """Each case's cluster, the fit's answer, then its gang (`members` are its pods) and what became of it.

    `before` is called right before the gangs are made, `then` with the cases of which somebody waits, once
    nothing moves any more; what it sets in motion counts.
    """
    _prepare(api, cases)
    store = store_of(api)
    answers = [_answer(api, store, case) for case in cases]
    if before is not None:
        before(api, cases)
    each(
        lambda tree: api.create(pods_path(tree["metadata"]["namespace"]), tree),
        [one for case in cases for one in members(case)],
    )
    spaces = {case.namespace for case in cases}
    found = settled(api, spaces)
    if then is not None:
        then(api, [case for case in cases if _waiting(found[case.namespace])])
        found = settled(api, spaces)
    outcomes = []
    for case, answer in zip(cases, answers, strict=True):
        gang = found[case.namespace]
        waiting = _waiting(gang)
        words = waiting[0]["status"]["conditions"][0].get("message", "") if waiting else "all bound"
        outcomes.append(Outcome(case, answer, len(gang), len(gang) - len(waiting), words))
    return outcomes


def _waiting(gang: list[Tree]) -> list[Tree]:
    return [one for one in gang if "nodeName" not in one["spec"]]
