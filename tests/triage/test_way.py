"""How far a reader has to go from the question to the place where its sentence is made."""

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType, SimpleNamespace

import pytest

from cockpit.api_server import ApiServer
from cockpit.cli import main
from cockpit.commands import why
from cockpit.model.finding import Finding
from cockpit.triage.context import ClusterView
from cockpit.triage.engine import explain
from tests.triage.case import CASES, read_case
from tests.triage.world import view_of

MOST_FILES = 12
"""In the engine and below."""
MOST_OF_THE_COMMAND = 20
"""From the first file that a command enters."""
ASKED = sorted(CASES.glob("*/case.json"))[::16]
"""Cases that the command is asked about, too."""


def calls(frame: FrameType | None) -> Iterator[str]:
    """Files of the product from the innermost call out, each as often as it is entered."""
    last = ""
    while frame is not None:
        name = frame.f_code.co_filename.rpartition("/cockpit/")[2]
        if "/cockpit/" in frame.f_code.co_filename and name != last:
            last = name
            yield name
        frame = frame.f_back


@pytest.mark.parametrize("place", sorted(CASES.glob("*/case.json")), ids=lambda place: place.parent.name)
def test_the_way_to_a_sentence_enters_few_files_and_none_twice(place: Path) -> None:
    case = read_case(place.parent)
    view = view_of(case)
    way = way_of(lambda: explain(case.file.subject, view), explain(case.file.subject, view).sentence)
    assert way
    assert len(way) <= MOST_FILES
    assert len(way) == len(set(way)), way


def way_of(work: Callable[[], object], sentence: str) -> list[str]:
    """The files that were entered when that sentence was made."""
    way: list[str] = []

    def look(frame: FrameType, event: str, made: object) -> None:
        if event == "return" and not way and isinstance(made, Finding) and made.sentence == sentence:
            way.extend(calls(frame))

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(before)
    return way


class Live:
    """An attachment to a cluster that holds the objects of a case and is listed whole."""

    def __init__(self, view: ClusterView) -> None:
        self.attachment = SimpleNamespace(store=view.store, jobs=view.jobs, namespaces=None, served=None)

    async def settle(self, *_: object, **__: object) -> tuple[str, ...]:
        return ()

    async def judge_idle_jobs(self) -> None:
        return None


@pytest.mark.parametrize("place", ASKED, ids=lambda place: place.parent.name)
def test_the_way_from_the_command_enters_few_files_and_none_twice(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    case = read_case(place.parent)
    view, subject = view_of(case), case.file.subject

    async def known(*_: object, **__: object) -> ClusterView:
        return view

    async def nothing(*_: object) -> None:
        return None

    @asynccontextmanager
    async def attached(*_: object) -> AsyncIterator[Live]:
        yield Live(view)

    for name, made in {"attached": attached, "_view": known, "_discover": nothing}.items():
        monkeypatch.setattr(why, name, made)
    monkeypatch.setattr(why, "read_left_over", nothing)
    monkeypatch.setattr(why, "subject_named", lambda *_: subject)
    monkeypatch.setattr(ApiServer, "ask_verdict", known)
    told = explain(subject, view).sentence
    way = way_of(lambda: main(["why", f"{subject.kind}/{subject.name}", "--kubeconfig", "/dev/null"]), told)
    assert told.split(":")[0] in capsys.readouterr().out
    assert way[-1] == "cli.py"
    assert len(way) <= MOST_OF_THE_COMMAND
    assert len(way) == len(set(way)), way
