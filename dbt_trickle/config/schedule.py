"""A model's schedule: a duration, a cron expression, or the word `downstream`."""

from __future__ import annotations

import datetime as dt
import re

from croniter import CroniterBadDateError, croniter

from dbt_trickle.config.checks import Invalid

_DURATION = re.compile(r"^([0-9]+)\s*([smhd])$")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_CRON_FIELD = re.compile(r"^[0-9*/,\-A-Za-z#?]+$")
# croniter's own words for a moment that it draws by lot, another one each time.
_RANDOM = re.compile(r"^[rh](/|$)", re.IGNORECASE)
ALLOWED = "a duration such as '5m', '2h' or '1d', a cron expression of five fields, or 'downstream'"
_FIELDS = ("minute", "hour", "day of the month", "month", "day of the week")
# croniter looks 50 years ahead of it, so that a 29th of February is found.
_ANY_DAY = dt.datetime(2000, 1, 1)


def schedule(value: object) -> str:
    text = str(value).strip()
    if text == "downstream" or _DURATION.match(text):
        return text
    fields = text.split()
    # croniter takes six fields as well, with seconds, and '@daily'.
    if len(fields) != 5 or not all(_CRON_FIELD.match(field) and not _RANDOM.match(field) for field in fields):
        raise Invalid(ALLOWED)
    for number, (name, field) in enumerate(zip(_FIELDS, fields, strict=True)):
        if not croniter.is_valid(" ".join(field if at == number else "*" for at in range(5))):
            raise Invalid(f"{ALLOWED}; {field} is no {name}")
    if not croniter.is_valid(text):
        raise Invalid(f"{ALLOWED}; its five fields do not go together")
    try:
        croniter(text, _ANY_DAY).get_next()
    except CroniterBadDateError:
        raise Invalid(f"{ALLOWED}; this one never comes") from None
    return text


def schedule_seconds(schedule: str) -> int | None:
    """The period of a duration; none for cron and `downstream`."""
    found = _DURATION.match(schedule)
    return int(found.group(1)) * _SECONDS[found.group(2)] if found else None
