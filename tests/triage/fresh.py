"""Cases that nobody has seen: fixtures played with new seeds, other words, and neighbours that are well."""

import random
from collections.abc import Sequence

from tests.triage.builders import pod_spec
from tests.triage.case import Case
from tests.triage.draw import Draw
from tests.triage.fixture_stage import FixtureStage
from tests.triage.recorder import case_of
from tests.triage.scripts import ALL
from tests.triage.stage import SCRIPTS, Script

FIXTURE = "fixture"
_STEMS = ("falcon", "gemma", "phi", "yolo", "dinov2", "deepspeed", "protein", "weather", "ranker", "asr")
_TAILS = ("13b", "v3", "large", "nightly", "ablation", "grid-07", "resume", "exp42", "continued-pretraining")
_ENDS = ("k8", "north", "zone3", "2026q4", "shared", "team9", "preemptible-large", "y")


class FreshDraw(Draw):
    """Draws as the committed cases do, but names of other words, some of them long."""

    def job(self) -> str:
        """As `falcon-grid-07`."""
        return self._new(_STEMS, _TAILS)

    def word(self, *stems: str) -> str:
        """One of the stems, with something else behind it than in the committed cases."""
        return self._new(stems, _ENDS)


def fixtures() -> list[Script]:
    """Scripts that need no component, by name."""
    assert ALL  # they are registered by being imported
    return sorted((one for one in SCRIPTS.values() if not one.source), key=lambda one: one.name)


def fresh(seed: int, count: int) -> list[Case]:
    """`count` cases of that seed; each script about as often as any other."""
    rng = random.Random(f"fresh {seed}")
    plays: list[Script] = []
    while len(plays) < count:
        plays += rng.sample(fixtures(), min(len(fixtures()), count - len(plays)))
    return [_play(one, rng.randrange(1000, 1_000_000)) for one in plays]


def _play(one: Script, seed: int) -> Case:
    stage = FixtureStage(FreshDraw(one.name, seed))
    expected = one.play(stage)
    if stage.draw.chance(0.5):
        neighbours(stage)
    return case_of(one, seed, expected, stage.objects(), stage.now_seconds, FIXTURE)


def neighbours(stage: FixtureStage, names: Sequence[str] = ()) -> None:
    """A pool of its own, full of jobs of another namespace that run well."""
    own, space = stage.space, stage.draw.space()
    stage.make(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}, "status": {"phase": "Active"}}
    )
    stage.space = space
    where = stage.pool(stage.draw.number(1, 3), labels={"cost-centre": "others"})
    for at, node in enumerate(where.nodes):
        spec = pod_spec(gpus=8)
        name = names[at] if at < len(names) else stage.draw.job()
        made = stage.job(name, spec, status={"ready": 1})
        stage.job_pod(made, spec, on=node, phase="Running", status=stage.running())
    stage.space = own
