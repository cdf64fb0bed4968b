"""The page of a pool: the ladder with its stamps, machines, curves, who waits, what may be lost."""

import pytest
from cockpit_widgets.pair_layout import pair_lines
from cockpit_widgets.text import width_of
from cockpit_widgets.types import Cell
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from cockpit.model.lease import NOT_READ, Lease, LeaseRead
from cockpit.model.pod import Pod
from cockpit.model.pool import MachineKind, Pool, SizeAsked
from cockpit.model.price import MachinePrice, Prices
from cockpit.model.remembered import Growth, PoolSample, Reclaim
from cockpit.model.scaler import Scaler, ScalerMetric
from cockpit.pools.chain import ScalerChain, chains
from cockpit.pools.demand import PoolDemand
from cockpit.pools.ladder import RUNGS, Hang, Ladder, MachineLadder, Rung, Stamp
from cockpit.pools.owner import FailureClass, OwnerWords, PoolFailure
from cockpit.pools.usual import usual, usual_between
from cockpit.views.ladder import ladder_lines, machine_lines
from cockpit.views.pool_curves import curve_lines
from cockpit.views.pool_page import PoolPage, SpotNotice, facts, given_back, head, page_lines

ASKED = 1_790_000_000.0
NOW = ASKED + 460.0
PRICES = Prices(machines=(("p5", MachinePrice(hourly=32.0, spot_hourly=12.0)),))
POOL = Pool(
    name="h100",
    owner_kind="NodePool",
    owner_key="h100",
    machine="p5",
    gpu_model="NVIDIA-H100-80GB-HBM3",
    kinds=(MachineKind(machine="p5", gpu_model="NVIDIA-H100-80GB-HBM3", nodes=40),),
    nodes_now=40,
    nodes_ready=40,
    nodes_joining=2,
    target=42,
    maximum=42,
    gpus_total=320,
    gpus_allocated=320,
)


def stamps(**at: float) -> tuple[Stamp, ...]:
    """Steps that are reached, dated from *asked* on; the others are still to come."""
    return tuple(
        Stamp(step, str(step) in at, ASKED + at[str(step)] if str(step) in at else None) for step in RUNGS
    )


CLIMBED: dict[str, float] = {
    "asked": 0,
    "accepted": 1,
    "launching": 3,
    "launched": 130,
    "joined": 185,
    "ready": 220,
}


def machine(name: str, at: dict[str, float], hang: Hang | None = None, failure: str = "") -> MachineLadder:
    return MachineLadder(name=name, stamps=stamps(**at), hang=hang, failure=failure)


AWAITED = Hang(Rung.GPUS_UP, ASKED + 220, 540.0, 2_700.0)
LADDER = Ladder(
    pool_key=POOL.key,
    wanted=1,
    asked=SizeAsked(ASKED, "ann@bastion"),
    machines=(machine("gpu-h100-40", CLIMBED, AWAITED),),
    stamps=stamps(**CLIMBED),
    hang=AWAITED,
)


def text(lines: list[tuple[Cell, ...]]) -> list[str]:
    return ["".join(cell.text for cell in line).rstrip() for line in lines]


QUOTA = PoolFailure(
    kind=FailureClass.QUOTA,
    sentence="the quota of GPUs is used up",
    remedy="ask for a higher one",
    since_seconds=NOW - 60,
)


def whole_lines(page: PoolPage, width: int, height: int) -> list[str]:
    return text(page_lines(page, width, height) + pair_lines(facts(page), width))


def test_the_ladder_tells_each_stamp_and_what_it_hangs_in() -> None:
    (line,) = text(ladder_lines(LADDER, 200, NOW))
    assert line == (
        "asked 14:13:20 ── accepted +1s ── launching +3s ── launched +2m10s ── joined +3m05s ── ready +3m40s"
        " ── GPUs up … usually 9m, now 4m ── used"
    )


def test_a_late_step_is_marked_and_one_beyond_its_limit_crossed() -> None:
    def cell(now: float, ladder: Ladder = LADDER) -> Cell:
        return next(one for line in ladder_lines(ladder, 200, now) for one in line if "GPUs up" in one.text)

    assert cell(NOW).tone == "info"
    assert cell(ASKED + 220 + 900).tone == "warn"
    late = cell(ASKED + 220 + 2_701)
    assert late.tone == "bad" and "✗" in late.text
    failed = replace(LADDER, machines=(machine("m", {"asked": 0}, failure="InsufficientInstanceCapacity"),))
    assert cell(NOW, failed).tone == "bad"


NOBODYS = replace(LADDER, asked=None, stamps=(Stamp(Rung.ASKED, is_reached=True), *LADDER.stamps[1:]))
GROWING = Lease(
    uid="l", resource_version="1", holder="ann@bastion", acquired_seconds=ASKED, renewed_seconds=NOW,
    duration_seconds=600, from_nodes=40, to_nodes=42,
)  # fmt: skip


@pytest.mark.parametrize(
    ("held", "asked", "said"),
    [
        (LeaseRead(), "?", "asked for by no cockpit: its owner grows it, or a person set its size"),
        (NOT_READ, "…", "who asked for it is being read"),
        (LeaseRead(trouble="denied"), "?", "by whom is not known: denied"),
        (LeaseRead(trouble="denied", is_old=True), "…", "who asked for it is being read"),
        (LeaseRead(replace(GROWING, to_nodes=41), is_old=True), "…", "who asked for it is being read"),
        (LeaseRead(GROWING, is_old=True), "…", f"ann@bastion is growing it {GROWING.change} since 14:13:20"),
    ],
)  # fmt: skip
def test_who_asked_is_told_by_what_was_read_since(held: LeaseRead, asked: str, said: str) -> None:
    page = PoolPage(pool=POOL, now_seconds=NOW, ladder=NOBODYS, held=held)
    assert f"asked {asked} ── accepted 14:13:21 ── " in whole_lines(page, 200, 50)[1]
    assert next(one.value for one in facts(page) if one.name == "change") == said


def test_of_a_pool_that_stands_still_nothing_is_being_read() -> None:
    page = PoolPage(pool=replace(POOL, target=40), now_seconds=NOW, held=NOT_READ)
    assert not [one for one in facts(page) if one.name == "change"]


def test_steps_of_many_machines_are_counted() -> None:
    three = replace(LADDER, wanted=3, machines=LADDER.machines * 2)
    (line,) = text(ladder_lines(three, 200, NOW))
    assert "GPUs up 0/3 … usually 9m, now 4m" in line
    lines = text(machine_lines(three, 120, 6, NOW))
    assert lines[-1] == "1 more asked for: no machine and no node of it is seen yet"


@given(st.integers(20, 220), st.integers(0, 7))
def test_the_ladder_breaks_between_steps_and_loses_none(width: int, reached: int) -> None:
    some = dict(list(CLIMBED.items())[:reached])
    lines = text(ladder_lines(replace(LADDER, stamps=stamps(**some), hang=None), width, NOW))
    assert all(width_of(one) <= max(width, 24) for one in lines)
    told = " ".join(lines)
    places = [told.index(str(step)) for step in RUNGS]
    assert places == sorted(places)


def test_machines_have_dots_and_a_sentence() -> None:
    slow = Hang(Rung.GPUS_UP, NOW - 240, 720.0)
    three = replace(
        LADDER,
        wanted=3,
        machines=(
            machine("gpu-h100-40", CLIMBED, slow),
            machine("gpu-h100-41", {"asked": 0, "accepted": 1, "launching": 2}),
            machine("gpu-h100-42", {"asked": 0, "accepted": 1}, failure="no H100 left in this zone"),
        ),
    )
    assert text(machine_lines(three, 100, 6, NOW)) == [
        "gpu-h100-40  ●●●●●●○○  GPU driver is being installed; usually 12m, now 4m",
        "gpu-h100-41  ●●●○○○○○  machine requested, not there yet",
        "gpu-h100-42  ●●○○○○○○  no H100 left in this zone",
    ]
    narrow = text(machine_lines(three, 50, 6, NOW))
    assert narrow[0] == "gpu-h100-40  ●●●●●●○○  GPU d…; usually 12m, now 4m", "the numbers stand"
    up = replace(three, machines=(machine("n", dict.fromkeys(map(str, RUNGS), 0.0)), *three.machines))
    assert text(machine_lines(up, 100, 6, NOW)) == text(machine_lines(three, 100, 6, NOW)), "it has made it"
    many = replace(LADDER, wanted=40, machines=tuple(machine(f"n{at}", {"asked": 0}) for at in range(40)))
    lines = text(machine_lines(many, 80, 3, NOW))
    assert len(lines) == 3 and lines[-1] == "and 38 more machines"


def test_the_head_says_who_decides_how_large_and_how_dear() -> None:
    page = PoolPage(POOL, NOW, owner="Karpenter", gpus_each=8, prices=PRICES)
    assert head(page) == (
        "owner Karpenter NodePool h100 · p5 · 8 x H100-80GB-HBM3 · 40→42, maximum 42 · 2 joining"
        " · $32 a node and hour, $1,280 the pool"
    )
    unknown = head(page._replace(prices=Prices(machines=(("other", MachinePrice(hourly=1.0)),))))
    assert "cost unknown: prices.machines does not name p5" in unknown


def test_the_head_is_plain_english() -> None:
    through = PoolPage(
        Pool(name="a", owner_kind="MachineDeployment", owner_key="fleet/a", nodes_now=1, nodes_ready=1),
        NOW,
        owner="the cluster autoscaler",
        is_through_object=True,
    )
    assert head(through) == "owner the cluster autoscaler, through MachineDeployment fleet/a · 1 node"
    dark = Pool(name="t4", nodes_now=3, nodes_ready=3, nodes_joining=1, nodes_unadvertised=1)
    assert head(PoolPage(dark, NOW)) == "known from labels only · 3 nodes · 1 joining (without GPUs yet)"
    some = replace(dark, nodes_joining=3, nodes_unadvertised=2)
    assert "3 joining (2 of them without GPUs yet)" in head(PoolPage(some, NOW))


def waiting(name: str, gpus: int = 8, **more: object) -> Pod:
    return Pod(uid=name, name=name, namespace="team", gpus=gpus, phase="Pending", **more)  # type: ignore[arg-type]


def test_all_of_it_fits_any_terminal() -> None:
    growth = Growth(pool_key=POOL.key, asked_seconds=0.0, stages=(("GPUs up", 540.0),))
    page = PoolPage(
        POOL,
        NOW,
        owner="Karpenter",
        gpus_each=8,
        prices=PRICES,
        ladder=LADDER,
        failures=(QUOTA,),
        demand=PoolDemand((waiting("a", 16),), (waiting("b"),)),
        next_jobs=(("team-a/llm-70b", 16), ("team-c/sweep-12", 8)),
        words=(OwnerWords("NoScaleUp: maxSize reached", "event", NOW - 2_280),),
        notices=(SpotNotice("gpu-h100-03", "the cloud takes the node back soon", (("team-a/llm", 8),)),),
        growths=(growth,),
        samples=tuple(PoolSample(POOL.key, NOW - 120.0 * ago, 40, 320, 340, 300) for ago in range(90)),
    )
    for width, height in ((80, 24), (120, 40), (200, 60), (40, 12)):
        lines = whole_lines(page, width - 2, height)
        assert all(width_of(one) <= width - 2 for one in lines), [
            one for one in lines if width_of(one) > width
        ]
    whole = " ".join(" ".join(whole_lines(page, 118, 40)).split())
    for said in (
        "✗ quota, 1m00s: the quota of GPUs is used up",
        "→ ask for a higher one",
        "16 GPUs that only it can serve, 8 GPUs that other pools could serve too",
        "would start next:",
        "team-a/llm-70b (16), team-c/sweep-12 (8)",
        "NoScaleUp: maxSize reached (event, 38m ago)",
        "breaks team-a/llm (8 GPUs here)",
    ):
        assert said in whole, said


def test_what_is_not_known_is_said() -> None:
    empty = Pool(name="h100", machine="p5", nodes_now=0, target=0)
    lines = " ".join(whole_lines(PoolPage(empty, NOW, demand=None), 118, 24))
    assert "not known: not every pod is seen" in lines
    assert "expected wait unknown: this host has seen no machine of it or of its type come" in lines
    learnt = (Growth(pool_key="other", asked_seconds=0.0, machine_type="p5", stages=(("GPUs up", 540.0),)),)
    lines = " ".join(whole_lines(PoolPage(empty, NOW, growths=learnt), 118, 24))
    assert "expected wait 9m00s, from 1 growth of machines p5" in lines


def test_what_is_usual_is_the_median_of_the_pool_else_of_its_machine_type() -> None:
    def grown(pool: str, seconds: float, machine: str = "p5") -> Growth:
        stages = (("ready", seconds / 2), ("GPUs up", seconds))
        return Growth(pool_key=pool, asked_seconds=0.0, machine_type=machine, stages=stages)

    growths = (grown("a", 600), grown("a", 900), grown("a", 500), grown("b", 100))
    found = usual(growths, "a", "p5", "GPUs up")
    assert found is not None and (found.seconds, found.growths, found.is_of_pool) == (600, 3, True)
    found = usual(growths, "c", "p5", "GPUs up")
    assert found is not None and (found.seconds, found.is_of_pool) == (550, False)
    assert usual(growths, "c", "p4", "GPUs up") is None
    assert usual(growths, "c", "", "GPUs up") is None, "two pools of unknown machines are not alike"
    assert usual(growths, "a", "p5", "joined") is None
    between = usual_between(growths, "a", "p5", ("ready", "GPUs up"))
    assert between is not None and between.seconds == 300


def test_curves_stand_on_one_scale_and_gaps_are_blank() -> None:
    samples = [
        PoolSample("p", NOW - 600.0 * ago, 4, 32, 64, 16) for ago in range(1, 30) if ago not in (9, 10, 11)
    ]
    now = PoolSample("p", NOW, 4, 32, None, 16)
    (line,) = text(curve_lines(samples, now, 118, 0))
    assert "size 32 " in line and "demand ? " in line and "last 4h50m" in line
    chart = text(curve_lines(samples, now, 118, 6))
    assert len(chart) == 6 and "demand ? · allocated 16" in chart[0] and chart[1].startswith("80 ┤")
    assert curve_lines(samples[:1], now, 118, 6) == [], "nothing to see yet"


@pytest.mark.parametrize("every", [30.0, 120.0, 300.0])
def test_a_curve_has_no_gap_between_samples_as_far_apart_as_they_are_taken(every: float) -> None:
    """So it has none in its first hour, nor in a demo that runs faster."""
    samples = [PoolSample("p", NOW - every * ago, 4, 32, 64, 16) for ago in range(1, 8)]
    (line,) = text(curve_lines(samples, PoolSample("p", NOW, 4, 32, 64, 16), 118, 0))
    size = line.partition("size 32 ")[2].partition("   demand")[0]
    assert size and " " not in size.strip(), line
    apart = [PoolSample("p", NOW - 900.0 * ago, 4, 32, 64, 16) for ago in (1, 2, 3)]
    (line,) = text(curve_lines(apart, PoolSample("p", NOW, 4, 32, 64, 16), 118, 0))
    assert " " in line.partition("size 32 ")[2].partition("   demand")[0].strip(), "nobody watched between"


def test_the_chain_goes_from_the_metric_to_the_pool() -> None:
    scaler = Scaler(
        namespace="team",
        name="web",
        target_kind="Deployment",
        target_name="web",
        metrics=(ScalerMetric("cpu", "82%", "50%"),),
        current=3,
        desired=6,
        maximum=10,
    )
    own = [waiting(f"web-5d4f-{at}", 1, owner_kind="ReplicaSet", owner_name="web-5d4f") for at in range(3)]
    other = waiting("api-1", 1, owner_kind="ReplicaSet", owner_name="web-api-5d4f")
    (chain,) = chains(
        [scaler, Scaler(namespace="x", name="y", target_kind="", target_name="")], [*own, other]
    )
    assert chain == ScalerChain(scaler, 3, 3)
    page = PoolPage(POOL, NOW, demand=PoolDemand(tuple(own)), chains=(chain,))
    said = " ".join(whole_lines(page, 160, 40))
    assert "team/web cpu 82% (target 50%): 3 → 6 pods of 1 to 10 → 3 pods wait (3 GPUs) → pool h100" in said


def test_what_was_reclaimed_lately_is_counted_with_hours_and_money() -> None:
    page = PoolPage(POOL, NOW, gpus_each=8, prices=PRICES)
    assert given_back(page) is None
    old = Reclaim(POOL.key, "node gpu-9", NOW - 8 * 86_400.0, 9_000.0)
    back = (
        Reclaim(POOL.key, "node gpu-1", NOW - 10_800.0, 6.0),
        Reclaim(POOL.key, "node gpu-2", NOW - 20_000.0, 10.0),
        Reclaim(POOL.key, "job team-a/nb", NOW - 30_000.0, 4.0),
    )
    told = given_back(page._replace(reclaims=(*back, old)))
    assert told is not None
    assert told.value == "2 nodes and 1 job in 7 days, newest 3h0m ago · 20 GPU-hours had idled, about $80"
    unknown = given_back(page._replace(reclaims=(Reclaim(POOL.key, "node gpu-1", NOW - 60.0),)))
    assert unknown is not None
    assert unknown.value == "1 node in 7 days, newest 1m00s ago · how long they had idled is not known"
    some = given_back(page._replace(reclaims=(back[0], Reclaim(POOL.key, "node gpu-3", NOW - 60.0))))
    assert some is not None and "at least 6 GPU-hours had idled" in some.value


def test_the_head_of_a_pool_of_two_kinds_of_machine_shows_both() -> None:
    kinds = (
        MachineKind(machine="g5", gpu_model="A10G", nodes=2),
        MachineKind(machine="p5", gpu_model="NVIDIA-H100-80GB-HBM3", nodes=1, spot=1),
    )
    mixed = Pool(name="mixed", kinds=kinds, nodes_now=3, nodes_ready=3, nodes_spot=1)
    prices = Prices(machines=(*PRICES.machines, ("g5", MachinePrice(hourly=4.0))))
    assert head(PoolPage(mixed, NOW, gpus_each=8, prices=prices)) == (
        "known from labels only · 2 x g5, 1 x p5 · A10G, H100-80GB-HBM3 · 3 nodes · 1 of 3 spot"
        " · $20 an hour the pool"
    )
    assert "prices.machines does not name g5" in head(PoolPage(mixed, NOW, prices=PRICES))
