"""Which facts about chains are in force; and getting a feed of newer ones, judging it, and
installing it."""

import asyncio
import logging
import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from scenarioctl.application import Application
from scenarioctl.chains.fact_rows import LIMIT, VERSION, feed_path, installed, read_feed
from scenarioctl.errors import InvalidRequest, NotFound
from scenarioctl.files import read_file, reason_of
from scenarioctl.operations.results import Result

if TYPE_CHECKING:
    from scenarioctl.chains.fact_changes import FactChange
    from scenarioctl.chains.fact_rows import FeedHeader, Rows


log = logging.getLogger("scenarioctl.registry")


@dataclass(frozen=True, kw_only=True)
class ShowFacts:
    """Show the facts in force: version, date, age, source, the key that signed them, and the hashes
    of this feed and the one before."""


class DatedFacts(TypedDict):
    #: ISO date.
    date: str
    #: `package`, or the file or URL that they were installed from.
    source: str
    #: What keeps the daemon from restarting with other facts that are installed; empty if none are.
    waiting: str


class FactsInForce(DatedFacts):
    version: int
    age_days: int
    #: ISO date; this and all that follow are empty for the facts of the package.
    expires: str
    #: SHA-256 of the feed, in hex, and of the one before.
    digest: str
    previous: str
    #: The public key that signed them, in hex.
    key: str
    #: The file that has them.
    path: str


def _header_in_force() -> "FeedHeader | None":
    feed, _ = installed()
    return feed.header if feed is not None and feed.applies else None


def date_facts(app: Application) -> DatedFacts:
    """Return when and where the facts in force were collected."""
    from scenarioctl.outgoing import place_of

    header, waiting = _header_in_force(), app.resources.waiting_facts
    if header is None:
        day = str(date.fromisoformat(str(VERSION)[:8]))
        return {"date": day, "source": "package", "waiting": waiting}
    source = place_of(header.source) if "://" in header.source else header.source
    return {"date": header.date, "source": source, "waiting": waiting}


async def show_facts(
    app: Application,
    request: ShowFacts,  # noqa: ARG001 - it has no fields
) -> Result[FactsInForce]:
    from scenarioctl.transactions.fact_ages import day_of

    header, dated = _header_in_force(), date_facts(app)
    key = "" if header is None else header.key
    answer: FactsInForce = {
        "version": VERSION if header is None else header.version,
        **dated,
        "age_days": max((day_of(app.clock()) - date.fromisoformat(dated["date"])).days, 0),
        "expires": "" if header is None else header.expires,
        "digest": "" if header is None else header.digest,
        "previous": "" if header is None else header.previous,
        "key": key,
        "path": "" if header is None else str(feed_path()),
    }
    unknown = f"The key {key} signed these facts, and registry_keys doesn't have it any more."
    return Result(
        answer=answer, warnings=(unknown,) if key and key not in app.settings.registry_keys else ()
    )


@dataclass(frozen=True, kw_only=True)
class JudgedFeed:
    """A feed that a key of `registry_keys` signed, and what it changes here."""

    header: "FeedHeader"
    rows: "Rows"
    changes: "list[FactChange]"

    @property
    def opening(self) -> "list[FactChange]":
        """What a person has to agree to."""
        return [each for each in self.changes if each.opens]

    @property
    def is_installed(self) -> bool:
        """Whether it is the one that is there."""
        found, _ = read_feed(feed_path())
        return found is not None and found.header.digest == self.header.digest

    def install(self) -> None:
        """Install it for this user; Conflict if another process installed one meanwhile,
        InvalidRequest if it can't be written."""
        from scenarioctl.chains.fact_feed import install

        try:
            install(self.header, self.rows, feed_path(), agreed=self.changes)
        except OSError as error:
            raise InvalidRequest(
                field="registry", problem=f"{feed_path()} cannot be written: {reason_of(error)}"
            ) from None


async def judge_feed(app: Application, source: str) -> JudgedFeed:
    """Return the feed at *source*, the path of a file or a URL; InvalidRequest, Conflict or
    RequestFailed says why it can't be used."""
    from scenarioctl.chains.fact_feed import judge, read_signed
    from scenarioctl.transactions.fact_ages import day_of

    data = await _fetch(app, source) if "://" in source else _read(source)

    def read() -> JudgedFeed:
        header, rows = read_signed(
            data, app.settings.registry_keys, source=source, today=day_of(app.clock())
        )
        return JudgedFeed(header=header, rows=rows, changes=judge(header, rows, feed_path()))

    return await asyncio.to_thread(read)


async def _fetch(app: Application, url: str) -> bytes:
    from json import dumps

    from scenarioctl.outgoing import WebRequest, place_of

    if not re.match("https?://[^/?#]", url, re.IGNORECASE):
        raise InvalidRequest(
            field="--from",
            value=url,
            limit=200,
            problem="cannot be read",
            expected="a file, or a URL like https://…",
        )
    if app.settings.offline:
        raise InvalidRequest(
            field="registry_url",
            problem=f"{place_of(url)} can't be read offline{app.settings.online_advice}",
        )
    body = (await app.outgoing.send(WebRequest(method="GET", url=url))).body
    return (body if isinstance(body, str) else dumps(body)).encode()


def _read(path: str) -> bytes:
    from scenarioctl.chains.fact_feed import too_large

    try:
        if Path(path).stat().st_size > LIMIT:
            raise too_large(path)
        return read_file(Path(path), limit=LIMIT)
    except FileNotFoundError:
        raise NotFound(field="--from", value=path, limit=200, problem="does not exist") from None
    except (OSError, ValueError) as error:
        raise InvalidRequest(
            field="--from", value=path, limit=200, problem=f"cannot be read: {reason_of(error)}"
        ) from None


async def update_unattended(app: Application) -> None:
    """Install the feed at `registry_url` if it only makes facts stricter, and log what it
    changes."""
    if not app.settings.registry_url or app.settings.offline:
        return
    feed = await judge_feed(app, app.settings.registry_url)
    if feed.opening:
        log.warning(
            (
                "Version %d of the facts waits for somebody to agree: %s. Run scenarioctl "
                "registry update."
            ),
            feed.header.version,
            "; ".join(map(str, feed.opening[:20])),
        )
    elif not feed.is_installed:
        await asyncio.to_thread(feed.install)
        log.warning(
            "Version %d of the facts is installed: %s",
            feed.header.version,
            "; ".join(map(str, feed.changes[:20])) or "nothing else than their dates has changed",
        )
