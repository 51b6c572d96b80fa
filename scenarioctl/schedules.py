"""When a job runs: parse durations and cron lines, compute the next time.

All planned times of a job lie on a grid: `planned + k * every`, or the times that a cron line
names.  A run begins at its planned time, up to `jitter` later; what the clock, a slow run or a
downtime does to that is decided here and nowhere else.  Times are nanoseconds since 1970, UTC.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from typing import Any

from scenarioctl.errors import InvalidRequest, shorten, suggest
from scenarioctl.model.amounts import read_choice, read_digits, read_number
from scenarioctl.model.jobs import SECOND, Overlap, Schedule

MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
#: The longest duration.
LONGEST = 366 * DAY
#: The largest `pause_after`: failed runs in a row.
PAUSE_MAX = 1_000_000
#: Times of a cron line that passed unused are counted up to here: a year of them would take
#: seconds, and thousands of jobs are late together.
COUNTED = 100

_UNITS = {"d": DAY, "h": HOUR, "m": MINUTE, "s": SECOND}
_DURATION = re.compile(
    r"(?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,9})s)?", re.ASCII
)
_EXPECTED = "one like 90s, 5m, 12h or 1h30m, or a number of seconds"
_CRON_MAX = 200
_CRON_EXPECTED = "five fields like '*/5 * * * *' (minute, hour, day of month, month, day of week)"
#: The fields of a cron line, by CronSim's names, and what each takes beside `*`, lists and steps.
_CRON_FORMS = {
    "minute": "0 to 59",
    "hour": "0 to 23",
    "day-of-month": "1 to 31, L (the last day) or LW (the last weekday)",
    "month": "1 to 12, or a name like JAN",
    "day-of-week": "0 to 7, a name like FRI, 5L (the last Friday) or MON#1 (the first Monday)",
}
_NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


#: Of each field of a cron line: its values, what has so many of them, and the unit of a duration.
_CRON_FIELDS = (
    (60, "an hour", "m"),
    (24, "a day", "h"),
    (31, "a month", "d"),
    (12, "a year", ""),
    (7, "a week", "d"),
)


def read_schedule(**fields: object) -> Schedule:
    """Return the schedule that these fields describe; an empty one is its default.  InvalidRequest
    names the field."""
    given = {name: value for name, value in fields.items() if value is not None and value != ""}
    every, cron = given.get("every"), given.get("cron")
    if every is not None and cron is not None:
        raise InvalidRequest(
            field="every",
            value=every,
            problem=f"and cron {shorten(cron)} are both given",
            expected="one of them",
        )
    if cron is None and "timezone" in given:
        raise InvalidRequest(
            field="timezone",
            value=given["timezone"],
            problem="is given without cron: only cron lines have a time zone",
        )
    default = Schedule() if cron is None else Schedule(every=0)
    schedule = replace(default, **{name: _READERS[name](value) for name, value in given.items()})
    if schedule.cron and next(_ticks(schedule.cron, schedule.timezone, 0), None) is None:
        raise InvalidRequest(
            field="cron",
            value=cron,
            problem="names a time that never occurs",
            expected=_CRON_EXPECTED,
        )
    if schedule.every and schedule.jitter >= schedule.every:
        raise InvalidRequest(
            field="jitter",
            value=given["jitter"],
            problem="is not shorter than the interval",
            expected=f"less than {write_duration(schedule.every)}",
        )
    return schedule


def changed_schedule(schedule: Schedule, given: Mapping[str, object]) -> Schedule:
    """Return *schedule* with the fields that are *given*; InvalidRequest names the one that is
    wrong, also of *schedule*.

    `every` takes the place of `cron` and its `timezone`, and vice versa.
    """
    fields: dict[str, object] = {
        **asdict(schedule),
        **{
            name: write_duration(getattr(schedule, name))
            for name in ("jitter", "catchup", "timeout")
        },
    }
    if schedule.cron and "every" not in given:
        del fields["every"]
    else:
        fields |= {
            "every": write_duration(schedule.every) if schedule.every else "",
            "cron": "",
            "timezone": "",
        }
        if "cron" in given and "every" not in given:
            del fields["every"]
    return read_schedule(**{**fields, **given})


def read_duration(value: object, *, field: str, least: int = 0) -> int:
    """Return *value* in nanoseconds: `90s`, `5m`, `1h30m`, or a number of seconds; from *least* to
    366 days."""
    text = ""
    if isinstance(value, str):
        text = "".join(value.split()).lower()
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and value == value // 1:
        text = str(int(value)) if abs(value) < 10**12 else "9" * 12
    seconds = read_digits(text)
    if seconds is not None:
        duration = seconds * SECOND
    else:
        found = _DURATION.fullmatch(text) if text else None
        if found is None:
            raise InvalidRequest(
                field=field, value=value, problem="is not a duration", expected=_EXPECTED
            )
        duration = sum(
            int(digits) * unit
            for digits, unit in zip(found.groups(), _UNITS.values(), strict=True)
            if digits
        )
    if not least <= duration <= LONGEST:
        word = "short" if duration < least else "long"
        raise InvalidRequest(
            field=field,
            value=value,
            problem=f"is too {word}",
            expected=f"{write_duration(least)} to {write_duration(LONGEST)}",
        )
    return duration


def write_duration(nanoseconds: int) -> str:
    """Return a duration as people type it: `1h30m`; `0s` for none."""
    rest = nanoseconds // SECOND
    words = []
    for letter, unit in _UNITS.items():
        count, rest = divmod(rest, unit // SECOND)
        if count:
            words.append(f"{count}{letter}")
    return "".join(words) or "0s"


def describe_schedule(schedule: Schedule) -> str:
    """Return the schedule in words: `every 12h, as one transaction`, `cron 0 9 * * 1-5
    (Europe/Berlin)`."""
    times = (
        f"cron {schedule.cron} ({schedule.timezone})"
        if schedule.cron
        else f"every {write_duration(schedule.every)}"
    )
    return f"{times}, as one transaction" if schedule.batch else times


@dataclass(frozen=True, kw_only=True)
class Times:
    """When a job runs next."""

    planned: int
    #: With jitter.
    due: int
    #: Planned times that passed unused; of a cron line up to COUNTED.
    missed: int = 0


def first_times(schedule: Schedule, now: int, *, pick: Callable[[int], int] | None = None) -> Times:
    """Return when a job that is started *now* runs first: at once, or at the cron line's next
    time."""
    if schedule.cron:
        return _with_jitter(schedule, _next_cron(schedule, now), pick)
    return Times(planned=now, due=now)


def next_times(
    schedule: Schedule, planned: int, now: int, *, pick: Callable[[int], int] | None = None
) -> Times:
    """Return when a job runs next whose run, planned for *planned*, has ended *now*: always after
    *planned*.

    Times that came meanwhile are skipped, or with `queue` the latest of them is made up for at
    once.
    """
    latest, passed = _latest(schedule, planned, now)
    if passed and schedule.overlap is Overlap.QUEUE:
        return Times(planned=latest, due=now, missed=passed - 1)
    times = _with_jitter(schedule, _after(schedule, latest, latest), pick)
    return Times(planned=times.planned, due=times.due, missed=passed)


def following_times(
    schedule: Schedule, planned: int | None, now: int, *, pick: Callable[[int], int] | None = None
) -> Times:
    """Return when a job runs next that is resumed or gets another *schedule* now: the first time
    after *now*.

    An interval goes on from *planned*, a planned time before or after *now*; from *now* if there is
    none.
    """
    return _with_jitter(schedule, _after(schedule, now if planned is None else planned, now), pick)


def caught_up(
    schedule: Schedule, planned: int, due: int, now: int, *, first: bool = False
) -> tuple[int | None, int]:
    """Return for which planned time a job that was *due* runs *now*, and how many others were
    missed.

    That is the latest one that has come, unless it is longer ago than the catch-up window: None
    then.  The *first* run at an interval comes however late it is: it was to be at once.
    """
    latest, passed = _latest(schedule, planned, now)
    late = now - (latest if passed else due)
    if late > schedule.catchup and late > SECOND and (schedule.cron or not first):
        return None, passed + 1
    return latest, passed


def _after(schedule: Schedule, planned: int, now: int) -> int:
    """Return the first planned time after *now*, on the grid of *planned*."""
    if schedule.cron:
        return _next_cron(schedule, now)
    return planned + ((now - planned) // schedule.every + 1) * schedule.every


def _latest(schedule: Schedule, planned: int, now: int) -> tuple[int, int]:
    """Return the last planned time up to *now*, *planned* at the earliest, and how many came after
    *planned*."""
    if not schedule.cron:
        passed = max(0, (now - planned) // schedule.every)
        return planned + passed * schedule.every, passed
    latest, passed = planned, 0
    for tick in _ticks(schedule.cron, schedule.timezone, planned):
        if tick > now:
            return latest, passed
        if passed == COUNTED:
            break
        latest, passed = tick, passed + 1
    # Beyond the count, take the last one before *now*.
    for back in (HOUR, DAY, 32 * DAY, LONGEST):
        found = latest
        for tick in _ticks(schedule.cron, schedule.timezone, max(latest, now - back)):
            if tick > now:
                break
            found = tick
        if found != latest:
            return found, passed
    return latest, passed


def _with_jitter(schedule: Schedule, planned: int, pick: Callable[[int], int] | None) -> Times:
    if not schedule.jitter:
        return Times(planned=planned, due=planned)
    if pick is None:
        from random import randrange

        pick = randrange
    # Always before the next planned time.
    room = min(schedule.jitter, _after(schedule, planned, planned) - planned - 1)
    return Times(planned=planned, due=planned + pick(room + 1))


def _next_cron(schedule: Schedule, now: int) -> int:
    found = next(_ticks(schedule.cron, schedule.timezone, now), None)
    # Parsing made sure that the line names a time within fifty years.
    return found if found is not None else now + LONGEST


def _ticks(line: str, timezone: str, now: int) -> Iterator[int]:
    """Return the times after *now* that a cron line names.

    On the day the clocks go forward, a time of day that does not exist runs when they have gone; on
    the day they go back, one that comes twice runs the first time.  Lines with `*` in minute or
    hour go by the time that passes.
    """
    from datetime import UTC, datetime, timedelta

    from cronsim import CronSim

    # The most by which clocks go back, so that a time of day comes twice.
    overlap = timedelta(hours=4)
    epoch, second, zone = datetime(1970, 1, 1, tzinfo=UTC), timedelta(seconds=1), _zone(timezone)
    passes = any(field.startswith("*") for field in line.split()[:2])
    last = epoch + now // SECOND * second
    try:
        begin = last.astimezone(zone).replace(tzinfo=None)
        offsets = {(last + side * overlap).astimezone(zone).utcoffset() for side in (-1, 1)}
        again: list[datetime] = []
        # By what clocks on the wall show; CronSim leaves times out where they go forward or back
        # by less than an hour, or at midnight.
        for each in CronSim(line, begin if len(offsets) == 1 else begin - overlap):
            first, later = (each.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
            if first.astimezone(zone).replace(tzinfo=None) != each:
                if passes:
                    continue
                # The clocks go forward at some time between the two, which are in turn.
                while first - later > second:
                    middle = later + (first - later) // second // 2 * second
                    gone = middle.astimezone(zone).utcoffset() == first.astimezone(zone).utcoffset()
                    later, first = (later, middle) if gone else (middle, first)
            found = [moment for moment in again if moment < first] + [first]
            again = [moment for moment in again if moment >= first]
            if passes and later > first:
                again.append(later)
            for moment in found:
                if moment > last:
                    last = moment
                    yield (moment - epoch) // second * SECOND
    except OverflowError:
        return


@lru_cache(maxsize=64)
def _zone(name: str) -> Any:
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


def _read_cron(value: object) -> str:
    text = " ".join(value.split()) if isinstance(value, str) and len(value) <= _CRON_MAX else ""
    text = _NICKNAMES.get(text.lower(), text)
    if len(text.split(" ")) != 5:
        raise InvalidRequest(
            field="cron", value=value, problem="is not a cron line", expected=_CRON_EXPECTED
        )
    from datetime import UTC, datetime

    from cronsim import CronSim, CronSimError

    try:
        CronSim(text, datetime(2024, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        name = str(error).removeprefix("Bad ")
        fields = dict(zip(_CRON_FORMS, text.split(" "), strict=True))
        given, hint = fields[name], _cron_hint(name, fields)
        raise InvalidRequest(
            field="cron",
            value=value,
            problem=f": {hint}" if hint else f"has a wrong {name} {shorten(given)}",
            expected="" if hint else _CRON_FORMS[name],
        ) from None
    for step, (values, whole, unit) in _cron_steps(text):
        if step >= values:
            length = "longer than" if step > values else "as long as"
            advice = f"use `every` {step}{unit}" if unit else "name the months"
            raise InvalidRequest(
                field="cron",
                value=value,
                problem=f": a step of {step} is {length} {whole}: {advice}",
            )
    return text


def _cron_hint(name: str, fields: Mapping[str, str]) -> str:
    """Return why a field of a cron line is wrong, or how it is written; empty if nobody knows."""
    from calendar import day_abbr, day_name, month_name

    given, month = fields[name], read_digits(fields["month"]) or 0
    if name == "day-of-month" and 1 <= (read_digits(given) or 0) <= 31 and 1 <= month <= 12:
        return f"{given} {month_name[month]} never comes"
    if (last := re.fullmatch("(?i)(mon|tue|wed|thu|fri|sat|sun)#?L", given)) is not None:
        day = list(day_abbr).index(last[1].capitalize())
        return f"write the last {day_name[day]} as {(day + 1) % 7}L"
    turned = re.search(r"(?<!\d)(\d{1,2})-(\d{1,2})(?!\d)", given)
    if turned is None or int(turned[1]) <= int(turned[2]):
        return ""
    values = _CRON_FIELDS[list(_CRON_FORMS).index(name)][0]
    least = 1 if name in ("day-of-month", "month") else 0
    parts = (f"{turned[1]}-{values - 1 + least}", f"{least}-{turned[2]}")
    return f"{turned[0]} runs backwards: write {','.join(parts)}"


def _cron_steps(line: str) -> Iterator[tuple[int, tuple[int, str, str]]]:
    """Give the steps in the fields of a cron line, each with its row of _CRON_FIELDS."""
    for text, row in zip(line.split(" "), _CRON_FIELDS, strict=True):
        for part in text.split(","):
            step = part.partition("/")[2]
            if step:
                yield int(step), row


def planned_times(schedule: Schedule, planned: int | None, now: int) -> list[int]:
    """Return the next three planned times after *now*, on the grid of *planned*."""
    times = [now if planned is None else planned, now]
    for _ in range(3):
        times.append(_after(schedule, times[0], times[-1]))
    return times[2:]


def note_on_times(schedule: Schedule, first: int) -> str:
    """Return a note with three times of a schedule, from the *first* on, in its time zone."""
    from datetime import datetime

    zone = schedule.timezone if schedule.cron else "UTC"
    times = ", ".join(
        f"{datetime.fromtimestamp(each // SECOND, _zone(zone)):%Y-%m-%d %H:%M:%S}"
        for each in planned_times(schedule, first, first - 1)
    )
    return f"The next runs are at {times} ({zone})."


def _read_zone(value: object) -> str:
    text = value.strip() if isinstance(value, str) else ""
    try:
        # Names are paths below a folder; zoneinfo refuses those outside.
        _zone(text)
    except (ValueError, OSError, LookupError):
        from zoneinfo import available_timezones

        meant = suggest(
            text, sorted(available_timezones()), otherwise="expected one like UTC or Europe/Berlin"
        )
        raise InvalidRequest(
            field="timezone", value=value, problem=f"is not known, {meant}"
        ) from None
    return text


def _read_overlap(value: object) -> Overlap:
    return Overlap(
        read_choice(
            value, field="overlap", choices=list(Overlap), fold=lambda text: text.strip().lower()
        )
    )


def _read_count(value: object) -> int:
    text = value.strip() if isinstance(value, str) else value
    return read_number(
        text,
        field="pause_after",
        kind="a number of failures",
        expected=f"0 (never) to {PAUSE_MAX}",
        most=PAUSE_MAX,
    )


_READERS: Mapping[str, Callable[[object], Any]] = {
    "every": partial(read_duration, field="every", least=SECOND),
    "cron": _read_cron,
    "timezone": _read_zone,
    "jitter": partial(read_duration, field="jitter"),
    "timeout": partial(read_duration, field="timeout"),
    "overlap": _read_overlap,
    "catchup": partial(read_duration, field="catchup"),
    "pause_after": _read_count,
    "batch": bool,
}
