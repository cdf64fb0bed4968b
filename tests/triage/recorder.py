"""Plays scripts and keeps what came of them: on a bed for what is recorded, on paper for fixtures."""

import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.bed import builder
from tests.bed.api import Api, ApiError
from tests.bed.bed import Bed
from tests.bed.binaries import BINARIES, KUBERNETES_VERSION
from tests.triage.bed_stage import BedStage, Served
from tests.triage.case import Case, CaseFile, Recorded
from tests.triage.draw import Draw
from tests.triage.fixture_stage import FixtureStage
from tests.triage.stage import Expected, Script

PARTS = frozenset({"kueue", "mpi"})
FLAGS = ("--enable-admission-plugins", "ServiceAccount")
Say = Callable[[str], None]


def say(line: str) -> None:
    """To the terminal, at once."""
    print(line, file=sys.stderr, flush=True)


class Asked(NamedTuple):
    """One play. `generation` is that of the engines, "" for the bed's own choice."""

    script: Script
    seed: int
    has_second: bool = False
    generation: str = ""

    @property
    def name(self) -> str:
        """That of the case."""
        return f"{self.script.name}-{self.seed}"


class BedGround(NamedTuple):
    """A bed that is up. `programs` are its executables by part, `kubectl` the folder of its kubectl."""

    api: Api
    served: Served
    programs: Mapping[str, str]
    kubeconfig: Path
    kubectl: str


_PARTS = {
    "kueue": "kueue",
    "mpi-operator": "mpi",
    "coscheduling": "coscheduling",
    "karpenter": "karpenter",
}
"""Components with a version of their own -> the part of the bed."""


def version_of(component: str, programs: Mapping[str, str]) -> str:
    """`kueue 0.15.0`: the pinned module of the program that runs, whichever generation of it that is."""
    part = _PARTS.get(component)
    if part is None:
        return f"{component} {KUBERNETES_VERSION.removeprefix('v')}"
    place = Path(programs[part]).parent
    binary = next(one for one in BINARIES.values() if builder.folder(one) == place)
    module = re.escape(binary.manifests[0].module)
    pinned = re.search(rf"{module} v(\S+)", (binary.module_dir / "go.mod").read_text())
    return f"{component} {pinned[1] if pinned else 'unknown'}"


@contextmanager
def beds() -> Iterator[Callable[[Asked], BedGround]]:
    """A bed for each set of parts and generation of the engines, begun when first asked for."""
    begun: dict[tuple[frozenset[str], str], tuple[Bed, BedGround]] = {}

    def bed_for(one: Asked) -> BedGround:
        parts = frozenset({one.script.source} & PARTS or PARTS) | one.script.parts
        key = parts, one.generation
        if key not in begun:
            bed = Bed(parts, apiserver_flags=FLAGS, generation=one.generation, report=say).start()
            api = bed.api()
            begun[key] = (
                bed,
                BedGround(api, Served(api), bed.layout.programs, bed.kubeconfig, str(bed.run_dir / "bin")),
            )
        return begun[key][1]

    try:
        yield bed_for
    finally:
        for bed, _ in begun.values():
            bed.stop()


def played(one: Script, seed: int, has_second: bool, ground: BedGround | None) -> Case:
    """One script with one seed. Raises TimeoutError or ApiError where a component never said its word."""
    draw = Draw(one.name, seed, has_second=has_second)
    if ground is None:
        paper = FixtureStage(draw)
        expected = one.play(paper)
        return case_of(one, seed, expected, paper.objects(), paper.now_seconds, "fixture")
    stage = BedStage(ground.api, ground.served, draw)
    try:
        expected = one.play(stage)
        source = version_of(one.source, ground.programs)
        return case_of(one, seed, expected, stage.objects(), time.time(), source)
    finally:
        stage.close()


def case_of(
    one: Script,
    seed: int,
    expected: Expected,
    objects: dict[str, list[dict[str, object]]],
    now_seconds: float,
    source: str,
) -> Case:
    """The case that a play came to, seen at `now_seconds`."""
    top = expected.top or one.row
    return Case(
        name=f"{one.name}-{seed}",
        file=CaseFile(
            causes=(top, *expected.also),
            top=top,
            also=expected.also,
            subject=expected.subject,
            names=expected.names,
            now=round(now_seconds + expected.later_seconds, 1),
            recorded=Recorded(source=source, script=one.name, seed=seed),
        ),
        objects=objects,
        logs=expected.logs,
        metrics=expected.metrics,
    )


def record(asked: Sequence[Asked], keep: Callable[[Case], None], tell: Say = say) -> list[str]:
    """Play them all; the names of those that came to nothing, with the reason."""
    failed: list[str] = []
    with beds() as bed_for:
        for one in asked:
            begun = time.monotonic()
            word = "recorded"
            try:
                ground = bed_for(one) if one.script.source else None
                keep(played(one.script, one.seed, one.has_second, ground))
            except (TimeoutError, ApiError) as error:
                failed.append(f"{one.name}: {error}")
                word = "FAILED"
            tell(f"{one.name} {word} {time.monotonic() - begun:.1f} s")
    return failed
