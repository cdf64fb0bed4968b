"""Schedules of CronJobs: what is taken, what is refused with which words, and when they are due."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from cockpit.k8s.cron import parse_schedule


def due(text: str, since: str, zone: str = "UTC") -> str:
    at = parse_schedule(text).next_after(datetime.fromisoformat(since).timestamp(), ZoneInfo(zone))
    return "never" if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="minutes")[:16]


@pytest.mark.parametrize(
    ("text", "since", "at"),
    [
        ("0 3 * * *", "2026-11-30T02:59:59Z", "2026-11-30T03:00"),
        ("0 3 * * *", "2026-11-30T03:00:00Z", "2026-12-01T03:00"),
        (
            "*/10 0-6,22 1 * mon-fri",
            "2026-11-30T06:51:00Z",
            "2026-11-30T22:00",
        ),  # a Monday, though not the 1st
        ("30 4 1,15 * *", "2026-11-30T00:00:00Z", "2026-12-01T04:30"),
        ("0 0 31 * *", "2026-11-30T00:00:00Z", "2026-12-31T00:00"),
        ("0 0 29 2 *", "2026-11-30T00:00:00Z", "2028-02-29T00:00"),
        ("0 0 31 2 *", "2026-11-30T00:00:00Z", "never"),
        ("0 0 * Jan Sun", "2026-11-30T00:00:00Z", "2027-01-03T00:00"),
        ("5/20 1 * * *", "2026-11-30T01:06:00Z", "2026-11-30T01:25"),
        ("@weekly", "2026-11-30T00:00:00Z", "2026-12-06T00:00"),
        ("@yearly", "2026-11-30T00:00:00Z", "2027-01-01T00:00"),
        ("@every 90m", "2026-11-30T00:00:00Z", "2026-11-30T01:30"),
    ],
)
def test_when_it_is_due(text: str, since: str, at: str) -> None:
    assert due(text, since) == at


@pytest.mark.parametrize(
    ("text", "since", "zone", "at"),
    [
        # an open weekday or day leaves the choice to the other one, a step of it does not: either is enough
        ("0 0 */2 * mon", "2026-11-30T12:00:00Z", "UTC", "2026-12-01T00:00"),
        ("0 0 1 * */3", "2026-11-30T12:00:00Z", "UTC", "2026-12-01T00:00"),
        ("0 0 */1 * mon", "2026-11-30T12:00:00Z", "UTC", "2026-12-07T00:00"),
        ("0 0 13,*/5 * fri", "2026-11-30T12:00:00Z", "UTC", "2026-12-01T00:00"),
        ("0 0 1, * *", "2026-11-30T12:00:00Z", "UTC", "2026-12-01T00:00"),
        # 1:30 comes twice on the first of November
        ("30 1 * * *", "2026-11-01T05:30:00Z", "America/New_York", "2026-11-01T06:30"),
        ("*/15 1 * * *", "2026-11-01T05:50:00Z", "America/New_York", "2026-11-01T06:00"),
    ],
)
def test_it_is_due_when_the_library_of_the_api_server_says(text: str, since: str, zone: str, at: str) -> None:
    """Answers of github.com/robfig/cron v3.0.1; 9,600 drawn schedules were held against it."""
    assert due(text, since, zone) == at


def test_the_clock_is_that_of_the_zone_and_a_skipped_hour_has_no_run() -> None:
    assert due("0 3 * * *", "2026-11-30T00:00:00Z", "Europe/Berlin") == "2026-11-30T02:00"
    assert due("30 2 * * *", "2026-03-28T12:00:00Z", "Europe/Berlin") == "2026-03-30T00:30"  # 29th: 2 to 3


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("0 24 * * *", "hour: '24' is not between 0 and 23"),
        ("0 3 * * 7", "weekday: '7' is not between 0 and 6"),
        ("0 3 * *", "it has 4 of 5 fields"),
        ("0 3 * * * *", "it has 6 of 5 fields"),
        ("x 3 * * *", "minute: 'x' is not between 0 and 59"),
        ("0 3-1 * * *", "hour: '3-1' begins behind its end"),
        ("*/0 3 * * *", "minute: '*/0' has a step of 0"),
        ("0 3 * * 1-", "weekday: '1-' is no number, range or step"),
        ("@often", "it is none of @yearly"),
        ("@every day", "'day' is no duration"),
        ("TZ=UTC 0 3 * * *", "a time zone is given apart from it"),
    ],
)
def test_what_is_no_schedule_is_refused_with_its_field(text: str, why: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_schedule(text)
    assert why in str(caught.value)
