"""What the embedded cluster's pools and autoscaler write, read as the product reads it, moment by moment."""

import json
from typing import Any

from cockpit.kube.decode import decoders
from cockpit.kube.decode.decoders import Decoder, machine_decoder, pool_decoder
from cockpit.kube.resource import EVENTS, MACHINE_DEPLOYMENTS, MACHINES, NODES, PODS
from cockpit.model.batch import Batch
from cockpit.model.pool import Pool
from cockpit.model.record import Kind
from cockpit.pools.failures import failures_of
from cockpit.pools.index import pools_of
from cockpit.pools.ladder import Rung, growth
from cockpit.pools.owner import FailureClass
from cockpit.pools.sightings import Sightings, kept_events
from cockpit.sim.resources import CONFIG_MAPS
from cockpit.store.store import Store
from tests.unit.sim.autoscaler.test_autoscaler_over_time import ESTATE, STATUS, begun
from tests.unit.sim.scenarios.play import Play

READ = (
    (NODES, decoders.NODE),
    (PODS, decoders.POD),
    (MACHINE_DEPLOYMENTS, pool_decoder(MACHINE_DEPLOYMENTS)),
    (MACHINES, machine_decoder(MACHINES)),
    (EVENTS, decoders.EVENT),
)


def _records(decoder: Decoder, trees: Any) -> tuple[Any, ...]:
    made = (decoder.from_json(json.dumps(one).encode()) for one in trees)
    return tuple(one for one in made if one is not None)


async def store_now(play: Play, now: float) -> Store:
    """What a feed would have put into the store."""
    store = Store()
    for resource, decoder in READ:
        batch = Batch(kind=decoder.kind, changed=_records(decoder, await play.list(resource)))
        store.apply(batch)
        kept = kept_events(batch, store) if batch.kind == Kind.EVENT else None
        if kept is not None:
            store.apply(kept)
    (status,) = _records(decoders.AUTOSCALER, [await play.get(CONFIG_MAPS, *STATUS)])
    store.apply(
        Batch(kind=Kind.AUTOSCALER, changed=(type(status)(**{**_fields(status), "read_seconds": now}),))
    )
    return store


def _fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__struct_fields__}


def _only(store: Store) -> Pool:
    return next(one for one in pools_of(store) if one.name == "a100")


async def test_a_growth_that_the_autoscaler_asked_for_climbs_rung_by_rung() -> None:
    play = await begun()
    seen = Sightings()
    began = play.cluster.clock.now() - play.at
    counts: dict[float, list[int]] = {}
    for at in (65, 73, 83, 86, 92, 120, 140):
        await play.to(at)
        now = began + at
        store = await store_now(play, now)
        seen.note(store.records(Kind.NODE).values(), now)
        pool = _only(store)
        assert "the cluster autoscaler controls the size" in pool.why_not
        found = growth(pool, store, now, seen=seen)
        assert found is not None
        counts[at] = [found.done(rung) for rung in Rung]
        if at == 65:
            assert found.wanted == 2
            assert found.hang is not None
            assert found.hang.step is Rung.LAUNCHED
    assert found is not None
    assert found.wanted == 2
    heights = [sum(one) for one in counts.values()]
    assert heights == sorted(heights)
    assert found.is_over
    times = [one.at_seconds for one in found.stamps if one.at_seconds is not None]
    assert times == sorted(times)
    assert all(began <= one <= now for one in times)
    named = {one.step for one in found.stamps if one.at_seconds is not None}
    assert {Rung.ACCEPTED, Rung.JOINED, Rung.READY, Rung.GPUS_UP} <= named


async def test_a_provider_that_refuses_is_told_by_class_from_status_and_events() -> None:
    failing = ESTATE.replace("gpus: 20s}", "gpus: 20s}, launch-fails: no capacity QUOTA_EXCEEDED")
    play = await begun(failing.replace("nodes: 1", "nodes: 0").replace("min: 1", "min: 0"))
    began = play.cluster.clock.now() - play.at
    await play.to(120)
    store = await store_now(play, began + 120)
    found = failures_of(_only(store), store, began + 120)
    assert {one.kind for one in found} == {FailureClass.QUOTA}
    sources = " ".join(one.source for one in found)
    assert "event ScaleUpFailed" in sources
    assert "status of group MachineDeployment/pools/a100" in sources
    assert all(one.remedy and one.since_seconds is not None for one in found)
