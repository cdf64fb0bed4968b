"""The scripts themselves: what they play on paper, what a seed draws of those for the bed."""

import json
from pathlib import Path

import pytest

from cockpit.catalogue import Cause
from tests.bed import builder
from tests.bed.binaries import BINARIES, KUBERNETES_VERSION
from tests.triage.__main__ import drawn
from tests.triage.case import CASES, Case, read_case, write_case
from tests.triage.recorder import played, version_of
from tests.triage.scripts import ALL
from tests.triage.stage import SCRIPTS, Script
from tests.triage.world import view_of

SEED = 77
FIXTURES = [one for one in SCRIPTS.values() if not one.source]
COUNT = 60


def _on_paper(one: Script, seed: int = SEED) -> Case:
    return played(one, seed, has_second=False, ground=None)


@pytest.mark.parametrize("one", FIXTURES, ids=lambda one: one.name)
def test_a_fixture_plays_the_same_for_the_same_seed_and_names_what_is_there(one: Script) -> None:
    case = _on_paper(one)
    assert case == _on_paper(one)
    subject = case.file.subject
    everything = [tree for trees in case.objects.values() for tree in trees]
    assert any(tree["metadata"]["name"] == subject.name for tree in everything)
    assert len({tree["metadata"]["uid"] for tree in everything}) == len(everything)
    assert case.file.names
    assert set(view_of(case).last_lines) <= {tree["metadata"]["uid"] for tree in case.objects["pods"]}


def test_every_row_of_the_catalogue_has_a_script() -> None:
    assert ALL
    assert {one.row for one in SCRIPTS.values()} == set(Cause)


def test_a_draw_is_real_the_same_for_a_seed_and_a_fifth_of_it_has_a_second_cause() -> None:
    plays = drawn(SEED, COUNT)
    assert plays == drawn(SEED, COUNT) != drawn(SEED + 1, COUNT)
    assert len(plays) == COUNT
    assert all(one.script.source for one in plays)
    assert sum(one.has_second for one in plays) == COUNT // 5
    assert all(one.script.can_second for one in plays if one.has_second)
    assert len({one.script.name for one in plays}) > COUNT // 2


def test_a_draw_plays_the_scripts_of_engines_in_all_generations_asked_for() -> None:
    plays = drawn(SEED, COUNT, ("newer", "older"))
    assert {one.generation for one in plays if one.script.has_generations} == {"newer", "older"}
    assert {one.generation for one in plays if not one.script.has_generations} == {"newer"}


@pytest.mark.parametrize("program", [one for one in BINARIES if one.startswith(("kueue", "mpi-operator"))])
def test_a_version_is_that_of_the_program_that_ran(program: str) -> None:
    component = "kueue" if program.startswith("kueue") else "mpi-operator"
    path = builder.folder(BINARIES[program]) / component
    word, version = version_of(component, {"kueue": str(path), "mpi": str(path)}).split()
    assert word == component and version in (BINARIES[program].module_dir / "go.mod").read_text()


def test_what_is_not_an_engine_has_the_version_of_kubernetes() -> None:
    assert version_of("kube-scheduler", {}) == f"kube-scheduler {KUBERNETES_VERSION[1:]}"


def test_a_case_is_written_once_and_read_as_it_was(tmp_path: Path) -> None:
    case = _on_paper(next(one for one in FIXTURES if one.row == "launcher-too-early"))
    folder = write_case(case, tmp_path)
    assert read_case(folder) == case
    with pytest.raises(FileExistsError):
        write_case(case, tmp_path)


def test_no_case_holds_what_nobody_reads() -> None:
    for file in CASES.glob("*/objects.json"):
        found = json.loads(file.read_bytes())
        assert not any("managedFields" in one["metadata"] for trees in found.values() for one in trees)
