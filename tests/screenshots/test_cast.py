"""The recording of the tour that README shows: played by another terminal, every step of today is in it."""

import json
from itertools import pairwise
from pathlib import Path

import pyte

from cockpit.services.tour import load_steps
from tests.screenshots.cast import CAST, PICTURE, SIZE

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 300_000
STALE = f"docs/{CAST} is stale: run make screenshots, look at it, commit it"


def test_the_recording_shows_every_step_as_it_is_today() -> None:
    text = (ROOT / "docs" / CAST).read_text(encoding="utf-8")
    assert len(text.encode()) < MOST_BYTES
    head, *events = map(json.loads, text.splitlines())
    assert (head["version"], head["width"], head["height"]) == (2, *SIZE)
    assert all(earlier[0] <= later[0] for earlier, later in pairwise(events))
    assert events[-1][0] < 180, "three minutes"
    screen = pyte.Screen(*SIZE)
    stream = pyte.Stream(screen)
    steps, seen = list(load_steps()), ""
    for _, kind, sent in events:
        assert kind == "o"
        stream.feed(sent)
        seen = " ".join(" ".join(line.strip("│╭╰─╮╯ ") for line in screen.display).split())
        if steps and f"Tour · {steps[0].title} " in seen and steps[0].says.replace("`", "") in seen:
            steps.pop(0)
    assert not steps, f"{steps[0].title}: {STALE}"
    assert "gone: the job or its last pod was deleted" in seen


def test_readme_shows_it() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"](docs/{PICTURE})" in readme and f"docs/{CAST}" in readme
    assert "grow pool t4" in (ROOT / "docs" / PICTURE).read_text(encoding="utf-8").replace("&#160;", " ")
