"""What is kept of an unexpected error: where it was, and no value of anything."""

from pathlib import Path

import pytest

from cockpit import __version__
from cockpit.clock import ManualClock
from cockpit.local_state.crashes import LARGEST_CHARACTERS, MOST_REPORTS, Crashes
from tests.reliability.figures import Tell


class OddError(Exception):
    """Nobody expects this."""


def fail(secret: str) -> None:
    try:
        raise KeyError(secret)
    except KeyError as error:
        raise OddError(f"token={secret}") from error


def raised(depth: int = 0) -> BaseException:
    try:
        if depth:
            raise ExceptionGroup(f"hunter{depth}", [OddError("hunter2")] * 50)
        fail("hunter2hunter2")
    except Exception as error:
        return error
    raise AssertionError


def deep(left: int) -> None:
    if left:
        deep(left - 1)
    raise OddError("hunter2")


def reports(folder: Path) -> list[Path]:
    return sorted((folder / "crashes").iterdir())


@pytest.mark.row(61, "secrets in a crash report", most=0)
def test_a_report_says_where_and_not_what(tmp_path: Path, figure: Tell) -> None:
    sentence = Crashes(tmp_path, ManualClock(0.0)).note(raised(), "telemetry")
    (path,) = reports(tmp_path)
    assert sentence == f"internal error in telemetry (OddError): report at {path}"
    assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o777 == 0o700
    text = path.read_text()
    assert text.startswith(f"gpu-cockpit {__version__}, Python ")
    assert "\n1970-01-01T00:00:00+00:00 in telemetry\n" in text
    for words in (
        "test_crashes.OddError\n",
        "\ncaused by\n",
        "\nKeyError\n",
        "unit/local_state/test_crashes.py:",
        " in fail\n",
    ):
        assert words in text
    figure(
        "secrets in a crash report",
        sum(text.count(secret) for secret in ("hunter2", "token", "raise ", str(Path.cwd()))),
    )


def test_a_group_names_what_it_holds(tmp_path: Path) -> None:
    Crashes(tmp_path, ManualClock(0.0)).note(raised(1), "feed")
    text = reports(tmp_path)[0].read_text()
    assert "ExceptionGroup" in text and text.count("OddError") == 6
    assert "hunter" not in text


def test_the_same_error_at_the_same_place_is_kept_once(tmp_path: Path) -> None:
    crashes = Crashes(tmp_path, ManualClock(0.0))
    assert crashes.note(raised(), "telemetry") == crashes.note(raised(), "telemetry")
    assert len(reports(tmp_path)) == 1
    crashes.note(raised(), "places")
    assert len(reports(tmp_path)) == 2


def test_reports_are_few_and_small(tmp_path: Path) -> None:
    clock = ManualClock(0.0)
    for _ in range(3 * MOST_REPORTS):
        clock.advance(60.0)
        with pytest.raises(OddError) as caught:
            deep(500)
        Crashes(tmp_path, clock).note(caught.value, "telemetry")
    kept = reports(tmp_path)
    assert len(kept) == MOST_REPORTS
    assert kept[-1].name.startswith("19700101T010000-telemetry"), "the newest stay"
    assert all(path.stat().st_size <= LARGEST_CHARACTERS for path in kept)


def test_without_a_folder_the_sentence_says_so(tmp_path: Path) -> None:
    wanted = "internal error in telemetry (OddError): the report could not be written"
    assert Crashes(None, ManualClock(0.0)).note(raised(), "telemetry") == wanted
    (tmp_path / "file").write_text("")
    assert Crashes(tmp_path / "file", ManualClock(0.0)).note(raised(), "telemetry") == wanted
