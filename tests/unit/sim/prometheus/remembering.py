"""A cluster whose pages are noted while it lives, to be held beside what its Prometheus says later."""

from collections.abc import Mapping
from random import Random

from cockpit.sim.actors.gpus.physics import Faults
from cockpit.sim.cluster import EmbeddedCluster
from cockpit.sim.scenarios.loading import find, load
from cockpit.telemetry.sample import parse_exposition

Series = tuple[str, frozenset[tuple[str, str]]]
SCRAPE_SECONDS = 15.0
EVERY = '{__name__=~"DCGM_.*|cockpit_gpu_.*"}'


async def begun(scenario: str = "default", seed: int = 1) -> EmbeddedCluster:
    """On a moment of a scrape."""
    cluster = EmbeddedCluster.stepped(load(find(scenario)), seed)
    await cluster.engine.start()
    await cluster.engine.advance(30.0 - cluster.clock.now() % SCRAPE_SECONDS)
    return cluster


def told(cluster: EmbeddedCluster) -> dict[Series, float]:
    """What the exporters' pages say now, of nodes that have an exporter that answers."""
    found: dict[Series, float] = {}
    now = cluster.clock.now()
    for node in cluster.fleet.scraped_nodes(now):
        if node not in cluster.exporters.silent:
            found |= page_of(cluster.fleet.metrics(node, now), now)
    return found


def page_of(text: str, now: float) -> dict[Series, float]:
    names = {line.split("{")[0] for line in text.splitlines() if not line.startswith("#")}
    samples = parse_exposition(text, now, names, 100_000)
    return {(one.name, labels_of(one.labels)): one.value for one in samples}


def labels_of(labels: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    """As a Prometheus keeps them: none that is empty; without what the scrape adds."""
    left = ("__name__", "job", "instance")
    return frozenset((name, value) for name, value in labels.items() if value and name not in left)


async def answered(cluster: EmbeddedCluster, at_seconds: float) -> dict[Series, float]:
    """What the Prometheus says of a moment."""
    data = await cluster.prometheus.query({"query": EVERY, "time": f"{at_seconds:.3f}"})
    rows = data["result"]
    found = {(row["metric"]["__name__"], labels_of(row["metric"])): float(row["value"][1]) for row in rows}
    assert len(found) == len(rows), "a series is there twice"
    return found


async def lived(cluster: EmbeddedCluster, seed: int, moments: int) -> dict[float, dict[Series, float]]:
    """What was told at drawn moments, while cards broke and exporters fell silent."""
    random = Random(seed)
    noted: dict[float, dict[Series, float]] = {}
    for _ in range(moments):
        await cluster.engine.advance(
            SCRAPE_SECONDS * random.randint(2, 7) - cluster.clock.now() % SCRAPE_SECONDS
        )
        noted[cluster.clock.now()] = told(cluster)
        await cluster.engine.advance(5.0)
        node = random.choice(cluster.fleet.nodes())
        if random.random() < 0.3:
            cluster.silence(node, is_silent=node not in cluster.exporters.silent)
        elif random.random() < 0.5:
            cluster.break_card(
                node, 0, random.choice((Faults(), Faults(heat_celsius=35), Faults(is_lost=True)))
            )
    return noted
