"""When a job runs: what is read, and the times that follow from it."""

import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarioctl.errors import InvalidRequest
from scenarioctl.model.jobs import SECOND, Overlap, Schedule
from scenarioctl.schedules import (
    HOUR,
    MINUTE,
    Times,
    caught_up,
    describe_schedule,
    first_times,
    next_times,
    note_on_times,
    read_duration,
    read_schedule,
)
from tests.messages import Says, raises, says

#: 2026-11-21 12:00 UTC, a Saturday.
NOON = int(datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp()) * SECOND


def at(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> int:
    return int(datetime(year, month, day, hour, minute, tzinfo=UTC).timestamp()) * SECOND


def utc(nanoseconds: int) -> str:
    return f"{datetime.fromtimestamp(nanoseconds // SECOND, UTC):%m-%d %H:%M}"


def next_cron_times(line: str, zone: str, start: int, count: int) -> list[str]:
    schedule = read_schedule(cron=line, timezone=zone)
    times = []
    for _ in range(count):
        start = first_times(schedule, start).planned
        times.append(utc(start))
    return times


def test_nothing_given_is_every_twelve_hours() -> None:
    schedule = read_schedule()

    assert schedule == Schedule(every=12 * HOUR, catchup=MINUTE, overlap=Overlap.SKIP)
    assert describe_schedule(schedule) == "every 12h"


def test_every_field_is_read() -> None:
    schedule = read_schedule(
        cron="*/5  9-17 * * mon-fri",
        timezone="Europe/Berlin",
        jitter=30,
        overlap="Queue",
        catchup="1h30m",
        pause_after="3",
        timeout="90s",
    )

    assert schedule == Schedule(
        every=0,
        cron="*/5 9-17 * * mon-fri",
        timezone="Europe/Berlin",
        jitter=30 * SECOND,
        overlap=Overlap.QUEUE,
        catchup=90 * MINUTE,
        pause_after=3,
        timeout=90 * SECOND,
    )
    assert describe_schedule(schedule) == "cron */5 9-17 * * mon-fri (Europe/Berlin)"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1),
        ("90s", 90),
        ("5m", 300),
        ("12h", 43_200),
        ("1d", 86_400),
        ("1h30m", 5_400),
        ("1d 2h 3m 4s", 93_784),
        ("2H", 7_200),
        ("7", 7),
        (7, 7),
        (7.0, 7),
    ],
)
def test_durations_as_people_write_them(text: object, seconds: int) -> None:
    assert read_duration(text, field="every") == seconds * SECOND


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"every": "soon"}, says("every", "soon")),
        ({"every": True}, says("every", "duration")),
        ({"every": 0.5}, says("every", "0.5")),
        ({"every": "0s"}, says("every", "0s")),
        ({"every": -1}, says("every", "-1")),
        ({"every": "367d"}, says("every", "367d")),
        ({"every": 10**400}, says("every", "400")),
        ({"every": "٣s"}, says("every", "٣s")),
        ({"every": "1s", "cron": "* * * * *"}, says("every", "1s", "* * * * *")),
        ({"timezone": "UTC"}, says("timezone", "UTC")),
        ({"cron": "* * * *"}, says("cron", "* * * *")),
        ({"cron": "61 * * * *"}, says("cron", "61 * * * *", "minute '61'", "0 to 59")),
        *(
            ({"cron": f"0 9 * * {day}"}, says("cron", "write the last Friday as 5L"))
            for day in ("friL", "FRIL", "fri#L")
        ),
        *(
            ({"cron": f"0 9 {day} * *"}, says("cron", f"day-of-month '{day}'", "LW"))
            for day in ("L-3", "15W")
        ),
        ({"cron": "0 0 30 2 *"}, says("cron", "30 February never comes")),
        ({"cron": "0 11-2 * * *"}, says("cron", "11-2 runs backwards: write 11-23,0-2")),
        ({"cron": "0 0 25-5 * *"}, says("cron", "25-5 runs backwards: write 25-31,1-5")),
        (
            {"cron": "* * * * *", "timezone": "../../etc/passwd"},
            says("timezone", "../../etc/passwd"),
        ),
        # Case 25: steps that a field of a cron line hasn't got.
        ({"cron": "*/90 * * * *"}, says("cron", "90 is longer than an hour: use `every` 90m")),
        ({"cron": "* */36 * * *"}, says("36 is longer than a day: use `every` 36h")),
        ({"cron": "*/60 * * * *"}, says("60 is as long as an hour: use `every` 60m")),
        ({"cron": "0 0 * */13 *"}, says("13 is longer than a year")),
        ({"cron": "5,10-20/61 * * * *"}, says("61", "61m")),
        ({"cron": "* * * * *", "timezone": "Mars"}, says("timezone", "Mars")),
        ({"every": "5m", "jitter": "5m"}, says("jitter", "5m")),
        ({"overlap": "both"}, says("overlap", "both")),
        ({"overlap": 1}, says("overlap", "1")),
        ({"pause_after": -1}, says("pause_after", "-1")),
        ({"pause_after": True}, says("pause_after", "failures")),
    ],
)
def test_what_cannot_be_a_schedule_is_refused(fields: dict[str, Any], sentence: Says) -> None:
    with raises(InvalidRequest, sentence):
        read_schedule(**fields)


@pytest.mark.parametrize(
    ("fields", "times"),
    [
        (
            {"cron": "*/59 * * * *"},
            "2026-11-21 12:00:00, 2026-11-21 12:59:00, 2026-11-21 13:00:00 (UTC)",
        ),
        (
            {"cron": "0 */5 * * *", "timezone": "Asia/Tokyo"},
            "2026-11-22 00:00:00, 2026-11-22 05:00:00, 2026-11-22 10:00:00 (Asia/Tokyo)",
        ),
        ({"every": "90m"}, "2026-11-21 12:00:00, 2026-11-21 13:30:00, 2026-11-21 15:00:00 (UTC)"),
    ],
)
def test_the_next_times_are_told_in_their_time_zone(fields: dict[str, Any], times: str) -> None:
    schedule = read_schedule(**fields)

    assert note_on_times(schedule, NOON) == f"The next runs are at {times}."


@pytest.mark.parametrize("line", ["0 9 * * 5L", "0 9 LW * *", "0 9 L,15 * *", "0 9 * * mon#1"])
def test_the_last_and_the_first_days_can_be_named(line: str) -> None:
    assert read_schedule(cron=line).cron == line


@given(st.text(max_size=60))
def test_no_text_makes_reading_fail_otherwise(text: str) -> None:
    for field in ("every", "cron", "jitter", "overlap", "catchup", "pause_after", "timeout"):
        try:
            read_schedule(**{field: text})
        except InvalidRequest as refused:
            assert field in str(refused)


def test_an_interval_runs_at_once_and_a_cron_line_at_its_next_time() -> None:
    assert first_times(read_schedule(every="1h"), NOON + 5) == Times(planned=NOON + 5, due=NOON + 5)
    assert first_times(read_schedule(every="1h", jitter="5m"), NOON) == Times(
        planned=NOON, due=NOON
    )
    assert first_times(read_schedule(cron="0 * * * *"), NOON) == Times(
        planned=NOON + HOUR, due=NOON + HOUR
    )


def test_the_grid_does_not_drift_with_the_length_of_runs() -> None:
    schedule = read_schedule(every="10s")

    assert next_times(schedule, NOON, NOON + 3 * SECOND) == Times(
        planned=NOON + 10 * SECOND, due=NOON + 10 * SECOND
    )


def test_a_time_that_comes_during_a_run_is_skipped() -> None:
    schedule = read_schedule(every="10s")

    times = next_times(schedule, NOON, NOON + 25 * SECOND)

    assert times == Times(planned=NOON + 30 * SECOND, due=NOON + 30 * SECOND, missed=2)


def test_or_waits_and_runs_as_soon_as_the_one_before_it_has_ended() -> None:
    schedule = read_schedule(every="10s", overlap="queue")

    times = next_times(schedule, NOON, NOON + 25 * SECOND)
    prompt = next_times(schedule, NOON, NOON + 5 * SECOND)

    assert times == Times(planned=NOON + 20 * SECOND, due=NOON + 25 * SECOND, missed=1)
    assert prompt == Times(planned=NOON + 10 * SECOND, due=NOON + 10 * SECOND)


def test_after_a_short_downtime_the_latest_run_is_made_up_for_once() -> None:
    schedule = read_schedule(every="10s")

    assert caught_up(schedule, NOON, NOON, NOON + 45 * SECOND) == (NOON + 40 * SECOND, 4)
    assert caught_up(schedule, NOON, NOON, NOON + 5 * SECOND) == (NOON, 0)


def test_a_run_that_is_later_than_the_catch_up_window_is_left_out() -> None:
    schedule = read_schedule(every="12h")

    assert caught_up(schedule, NOON, NOON, NOON + 60 * SECOND) == (NOON, 0)
    assert caught_up(schedule, NOON, NOON, NOON + 61 * SECOND) == (None, 1)
    assert caught_up(schedule, NOON, NOON, NOON + 25 * HOUR) == (None, 3)
    assert next_times(schedule, NOON, NOON + 25 * HOUR).planned == NOON + 36 * HOUR


def test_jitter_counts_as_on_time() -> None:
    schedule = read_schedule(every="12h", jitter="1h", catchup="1m")

    assert caught_up(schedule, NOON, NOON + 50 * MINUTE, NOON + 50 * MINUTE) == (NOON, 0)


def test_jitter_moves_the_run_and_not_the_grid() -> None:
    schedule = read_schedule(every="10m", jitter="2m")

    times = next_times(schedule, NOON, NOON + MINUTE, pick=lambda room: room - 1)

    assert times == Times(planned=NOON + 10 * MINUTE, due=NOON + 12 * MINUTE)


def test_jitter_never_reaches_the_next_cron_time() -> None:
    schedule = read_schedule(cron="* * * * *", jitter="1h")

    times = first_times(schedule, NOON, pick=lambda room: room - 1)

    assert times == Times(planned=NOON + MINUTE, due=NOON + 2 * MINUTE - 1)


def test_a_time_of_day_that_the_clocks_leave_out_comes_when_they_have_gone_forward() -> None:
    # 29 March 2026, Berlin: 02:00 becomes 03:00, which is 01:00 UTC.
    start = at(2026, 3, 27, 12)

    assert next_cron_times("30 2 * * *", "Europe/Berlin", start, 3) == [
        "03-28 01:30",
        "03-29 01:00",
        "03-30 00:30",
    ]


def test_a_time_of_day_that_comes_twice_runs_once() -> None:
    # 25 October 2026, Berlin: 03:00 becomes 02:00, so 02:30 is 00:30 UTC and again 01:30 UTC.
    start = at(2026, 10, 24, 12)

    assert next_cron_times("30 2 * * *", "Europe/Berlin", start, 2) == [
        "10-25 00:30",
        "10-26 01:30",
    ]
    # Also where the daemon looks between the two.
    assert next_cron_times("30 2 * * *", "Europe/Berlin", at(2026, 10, 25, 1, 10), 1) == [
        "10-26 01:30"
    ]


def test_an_interval_in_a_cron_line_goes_by_the_time_that_passes() -> None:
    start = at(2026, 10, 24, 23, 45)

    assert next_cron_times("*/30 * * * *", "Europe/Berlin", start, 6) == [
        "10-25 00:00",
        "10-25 00:30",
        "10-25 01:00",
        "10-25 01:30",
        "10-25 02:00",
        "10-25 02:30",
    ]


def test_an_hour_that_the_clocks_leave_out_is_not_made_up_elsewhere() -> None:
    # 8 March 2026, Havana: 00:00 becomes 01:00.
    assert next_cron_times("*/30 0 * * *", "America/Havana", at(2026, 3, 7, 6), 2) == [
        "03-09 04:00",
        "03-09 04:30",
    ]


#: Clocks that change by half an hour, at midnight, by two hours, at odd offsets, and never.
ODD_ZONES = {
    "Australia/Lord_Howe": ((2026, 4, 4), (2026, 10, 3)),
    "America/Havana": ((2026, 3, 7), (2026, 10, 31)),
    "Antarctica/Troll": ((2026, 3, 28), (2026, 10, 24)),
    "America/St_Johns": ((2026, 3, 7), (2026, 10, 31)),
    "Asia/Beirut": ((2026, 3, 28), (2026, 10, 24)),
    "Africa/Cairo": ((2026, 4, 23), (2026, 10, 29)),
    "America/Santiago": ((2026, 4, 4), (2026, 9, 5)),
    "America/Asuncion": ((2024, 3, 23), (2024, 10, 5)),
    "Pacific/Chatham": ((2026, 4, 4), (2026, 9, 26)),
    "Pacific/Apia": ((2011, 4, 1), (2011, 12, 28)),
    "Africa/Casablanca": ((2026, 2, 14), (2026, 3, 21)),
    "Europe/Berlin": ((2026, 3, 28), (2026, 10, 24)),
    "Asia/Kathmandu": ((2026, 1, 1), (2026, 6, 1)),
    "UTC": ((2026, 1, 1), (2026, 6, 1)),
}
ODD_FIELDS = (
    ("*", "*/7", "*/30", "0", "30", "15,45", "59", "0-10", "10"),
    ("*", "*/3", "0", "1", "2", "1-3", "23", "0,1", "2,23"),
    ("*", "*", "*", "1", "*/9", "24-31", "4"),
    ("*", "*", "*", "3,4,9-12"),
    ("*", "*", "0", "1-5", "6"),
)


def values(text: str, least: int, most: int) -> set[int]:
    found = set[int]()
    for part in text.split(","):
        span, _, step = part.partition("/")
        first, _, last = (f"{least}-{most}" if span == "*" else span).partition("-")
        found |= set(range(int(first), int(last or first) + 1, int(step or 1)))
    return found


def expected_ticks(line: str, minutes: list[tuple[int, datetime]]) -> list[int]:
    """Return which *minutes* a line names, one after the other; of a time of day that the clocks
    leave out, the minute at which they have gone."""
    *clock, day, month, weekday = line.split()
    minute, hour = values(clock[0], 0, 59), values(clock[1], 0, 23)
    days, weekdays = values(day, 1, 31), values(weekday, 0, 7)
    months = values(month, 1, 12)
    passes = any(field.startswith("*") for field in clock)

    def named(local: datetime) -> bool:
        if local.minute not in minute or local.hour not in hour or local.month not in months:
            return False
        in_month, in_week = local.day in days, local.isoweekday() % 7 in weekdays
        if day.startswith("*") or weekday.startswith("*"):
            return in_month and in_week
        return in_month or in_week

    found = []
    for (_, before), (moment, local) in pairwise(minutes):
        shown = local.replace(tzinfo=None, fold=0)
        left_out = shown - before.replace(tzinfo=None, fold=0) - timedelta(minutes=1)
        gap = [shown - timedelta(minutes=each + 1) for each in range(left_out // timedelta(0, 60))]
        if (named(local) and (passes or not local.fold)) or (not passes and any(map(named, gap))):
            found.append(moment)
    return found


@pytest.mark.parametrize("count", [84, pytest.param(1500, marks=pytest.mark.soak)])
def test_random_lines_run_as_the_clocks_of_odd_zones_show_minute_by_minute(count: int) -> None:
    dice = random.Random(45)
    windows = []
    for zone, days in ODD_ZONES.items():
        for first in days:
            begin = at(*first) // SECOND - 24 * 3600
            times = range(begin, begin + 4 * 24 * 3600, 60)
            local = [(each, datetime.fromtimestamp(each, ZoneInfo(zone))) for each in times]
            windows.append((zone, local))
    for number in range(count):
        line = " ".join(map(dice.choice, ODD_FIELDS))
        zone, minutes = windows[number % len(windows)]
        schedule = Schedule(every=0, cron=line, timezone=zone)
        end, now, found = minutes[-1][0] * SECOND, minutes[0][0] * SECOND, []
        # From wherever it is asked, also between the two times of an hour.
        while (now := first_times(schedule, now).planned) <= end:
            found.append(now // SECOND)

        assert found == expected_ticks(line, minutes), (line, zone)
