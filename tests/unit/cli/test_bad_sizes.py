"""`cockpit pool scale`, `limit` and `ask` with what cannot be: one sentence with field, value and remedy,
exit code 2, nothing sent."""

from collections.abc import Callable
from typing import Any

import pytest

from cockpit.actions.pool_lease import LEASES, lease_name
from cockpit.kube.decode.leases import FROM, TO
from cockpit.model.batch import Batch
from cockpit.model.pool import PoolObject
from cockpit.model.record import Kind
from cockpit.pools.index import pools_of
from tests.unit.cli.builders import Attached, Cluster, run
from tests.unit.cli.test_commands import Capture
from tests.unit.pools.builders import deployment, node, pod, store_of

FLAGS = {"scale": "--to", "limit": "--max", "ask": "--nodes"}
DEMANDED = PoolObject(
    uid="np", name="spot", api_version="karpenter.sh/v1", kind="NodePool", max_replicas=3,
    resource_path="/apis/karpenter.sh/v1/nodepools",
    template_labels=(("karpenter.k8s.aws/instance-gpu-count", "8"),),
)  # fmt: skip


@pytest.fixture
def pools(cluster: Cluster) -> Cluster:
    """A pool of three, two of them busy, 1 to 10; and one at zero that grows by demand, up to three."""
    cluster.add(Kind.NODE, *(node(f"n{number}", pool="h100") for number in (1, 2, 3)))
    cluster.add(Kind.POOL, deployment(replicas=3, minimum=1, maximum=10), DEMANDED)
    cluster.add(Kind.POD, pod("a", "n1"), pod("b", "n2"))
    return cluster


IN_DIGITS = "is not a whole number of nodes: write it in digits, such as 4"
ANY = {
    "many": f"'many' {IN_DIGITS}",
    "2.5": f"'2.5' {IN_DIGITS}",
    "1e3": f"'1e3' {IN_DIGITS}",
    "0x4": f"'0x4' {IN_DIGITS}",
    "٣": f"'٣' {IN_DIGITS}",
    "--5": f"'--5' {IN_DIGITS}",
    "+2": f"'+2' {IN_DIGITS}",
    "\x1b[2J": rf"'\x1b[2J' {IN_DIGITS}",
    " ": "no number of nodes was given: write one in digits, such as 4",
    "9" * 30: f"'{'9' * 24}'… is too large a number of nodes: write a smaller one, such as 4",
}
OWN = {
    "scale": {
        "": "--to: no number of nodes was given: write one in digits, such as 4",
        "-1": "pool h100: -1 nodes are too few, at least 0",
        "0": "pool h100: 0 is below its minimum of 1: give that or more",
        "1": "pool h100: 2 of 3 nodes would go and only 1 is empty: n1, n2 are busy;"
        " drain what may go first (D, cockpit node drain)",
        "11": "pool h100: 11 is above its maximum of 10: give that or fewer, or raise it first"
        " (M, cockpit pool limit h100 --max COUNT)",
        "99999": "pool h100: 99999 nodes are too many, at most 10000",
    },
    "limit": {
        "": "--max: no number of nodes was given: write one in digits, such as 4",
        "-1": "pool h100: a maximum of -1 is too small, at least 0",
        "0": "pool h100: a maximum of 0 is below its minimum of 1: give that or more",
        "2": "pool h100: a maximum of 2 is below what it has, 3 nodes: shrink it first",
        "99999": "pool h100: a maximum of 99999 is too large, at most 10000",
    },
    "ask": {
        "": "--nodes: no number of nodes was given: write one in digits, such as 4"
        " (--withdraw takes back what asks)",
        "-1": "--nodes: -1 nodes cannot be asked for: give 1 to 1000",
        "0": "--nodes: 0 nodes cannot be asked for: give 1 to 1000",
        "4": "pool spot: 0 + 4 nodes are above its maximum of 3:"
        " raise it first (M, cockpit pool limit spot --max COUNT)",
        "99999": "--nodes: 99999 nodes cannot be asked for: give 1 to 1000",
    },
}
TABLE = [
    *((verb, text, f"{flag}: {said}") for verb, flag in FLAGS.items() for text, said in ANY.items()),
    *((verb, text, said) for verb, rows in OWN.items() for text, said in rows.items()),
]


def words(verb: str, text: str) -> tuple[str, ...]:
    name = "spot" if verb == "ask" else "h100"
    return "pool", verb, name, f"{FLAGS[verb]}={text}", "--write", "--yes"


@pytest.mark.parametrize(("verb", "text", "said"), TABLE, ids=[f"{one[0]} {one[1]!a:.12}" for one in TABLE])
def test_a_bad_number_is_one_sentence(
    verb: str, text: str, said: str, pools: Cluster, capsys: Capture
) -> None:
    assert run(capsys, *words(verb, text)) == (2, "", f"cockpit: {said}\n")
    assert (pools.sent, pools.rehearsed) == ([], [])


def test_what_has_a_size_is_not_asked_for_and_the_other_way_round(pools: Cluster, capsys: Capture) -> None:
    code, _out, err = run(capsys, "pool", "ask", "h100", "--nodes", "1", "--write", "--yes")
    assert code == 2
    assert "its size can be set (S, cockpit pool scale h100 --to COUNT)" in err
    code, _out, err = run(capsys, "pool", "scale", "spot", "--to", "1", "--write", "--yes")
    assert code == 2
    assert "pool spot cannot be resized from here: " in err
    assert (pools.sent, pools.rehearsed) == ([], [])


@pytest.mark.parametrize(("verb", "text"), [("scale", "4"), ("ask", "1")])
def test_a_pool_that_another_cockpit_holds(verb: str, text: str, pools: Cluster, capsys: Capture) -> None:
    for pool in pools_of(store_of((), (), pools.records[Kind.POOL])):
        pools.reads[LEASES.path("default", lease_name(pool))] = [_lease()]
    code, out, err = run(capsys, *words(verb, text))
    assert (code, out, pools.sent) == (2, "", [])
    assert "is being changed by bob@bastion since" in err
    assert "(from 2 to 5 nodes): wait until that is done, or until" in err


def _lease() -> dict[str, Any]:
    notes = {TO: "5", FROM: "2"}
    meta = {"name": "x", "namespace": "default", "uid": "u", "resourceVersion": "1", "annotations": notes}
    at = "2999-01-01T00:00:00.000000Z"
    spec = {"holderIdentity": "bob@bastion", "leaseDurationSeconds": 600, "acquireTime": at, "renewTime": at}
    return {"metadata": meta, "spec": spec}


@pytest.mark.parametrize(("verb", "text"), [("scale", "4"), ("limit", "12")])
def test_a_pool_that_vanished_between_preview_and_confirm(
    verb: str, text: str, pools: Cluster, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It and its nodes are there at the dry run, and gone when the plan is made anew."""

    def goes(store: Any) -> None:
        store.apply(Batch(kind=Kind.POOL, removed=(deployment().uid,)))
        store.apply(Batch(kind=Kind.NODE, removed=tuple(f"uid-n{number}" for number in (1, 2, 3))))

    _at_the_dry_run(pools, monkeypatch, goes)
    code, out, err = run(capsys, *words(verb, text))
    assert (code, out, pools.sent) == (2, "", [])
    assert err == "cockpit: pool h100 is gone, nothing was changed: choose another one; known pools: spot\n"


def _at_the_dry_run(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], None]) -> None:
    stores: list[Any] = []
    attached = Attached.run

    async def noted(self: Attached) -> None:
        stores.append(self.store)
        await attached(self)

    async def perform(session: Any, call: Any, *, dry_run: bool = False) -> None:
        if dry_run:
            change(stores[0])
        await cluster.perform(session, call, dry_run=dry_run)

    monkeypatch.setattr(Attached, "run", noted)
    monkeypatch.setattr("cockpit.kube.calls.perform", perform)


def test_a_size_that_a_controller_sets_back_ends_the_wait(
    pools: Cluster, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cockpit.actions.pool_follow import Follower

    sizes = iter((4, 3))
    look = Follower._look

    def looked(self: Follower) -> Any:
        store: Any = self._store()
        store.apply(Batch(kind=Kind.POOL, changed=(deployment(replicas=next(sizes)),)))
        return look(self)

    monkeypatch.setattr(Follower, "_look", looked)
    monkeypatch.setattr("cockpit.actions.pool_follow.LOOK_SECONDS", 0.001)
    code, out, err = run(capsys, *words("scale", "4"), "--wait")
    assert code == 1
    assert out.startswith("Growing pool h100 from 3 to 4")
    assert "MachineDeployment capi/h100 was set from 4 to 3 by another client" in err
    assert "two decide this size; agree on one, then scale again" in err
