"""Each screen as a scripted scene: keys pressed on the scripted estate, then a picture."""

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from textual.widgets import Input

from cockpit.app import CockpitApp
from cockpit.attach import Link
from cockpit.clock import ManualClock
from cockpit.model.batch import Phase
from cockpit.model.remembered import LoadSample
from cockpit.screens.detail_side import REST_SECONDS
from cockpit.telemetry.history import POINTS
from tests.tui import looking
from tests.tui.alerted_estate import AlertedEstate
from tests.tui.ask_app import AskApp, AskEstate
from tests.tui.audited_app import AuditedApp
from tests.tui.bare import Bare
from tests.tui.clusters_app import ClustersApp
from tests.tui.crowd_estate import CrowdEstate
from tests.tui.deck import ScriptedApp, settle
from tests.tui.estate import Estate
from tests.tui.fleet_estate import FleetApp, FleetEstate
from tests.tui.gang_estate import GangEstate
from tests.tui.idle_app import IdleApp, IdleEstate, JudgedJobApp
from tests.tui.objects_app import CLAIMS, AwayApp, ObjectsApp
from tests.tui.offering import OfferingApp
from tests.tui.pools_estate import FailingEstate, PoolsApp, PoolsEstate
from tests.tui.shared_estate import SharedEstate
from tests.tui.start_estates import OneNamespace, Plain, Unmeasured
from tests.tui.training_estate import StalledApp, TrainingApp
from tests.tui.why_app import GrowingApp, QueuedApp, WhyApp, WhyEstate

PATIENCE_SECONDS = 30.0
SMALL, MIDDLE, WIDE = (80, 24), (120, 40), (200, 60)


@dataclass(frozen=True)
class Scene:
    """One picture: its file name, the keys that lead to it, the size in cells, the cluster behind it."""

    name: str
    keys: tuple[str, ...]
    size: tuple[int, int] = (140, 40)
    write: bool = False
    estate: Callable[[], Estate | None] = Estate
    link: Link = Link.ATTACHED
    sentence: str = ""
    until: str = ""
    """A text to wait for: what comes by a timer is not there at once."""
    app: Callable[..., Any] = ScriptedApp
    rounds: int = 0
    """Rounds of telemetry since the cockpit was opened."""
    hour: bool = False
    """A Prometheus remembers the last hour of the page."""
    theme: str = ""
    """The theme that was chosen; else the one of a first start."""
    then: tuple[str, ...] = ()
    """Keys once `until` is there."""
    shows: str = ""
    """The class of the page that the picture is of: waited for. `tests/docs` asks for a picture of each."""


def denied() -> Estate:
    """A cluster where one may look at nothing."""
    return Bare(Phase.DENIED, "You cannot list {kind}: ask for that right, or choose a namespace.")


def listing() -> Estate:
    """A cluster that is being read for the first time."""
    return Bare(Phase.LISTING, objects=18_500)


def empty() -> Estate:
    """A cluster with nothing in it."""
    return Bare(Phase.LIVE)


def nothing() -> None:
    """No attachment at all."""


def several(_estate: Estate | None, *, write: bool) -> ClustersApp:
    """Three clusters, of which one does not answer."""
    return ClustersApp(write=("east",) if write else ())


UNREACHABLE = "The API server at https://10.20.0.7:6443 does not answer within 10 s; check the network."
A100 = ("5", "slash", *"a100", "enter")
GROW = (*A100, "S", "ctrl+u", "1", "6", "ctrl+s")
ASK = ("5", "slash", *"spot", "enter", "S", "ctrl+u", "3", "ctrl+s")
JOB = ("2", "down", "down", "down", "down", "down", "enter")
CROWD = ("2", "slash", *"llm-512", "enter", "enter")
WHY_JOB = ("2", "slash", *"sweep-13", "enter", "w")
WHY_GANG = ("2", "slash", *"llm-left", "enter", "w")
WHY_POD = ("7", "slash", *"sweep-13-0", "enter", "w")
FLEET = ("8", "down")
IDLE_JOB = ("2", "slash", *"asr-large", "enter", "R")
IDLE_JOBS = (*A100, "R", *"job", "enter")
DRAIN = ("3", "slash", *"h100-00", "enter", "D", *"now", "enter")
GROWS = ("5", "slash", *"b200", "enter", "enter")
FORM = ("2", "N", *"llama-sft", "tab", *"hub/train:1.4", "pagedown", "pagedown", "4", "tab", "8")
WORKER = ("7", "slash", *"sft-worker-0", "enter")
SFT = ("2", "slash", *"llm-7b", "enter")
FILE = ("2", "N", "f2", *"file", "enter")

NO_KUBECONFIG = (
    "There is no kubeconfig at /home/ada/.kube/config; set KUBECONFIG, give --kubeconfig FILE, "
    "or run cockpit demo to look around."
)
UNDECIDED = (
    "The kubeconfig /home/ada/.kube/config has no current-context; choose with --context "
    "(ctx-000, ctx-001, ctx-002, ctx-003, ctx-004, ctx-005, ctx-006, ctx-007 and 292 more)."
)
FIRST_STARTS = (
    Scene("start-no-kubeconfig", ("1",), SMALL, estate=nothing, link=Link.FAILED, sentence=NO_KUBECONFIG),
    Scene("start-300-contexts", ("1",), SMALL, estate=nothing, link=Link.FAILED, sentence=UNDECIDED),
    Scene("start-dead-server", ("1",), SMALL, estate=nothing, link=Link.WAITING, sentence=UNREACHABLE),
    Scene("start-no-rights", ("1",), SMALL, estate=denied),
    Scene("start-one-namespace", ("2",), SMALL, estate=OneNamespace),
    Scene("start-no-gpus", ("1",), SMALL, estate=Plain),
    Scene("start-no-kinds", ("4",), SMALL, estate=Plain),
    Scene("start-no-prometheus", ("1",), SMALL, estate=Unmeasured),
)
"""What a dumb terminal is given is no screen; errors that go to a file change none."""

MOST_SCENES = (
    Scene("now", ("1",), hour=True, shows="NowScreen"),
    Scene("now-80x24", ("1",), SMALL),
    Scene("now-200x60", ("1",), WIDE, hour=True),
    Scene("now-120x40", ("1",), (120, 40), hour=True),
    Scene("acknowledge-80x24", ("1", "a", *"vendor comes at 14:00"), SMALL, shows="NoteDialog"),
    Scene("heat-memory", ("1", "m")),
    Scene("heat-temperature", ("1", *"mm")),
    Scene("heat-power", ("1", *"mmm")),
    Scene("heat-health", ("1", *"mmmm")),
    Scene("heat-owner", ("1", *"mmmmm")),
    Scene("heat-priority", ("1", *"mmmmmm")),
    Scene("heat-shared", ("1",), estate=SharedEstate),
    Scene("now-alerts", ("1", "down"), estate=AlertedEstate),
    Scene("now-denied", ("1",), estate=denied),
    Scene("now-unreachable", ("1",), estate=nothing, link=Link.WAITING, sentence=UNREACHABLE),
    Scene("jobs", ("2",), shows="JobsScreen"),
    Scene("jobs-80x24", ("2",), SMALL),
    Scene("jobs-200x60", ("2",), WIDE),
    Scene("jobs-listing", ("2",), SMALL, estate=listing),
    Scene("jobs-empty", ("2",), SMALL, estate=empty),
    Scene("job", JOB, until="first step", shows="JobScreen"),
    Scene("job-80x24", JOB, SMALL, until="epoch 31/90"),
    Scene("job-devices", (*JOB, "x"), until="epoch 31/90"),
    Scene("job-devices-80x24", (*JOB, "x"), SMALL, until="epoch 31/90"),
    Scene("job-ranks", CROWD, WIDE, estate=CrowdEstate, until="rank 317"),
    Scene("job-ranks-80x24", (*CROWD, "down", "right"), SMALL, estate=CrowdEstate, until="rank 317"),
    Scene("job-pending", ("2", "enter")),
    Scene("training-80x24", JOB, SMALL, until="slower", app=TrainingApp),
    Scene("training-160x45", JOB, (160, 45), until="slower", app=TrainingApp),
    Scene("training-stalled", JOB, until="missing: the others", app=StalledApp),
    Scene("logs", (*JOB, "l"), until="OSError", shows="LogsScreen"),
    Scene("logs-80x24", (*JOB, "l"), SMALL, until="step 1590"),
    Scene("logs-filter", (*JOB, "l", "i", "slash", *"rank:1-2 !sshd"), until="14:12"),
    Scene("logs-previous", (*JOB, "l", "b"), SMALL, until="OutOfMemory"),
    Scene("nodes", ("3",), shows="NodesScreen"),
    Scene("nodes-80x24", ("3",), SMALL),
    Scene("node", ("3", "enter"), shows="NodeScreen"),
    Scene("node-80x24", ("3", "enter"), SMALL),
    Scene("node-200x60", ("3", "enter", "down", "down"), WIDE),
    Scene("node-mig", ("3", "slash", *"cut", "enter", "enter"), estate=SharedEstate),
    Scene("node-shared", ("3", "slash", *"shared", "enter", "enter"), estate=SharedEstate),
    Scene("node-kept", ("3", "slash", *"b200-00", "enter", "enter"), estate=PoolsEstate, app=PoolsApp),
    Scene("queues", ("4",), shows="QueuesScreen"),
    Scene("queue", ("4", "enter"), app=QueuedApp, until="136", shows="QueueScreen"),
    Scene("queue-80x24", ("4", "enter"), SMALL),
    Scene("pools", ("5",), rounds=8, shows="PoolsScreen"),
    Scene("pools-80x24", ("5",), SMALL, rounds=8),
    Scene("pools-200x60", ("5", "down"), WIDE, estate=PoolsEstate, app=PoolsApp, rounds=8),
    Scene("pool", ("5", "down", "enter"), rounds=1, hour=True, shows="PoolScreen"),
    Scene("pool-80x24", ("5", "down", "enter"), SMALL, rounds=1, hour=True),
    *(
        Scene(f"pool-grows-{size[0]}x{size[1]}", GROWS, size, estate=PoolsEstate, app=PoolsApp, until="HPA")
        for size in (SMALL, MIDDLE, WIDE)
    ),
    Scene("pool-fails", GROWS, MIDDLE, estate=FailingEstate, app=PoolsApp, until="HPA"),
    Scene("events", ("6",), shows="EventsScreen"),
    Scene("events-80x24", ("6",), SMALL),
    Scene("pods", ("7",), shows="PodsScreen"),
    Scene("pods-80x24", ("7",), SMALL),
    Scene("audit", ("9",), write=True, app=AuditedApp, until="h100-03", shows="AuditScreen"),
    Scene("why-job", WHY_JOB, MIDDLE, estate=WhyEstate, until="starts", app=WhyApp, shows="WhyScreen"),
    Scene("why-job-80x24", WHY_JOB, SMALL, estate=WhyEstate, until="starts", app=WhyApp),
    Scene("why-job-200x60", WHY_JOB, WIDE, estate=WhyEstate, until="starts", app=WhyApp),
    Scene("why-queued", ("2", "down", "w"), MIDDLE, app=QueuedApp, until="starts"),
    Scene("why-pod", WHY_POD, MIDDLE, estate=WhyEstate, app=WhyApp),
    Scene("why-node", ("3", "slash", *"h100-07", "enter", "w"), MIDDLE),
    Scene("why-node-80x24", ("3", "slash", *"h100-07", "enter", "w"), SMALL),
    Scene("why-card", ("3", "slash", *"h100-07", "enter", "enter", "down", "down", "down", "w"), MIDDLE),
    Scene("why-gang", WHY_GANG, MIDDLE, estate=GangEstate, app=WhyApp, until="Evidence"),
    Scene("why-gang-80x24", WHY_GANG, SMALL, estate=GangEstate, app=WhyApp, until="Expected"),
    Scene("why-queue", ("4", "w"), MIDDLE),
    Scene("why-pool", ("5", "down", "w"), MIDDLE),
    Scene(
        "fleet", FLEET, estate=FleetEstate, app=FleetApp, until="hours so far", hour=True, shows="FleetScreen"
    ),
    Scene("fleet-80x24", FLEET, SMALL, estate=FleetEstate, app=FleetApp, until="hours so far"),
    Scene("fleet-120x40", FLEET, MIDDLE, estate=FleetEstate, app=FleetApp, until="hours so far", hour=True),
    Scene("fleet-200x60", FLEET, WIDE, estate=FleetEstate, app=FleetApp, until="hours so far", hour=True),
    Scene(
        "columns-80x24",
        ("2", "vertical_line", *"owner", "enter", "vertical_line"),
        SMALL,
        shows="TogglingDialog",
    ),
    Scene("help", ("2", "question_mark"), write=True, shows="HelpDialog"),
    Scene("help-80x24", ("2", "question_mark"), SMALL, write=True),
    Scene("palette", ("2", "colon"), shows="ChoiceDialog"),
    Scene("namespaces", ("2", "ctrl+n"), shows="MarkingDialog"),
    Scene("filter", ("2", "slash", *"state:queued")),
    Scene("filter-mistake", ("2", "slash", *"gpus>many"), SMALL),
    Scene(
        "submit",
        FORM,
        write=True,
        until="server: the cluster would accept it",
        app=OfferingApp,
        shows="SubmitScreen",
    ),
    Scene("submit-80x24", FORM, SMALL, write=True, until="4 x 8 GPUs = 32", app=OfferingApp),
    Scene("queues-engines", ("4",), until="not installed", app=OfferingApp),
    Scene("unlock", ("2", "colon", *"write", "enter")),
    Scene("kill", ("2", "end", "K"), write=True, shows="ConfirmDialog"),
    Scene("kill-many", ("2", "ctrl+a", "K"), write=True, until="The same from a shell"),
    Scene("suspend", ("2", "end", "P"), write=True, until="The same from a shell"),
    Scene("queue-stop", ("4", "P"), write=True),
    Scene("queue-drain", ("4", "P", "down", "enter"), write=True, until="The same from a shell"),
    Scene("queue-drain-80x24", ("4", "P", "down", "enter"), SMALL, write=True, until="The same from a shell"),
    Scene("cordon", ("3", "down", "X"), write=True, until="The same from a shell"),
    Scene("cordon-many-80x24", ("3", "ctrl+a", "X"), SMALL, write=True, until="Cordon "),
    Scene("drain", DRAIN, (160, 45), write=True, until="the cluster would accept it"),
    Scene("drain-80x24", DRAIN, SMALL, write=True, until="the cluster would accept it"),
    Scene("drain-choice", DRAIN[:-4], MIDDLE, write=True, until="drain after its jobs"),
    Scene("scale", (*A100, "S", "ctrl+u", "1", "6"), write=True, shows="ScaleScreen"),
    Scene("scale-plan", GROW, MIDDLE, estate=WhyEstate, app=GrowingApp, write=True, until="accept it"),
    Scene("ask-plan", ASK, (160, 45), estate=AskEstate, app=AskApp, write=True, until="accept it"),
    Scene("scale-plan-80x24", GROW, SMALL, estate=WhyEstate, app=GrowingApp, write=True, until="accept it"),
    Scene("reclaim", (*A100, "R"), (160, 45), estate=IdleEstate, app=IdleApp, write=True, until="accept it"),
    Scene(
        "reclaim-80x24", (*A100, "R"), SMALL, estate=IdleEstate, app=IdleApp, write=True, until="accept it"
    ),
    Scene("reclaim-job", IDLE_JOB, (160, 45), app=JudgedJobApp, write=True, until="accept it"),
    Scene("reclaim-job-80x24", IDLE_JOB, SMALL, app=JudgedJobApp, write=True, until="accept it"),
    Scene("reclaim-jobs", IDLE_JOBS, WIDE, app=JudgedJobApp, write=True, until="accept it"),
    Scene("reclaim-jobs-80x24", IDLE_JOBS, SMALL, app=JudgedJobApp, write=True, until="accept it"),
    Scene("ask", ASK[:-1], SMALL, estate=AskEstate, app=AskApp, write=True, shows="AskScreen"),
    Scene("yaml", (*WORKER, "y"), SMALL, app=ObjectsApp, shows="YamlScreen", until="nodeName"),
    Scene("describe", (*WORKER, "d"), SMALL, app=ObjectsApp, shows="DescribeScreen", until="Conditions"),
    Scene("copy", (*WORKER, "c", *"show", "enter"), SMALL, app=ObjectsApp, shows="CopyScreen"),
    Scene("owners", (*WORKER, "o"), SMALL, app=ObjectsApp, shows="OwnersScreen", until="◂"),
    Scene("port", (*WORKER, "F"), (100, 24), write=True, app=ObjectsApp, shows="PortDialog", until="2222"),
    Scene(
        "kind",
        ("2", "colon", *CLAIMS, "enter"),
        SMALL,
        app=ObjectsApp,
        shows="KindScreen",
        until="checkpoints",
    ),
    Scene("now-away", ("1",), app=AwayApp, until="13 nodes"),
    Scene("clusters", ("2",), app=several),
    Scene("since-left", ("1", "home", "enter"), SMALL, app=AwayApp, shows="SinceLeftScreen"),
    Scene("alike", ("1", "home", "down", "enter"), MIDDLE, app=AwayApp, shows="AlikeScreen"),
    Scene("action", ("9", "enter"), SMALL, write=True, app=AuditedApp, shows="ActionScreen"),
    Scene("clone", (*SFT, "C"), write=True, app=ObjectsApp, shows="CloneScreen", until="accept it"),
    Scene("resize", (*SFT, "Z", "ctrl+u", "4"), SMALL, write=True, app=ObjectsApp, shows="ResizeScreen"),
    Scene(
        "smoke-test",
        ("3", "slash", *"h100-17", "enter", "U"),
        (160, 45),
        write=True,
        app=ObjectsApp,
        shows="SmokeScreen",
        until="accept it",
    ),
    Scene("submit-file", FILE, SMALL, write=True, app=OfferingApp, shows="SubmitFileScreen"),
    Scene(
        "results",
        ("2", "space", "down", "space", "K"),
        SMALL,
        write=True,
        app=ObjectsApp,
        until="accept it",
        then=("y",),
        shows="ResultsScreen",
    ),
    Scene("limit", (*A100, "M", "ctrl+u", "2", "0"), write=True, shows="LimitScreen"),
)

LIGHT = tuple(
    replace(scene, name=f"light-{scene.name}", size=(160, 45), theme="light")
    for scene in MOST_SCENES
    if scene.name
    in {
        *("now", "jobs", "job", "nodes", "node", "queues", "queue", "pools", "pool", "events", "pods"),
        *("fleet", "audit", "why-job", "logs", "submit", "help"),
    }
)
"""Every place and page in the light theme."""
SCENES = (*MOST_SCENES, *FIRST_STARTS, Scene("help-200x60", ("2", "question_mark"), WIDE, write=True), *LIGHT)


def last_hour() -> dict[str, tuple[float | None, ...]]:
    """What a Prometheus would remember of a pool that was slow to fill."""
    line = (0.9 * min(1.0, at / 40) + 0.06 * math.sin(at / 3) for at in range(POINTS))
    return {"pool/h100/duty": tuple(max(0.0, one) for one in line)}


def last_loads(now_seconds: float) -> list[LoadSample]:
    """What this host saw of an hour in which a sweep was submitted and a pool grew for it."""
    return [
        LoadSample(
            now_seconds - 60.0 * ago,
            200 + 10 * math.floor(4 * math.sin(ago / 9)) + (124 if ago < 41 else 0),
            204 - (24 if ago > 30 else 0),
            62 + (24 if ago > 30 else 0) - (8 if 12 < ago < 20 else 0),
            1 + (ago < 41) + (ago < 12),
        )
        for ago in range(60, 0, -1)
    ]


async def draw(scene: Scene) -> str:
    """The scene as SVG text; the same text every time."""
    app = scene.app(scene.estate(), write=scene.write)
    app.attachment.link, app.attachment.sentence = scene.link, scene.sentence
    async with app.run_test(size=scene.size) as pilot:
        await lead(app, pilot, scene)
        return picture_of(app, f"gpu-cockpit · {scene.name}")


async def lead(app: Any, pilot: Any, scene: Scene) -> None:
    """Bring the app to what the scene shows."""
    if scene.theme:
        app.theme = scene.theme
    await settle(pilot)
    for number in range(scene.rounds):
        app.attachment.trends.note(app.attachment.store, 5.0 * number)
    if scene.hour:
        app.attachment.trends.remember(last_hour())
        for sample in last_loads(app.clock.cluster_now()):
            app.now_watch.keep_load(sample)
    for key in scene.keys:  # a dialog has to be there before the next key chooses in it
        await pilot.press(key)
        await settle(pilot)
    side = getattr(app.screen, "side", None)
    if side is not None and side.is_shown and isinstance(app.clock, ManualClock):
        # the cursor rests where the keys have led
        app.clock.advance(REST_SECONDS)
        side.show()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while scene.until not in looking.text(app):
            await pilot.pause(0.05)
        await pilot.press(*scene.then)
        while scene.shows not in ("", type(app.screen).__name__):
            await pilot.pause(0.05)
    for field in app.screen.query(Input):
        field.cursor_blink = False  # a picture shows one moment: always the same one
    await settle(pilot)


def picture_of(app: CockpitApp, title: str) -> str:
    """What the app shows, as SVG text."""
    # some renderers drop leading blanks without this, and columns would seem to be misaligned
    return app.export_screenshot(title=title).replace("<text ", '<text xml:space="preserve" ')


def draw_all(scenes: tuple[Scene, ...] = SCENES) -> dict[str, str]:
    """Every scene by file name."""
    return {f"{scene.name}.svg": asyncio.run(draw(scene)) for scene in scenes}
