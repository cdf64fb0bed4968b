"""The table of what needs a human: open, acknowledged and resolved rows, and how sure an age is."""

import msgspec
import pytest

from cockpit.model.finding import Finding, Subject
from cockpit.model.remembered import Acknowledgement
from cockpit.triage.remedies import KILL, WHY
from cockpit.triage.troubles import Trouble
from cockpit.views.attention import at_least, attention_figure, attention_table
from cockpit.views.view_state import ViewState
from tests.unit.views.builders import NOW, line, texts

WAITS = Finding(
    subject=Subject("job", "team-a", "llm"),
    finding="job-waits",
    row="k",
    is_bad=True,
    sentence="gang 0/16",
    remedies=(WHY, KILL),
    since_seconds=NOW - 2_460,
)
IDLE = Finding(subject=Subject("job", "team-c", "nb"), finding="job-idle", row="n", sentence="duty 0%")
KNOWN = Acknowledgement(
    subject_key="k", finding="job-waits", made_seconds=NOW, note="vendor comes", who="ada", is_bad=True
)


def trouble(found: Finding, *, first: float = NOW, **more: object) -> Trouble:
    return Trouble(found=found, first_seconds=first, last_seconds=NOW, **more)  # type: ignore[arg-type]


def shown(*troubles: Trouble, is_read_only: bool = False) -> list[dict[str, str]]:
    made = attention_table(troubles, ViewState(), NOW, is_read_only=is_read_only)
    return [line(made, place) for place in range(len(troubles))]


def test_what_needs_a_human_keeps_the_rank_of_triage() -> None:
    made = attention_table([trouble(WAITS), trouble(IDLE, first=NOW - 40)], ViewState(), NOW)
    assert line(made) == {
        "mark": "▲",
        "age": "41m",
        "subject": "team-a/llm",
        "sentence": "gang 0/16",
        "remedy": "w why  K kill",
    }
    assert texts(made, "mark") == ["▲", "●"]
    assert texts(made, "age") == ["41m", "≥40s"]
    assert texts(made, "sentence")[1] == "duty 0% · seen for 40s only"
    assert shown(trouble(WAITS), is_read_only=True)[0]["remedy"] == "w why"


def test_an_age_that_an_earlier_session_knows_is_told_without_a_doubt_in_words() -> None:
    (row,) = shown(trouble(IDLE, first=NOW - 9 * 3_600))
    assert (row["age"], row["sentence"]) == ("≥9h", "duty 0%")


def test_an_acknowledged_row_tells_who_how_long_and_the_note() -> None:
    (row,) = shown(trouble(WAITS, acknowledged=KNOWN))
    assert (row["mark"], row["sentence"]) == ("○", "ada, until it changes: vendor comes · gang 0/16")
    timed = msgspec.structs.replace(KNOWN, until_seconds=NOW + 5_400, note="")
    assert shown(trouble(WAITS, acknowledged=timed))[0]["sentence"] == "ada, 90m more · gang 0/16"


def test_a_resolved_row_says_so_and_offers_nothing() -> None:
    (row,) = shown(trouble(IDLE, gone_seconds=NOW - 180, is_resolved=True))
    assert row == {
        "mark": "✓",
        "age": "3m00s",
        "subject": "team-c/nb",
        "sentence": "resolved 3 min ago: duty 0%",
        "remedy": "",
    }


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-3, "≥0s"), (9, "≥0s"), (47, "≥40s"), (60, "≥1m"), (7_199, "≥119m"), (7_200, "≥2h"), (1e9, "≥999d")],
)
def test_an_age_that_may_be_more_has_five_characters(seconds: float, text: str) -> None:
    assert at_least(seconds) == text


@pytest.mark.parametrize(
    ("is_titled", "subject", "why"),
    [(True, "Subject", "Why"), (False, "Needs a human 2", "Why · GPU-hours lost: 200")],
)
def test_titles_say_how_many_and_what_they_have_cost(is_titled: bool, subject: str, why: str) -> None:
    queue = msgspec.structs.replace(WAITS, row="q", gpus=100, others=19, since_seconds=NOW - 7_200)
    resolved = trouble(queue, is_resolved=True, gone_seconds=NOW - 60)
    rows = [trouble(queue), trouble(IDLE, first=NOW - 40), resolved]
    made = attention_table(rows, ViewState(), NOW, is_titled=is_titled)
    titles = {one.id: one.title for one in made.columns}
    assert (titles["subject"], titles["sentence"]) == (subject, why)
    assert attention_figure(rows, NOW) == "2 causes · 21 objects · 200 GPU-hours lost"
    assert attention_figure(rows[2:], NOW) == ""
    quiet = attention_table(rows[2:], ViewState(), NOW, is_titled=is_titled)
    assert [one.title for one in quiet.columns if one.id == "sentence"] == ["Why"]
