"""Fit and the real kube-scheduler on the same random clusters: what fits binds whole, what misses never does.

Everything the cluster holds goes through the cockpit's own decoders into a store; the fit answers from there
before the gang is created. Gangs of unlike members, and those of which the fit says that it depends on the
order, are counted apart: there a greedy scheduler may go either way. `GPU_COCKPIT_FIT_CASES` sets how many
cases are played (60; 300 in `make test-all`), `GPU_COCKPIT_FIT_SEED` which.
"""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from cockpit.fit.gang import FitAnswer, fit
from cockpit.fit.shape import Part, shape_of
from cockpit.fit.surroundings import Surroundings, claim_of, volume_of
from cockpit.fit.words import fit_lines
from cockpit.kube.decode.decoders import NODE, POD
from cockpit.model.batch import Batch
from cockpit.model.record import Kind
from cockpit.store.store import Store
from tests.bed.api import Api
from tests.bed.bed import Bed
from tests.differential.fit_cases import FitCase, Tree, fit_case

pytestmark = pytest.mark.real

CASES = int(os.environ.get("GPU_COCKPIT_FIT_CASES", "60"))
SEED = int(os.environ.get("GPU_COCKPIT_FIT_SEED", "1"))
UNLIKE_SHARE = 6
"""One more case with unlike members for so many with like ones."""
AGREEMENT = 0.99
# Backed-off pods come back within ten seconds: so long nothing may move before the end is believed.
QUIET_SECONDS = 14.0
LONGEST_SECONDS = 400.0
_THREADS = 8
# Nobody here takes the mark of an unready node away that admission gives to new ones.
_FLAGS = ("--disable-admission-plugins", "TaintNodesByCondition")


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


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with Bed({"scheduler"}, namespace=False, apiserver_flags=_FLAGS) as bed:
        yield bed.api()


def _each(doing: Callable[[Tree], object], trees: Iterable[Tree]) -> None:
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(doing, trees))


def _pods(space: str) -> str:
    return f"/api/v1/namespaces/{space}/pods"


def _prepare(api: Api, cases: list[FitCase]) -> None:
    def make(path: str) -> Callable[[Tree], object]:
        return lambda tree: api.create(path.format(tree["metadata"].get("namespace", "")), tree)

    _each(make("/api/v1/nodes"), [one for case in cases for one in case.nodes])
    _each(make("/api/v1/namespaces"), [{"metadata": {"name": case.namespace}} for case in cases])
    _each(make("/api/v1/persistentvolumes"), [one for case in cases for one in case.volumes])
    _each(
        make("/api/v1/namespaces/{}/persistentvolumeclaims"), [one for case in cases for one in case.claims]
    )
    _each(make("/api/v1/namespaces/{}/pods"), [one for case in cases for one in case.pods])
    for case in cases:
        for tree in case.claims:
            if "status" in tree:
                path = f"/api/v1/namespaces/{case.namespace}/persistentvolumeclaims/data/status"
                api.merge(path, {"status": tree["status"]})
        for name in case.ended:
            api.merge(f"{_pods(case.namespace)}/{name}/status", {"status": {"phase": "Succeeded"}})
        for name in case.leaving:
            api.delete(f"{_pods(case.namespace)}/{name}")


def _store(api: Api) -> Store:
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


def _settled(api: Api, spaces: set[str]) -> dict[str, list[Tree]]:
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


def _play(api: Api, cases: list[FitCase]) -> list[Outcome]:
    _prepare(api, cases)
    store = _store(api)
    answers = [_answer(api, store, case) for case in cases]
    _each(
        lambda tree: api.create(_pods(tree["metadata"]["namespace"]), tree),
        [one for case in cases for one in case.gang()],
    )
    found = _settled(api, {case.namespace for case in cases})
    outcomes = []
    for case, answer in zip(cases, answers, strict=True):
        members = found[case.namespace]
        waiting = [one for one in members if "nodeName" not in one["spec"]]
        words = waiting[0]["status"]["conditions"][0].get("message", "") if waiting else "all bound"
        outcomes.append(Outcome(case, answer, len(members), len(members) - len(waiting), words))
    return outcomes


def test_what_fits_binds_and_what_misses_never_does(api: Api) -> None:
    like = [fit_case(number, SEED) for number in range(CASES)]
    unlike = [fit_case(CASES + number, SEED, unlike=True) for number in range(CASES // UNLIKE_SHARE)]
    outcomes = _play(api, like + unlike)
    alike, apart = outcomes[:CASES], outcomes[CASES:]
    sure = [one for one in alike if one.answer.is_sure]
    wrong = [one for one in sure if not one.agrees]
    counted = sum(min(one.answer.largest, one.wanted) == one.bound for one in sure)
    print(
        f"{len(alike)} gangs of like members, {sum(one.answer.fits for one in alike)} said to fit, "
        f"{len(alike) - len(sure)} said to depend on the order: "
        f"{len(sure) - len(wrong)} of {len(sure)} agree, the number of members bound is as said in {counted}"
    )
    for one in alike:
        if not one.answer.is_sure:
            print(f"depends on the order, {one.bound} of {one.wanted} bound: case {one.case.number}")
    for one in wrong:
        print(f"DISAGREES: {one.line()}")
    agreeing = sum(one.agrees for one in apart)
    print(f"{len(apart)} gangs of unlike members: {agreeing} agree")
    for one in apart:
        if not one.agrees:
            print(f"unlike, disagrees: {one.line()}")
    assert len(sure) >= 0.95 * len(alike)
    assert len(sure) - len(wrong) >= AGREEMENT * len(sure), [one.line() for one in wrong]
    fitting = sum(one.answer.fits for one in sure)
    assert 0.15 * len(sure) < fitting < 0.85 * len(sure), (
        "the cases would not tell a fit that always says one"
    )
