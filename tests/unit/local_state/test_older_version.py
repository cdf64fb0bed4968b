"""What version 0.1.0 left on a host is read by this one: the files of `of_0_1_0` were written by it."""

import shutil
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest

from cockpit.local_state.audit import Audit, DamagedLine, actions_of
from cockpit.local_state.config import load_settings
from cockpit.local_state.history import LocalHistory
from cockpit.local_state.kept_manifests import kept_manifest
from cockpit.local_state.shared_notes import SharedNotes
from cockpit.local_state.state import Choice, Choices
from cockpit.local_state.unfinished import left_behind
from cockpit.model.remembered import LoadSample, PastRun, PoolSample, Reclaim, SessionNotes

WRITTEN = Path(__file__).parent / "of_0_1_0"
PROD = SimpleNamespace(context="prod", server="https://10.0.0.1:6443", user="ann")
THEN = 1_790_000_000.0  # epoch seconds at which it wrote


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A state folder as the older version left it."""
    kept = Path(shutil.copytree(WRITTEN, tmp_path / "state"))
    with sqlite3.connect(kept / "history.sqlite") as file:
        file.executescript((kept / "history.sql").read_text("utf-8"))
    return kept


def test_its_choices_stay_as_they_were_when_another_is_made(folder: Path) -> None:
    jobs = Choice(sort="gpus", descending=True, filter="llm", namespace="team-a")
    choices = Choices(folder / "choices.json")
    assert (choices.note, choices.of("jobs"), choices.of("nodes")) == ("", jobs, Choice(sort="age"))
    assert choices.keep("app", Choice(theme="light"))
    assert Choices(folder / "choices.json").of("jobs") == jobs


def test_its_audit_log_goes_on_and_a_write_that_it_broke_off_is_known(folder: Path) -> None:
    audit = Audit(folder / "audit.jsonl", who="ann@bastion")
    lines = list(audit.lines())
    assert not [line for line in lines if isinstance(line, DamagedLine)]
    suspended, retried = actions_of(audit.entries())
    assert (suspended.verb, suspended.state, suspended.who) == ("suspend", "done", "ann as oncall")
    assert (suspended.undo, suspended.foretold) == ("", "frees 8 GPUs")
    left = left_behind(audit.entries(), PROD, "ann@bastion", THEN + 86_400.0, lambda process: False)
    (broken,) = left.writes
    assert broken.entry.audit_id == retried.audit_id and broken.entry.is_kept
    assert kept_manifest(broken.entry.audit_id, folder)["metadata"]["name"] == "llm"
    before = (folder / "audit.jsonl").read_bytes()
    audit.append(broken.entry)
    assert (folder / "audit.jsonl").read_bytes().startswith(before)


def test_its_history_is_recalled_and_goes_on(folder: Path) -> None:
    history = LocalHistory(folder / "history.sqlite")
    found = history.recall(THEN + 3_600.0)
    assert history.note == ""
    assert (found.nodes, found.left_seconds) == (frozenset({"n1", "n2"}), THEN)
    assert [(item.subject, item.sentence) for item in found.problems] == [("job team-a/llm", "needs 16 GPUs")]
    assert [(item.note, item.who, item.gpus) for item in found.acknowledgements] == [
        ("vendor comes", "ann", 16)
    ]
    assert found.samples == (LoadSample(THEN, 16, 8, None, 3),)
    assert found.runs == (PastRun("team-a/llm/8", 2, 8, THEN - 10_000.0, THEN - 9_000.0, 3_600.0, "u-7"),)
    assert history.trainings() == ('{"loss": 1.5}',)
    (growth,) = history.growths("karpenter/gpu")
    assert (growth.nodes, growth.machine_type, growth.seconds_to("ready")) == (2, "p5", 300.0)
    assert history.reclaims() == (Reclaim("karpenter/gpu", "node n1", THEN, 3.5),)
    assert history.pool_samples("karpenter/gpu") == (PoolSample("karpenter/gpu", THEN, 2, 16, 8, 8),)
    assert history.record(SessionNotes(at_seconds=THEN + 3_600.0)) and history.note == ""
    assert len(history.recall(THEN + 3_600.0).problems) == 1


def test_what_its_group_shares_is_read(folder: Path) -> None:
    notes = SharedNotes(folder / "shared", "https://10.0.0.1:6443")
    (known,) = notes.read()
    assert (known.key, known.note, known.gpus) == (("node/n1", "card-lost"), "RMA 17", 1)


def test_its_configuration_means_the_same(folder: Path) -> None:
    settings = load_settings(folder / "config.toml", Path("/home/ann"))
    prod = settings.of_context("prod")
    assert (prod.write, prod.shrink_at_once, prod.namespaces.only) == (True, 4, "team-a")
    assert prod.prometheus.url == "https://prometheus.example:9090"
    assert settings.keys == (("kill", "ctrl+k"),) and settings.prices.hourly("p5.48xlarge") == 98.32
