"""A feed of facts: the rows of all kinds in one signed file, who may sign it, and how it is
installed.

    {"key": HEX, "signature": HEX, "payload": TEXT}

The signature is Ed25519 over the bytes of the payload, itself the text of a JSON object: `format`,
`version`, `date`, `expires`, `previous` (SHA-256 of the payload before), and `facts`, the rows by
kind and key.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from hashlib import sha256
from json import loads
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec

from scenarioctl.chains.addresses import ACCOUNT_FORMATS
from scenarioctl.chains.fact_changes import FactChange, compare_rows
from scenarioctl.chains.fact_rows import (
    FILES,
    FORMAT,
    LIMIT,
    VERSION,
    FeedHeader,
    InstalledFeed,
    Rows,
    package_facts,
    read_feed,
    rows_in,
    write_feed,
)
from scenarioctl.chains.locations import read_location
from scenarioctl.chains.trust import TrustFacts, read_all
from scenarioctl.errors import Conflict, InvalidRequest, TooLarge, fold, shorten

_Role = Literal["relay", "asset_hub", "system", "dex", "contracts", "parachain", "ethereum"]
#: Roles of chains that code names, which no feed can take away.
_KEPT: tuple[str, ...] = get_args(_Role)[:4] + get_args(_Role)[-1:]
_NAME = re.compile(r"[A-Za-z0-9_]{1,40}\Z")
_HASH = re.compile(r"0x[0-9a-f]{64}\Z")


class _Chain(msgspec.Struct, forbid_unknown_fields=True):
    """A row of chains.json."""

    title: str
    role: _Role
    relay: str
    symbol: str
    decimals: int
    para_id: int | None = None
    genesis: str = ""
    spec_name: str = ""
    ss58_prefix: int = 42
    account_bytes: int = 32
    endpoints: tuple[str, ...] = ()
    explorer: str = ""
    aliases: tuple[str, ...] = ()
    testnet: bool = False
    doubt: str = ""
    consensus: str = ""
    note: str = ""


class _Closed(msgspec.Struct, forbid_unknown_fields=True):
    """A row of closed.json.  Nobody has to agree to a new one, so that it can't say just
    anything."""

    title: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9 ()-]{1,40}$")]
    source: str
    read: str
    closed: Annotated[str, msgspec.Meta(pattern=r"^([A-Z][a-z]{2,8} 20[0-9]{2})?$")] = ""
    instead: str = ""
    place: tuple[str, int] | None = None


class _Runtime(msgspec.Struct, forbid_unknown_fields=True):
    """A known runtime."""

    spec_version: int
    read: str


class _Envelope(msgspec.Struct, forbid_unknown_fields=True):
    key: str
    signature: str
    payload: str


class _Payload(msgspec.Struct, forbid_unknown_fields=True):
    format: int
    version: int
    made: date = msgspec.field(name="date")
    expires: date
    previous: str
    facts: dict[str, dict[str, Any]]


#: The cells of a row of assets.json, of which the first two are needed, and of routes.json.
_ASSET: tuple[tuple[type, ...], ...] = (
    *((str,), (str,), (int, type(None)), (int, type(None)), (str, type(None)), (str, type(None))),
    *((bool, type(None)), (str, type(None)), (bool, type(None))),
)
_ROUTE: tuple[tuple[type, ...], ...] = ((str,),) * 7


@contextmanager
def _refusing() -> Iterator[None]:
    """Turn what rows of another form make of the program into one sentence."""
    try:
        yield
    except (
        InvalidRequest,
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        RecursionError,
    ) as error:
        raise InvalidRequest(
            field="feed",
            problem=(
                "has rows that this version of scenarioctl can't read, upgrade it or tell who "
                f"signed: {str(error)[:160]}"
            ),
        ) from None


def sign(payload: bytes, private_key: Any) -> bytes:
    """Return the feed of *payload*, signed by an Ed25519 key of `Crypto.PublicKey.ECC`."""
    from Crypto.Signature import eddsa

    signature = eddsa.new(private_key, "rfc8032").sign(payload)
    key = private_key.public_key().export_key(format="raw")
    return msgspec.json.encode(
        _Envelope(key=key.hex(), signature=signature.hex(), payload=payload.decode())
    )


def read_signed(
    data: bytes, keys: Sequence[str], *, source: str, today: date
) -> tuple[FeedHeader, Rows]:
    """Return header and rows of the feed *data*; InvalidRequest unless one of *keys* signed it, it
    is in force, and its rows can be read."""
    if len(data) > LIMIT:
        raise too_large(source)
    try:
        envelope = msgspec.json.decode(data, type=_Envelope)
    except (msgspec.MsgspecError, RecursionError):
        raise InvalidRequest(
            field="feed",
            value=source,
            limit=200,
            problem="is not a signed feed",
            expected="JSON with key, signature and payload",
        ) from None
    key = envelope.key.lower()
    if key not in keys:
        raise InvalidRequest(
            field="feed",
            problem=(
                f"is signed by the key {shorten(key, 70)}, which registry_keys doesn't have: "
                "add it if you trust who signs with it"
            ),
        )
    payload = envelope.payload.encode()
    _verify(payload, key, envelope.signature)
    with _refusing():
        read = msgspec.json.decode(payload, type=_Payload)
    if read.format != FORMAT:
        raise InvalidRequest(
            field="feed",
            problem=(
                f"has format {read.format}, and this version of scenarioctl reads {FORMAT}: "
                "upgrade scenarioctl"
            ),
        )
    if read.expires < today:
        raise InvalidRequest(
            field="feed", problem=f"of {read.made} expired on {read.expires}: get a newer one"
        )
    if read.made > today:
        raise InvalidRequest(
            field="feed",
            problem=(
                f"is dated {read.made}, and it is {today} by this machine's clock: set the "
                "clock, or tell who signed"
            ),
        )
    header = FeedHeader(
        format=read.format,
        version=read.version,
        date=str(read.made),
        expires=str(read.expires),
        digest=sha256(payload).hexdigest(),
        previous=read.previous,
        key=key,
        source=source,
    )
    with _refusing():
        # As text: numbers stay what Python's own reader makes of those of the package.
        rows = loads(envelope.payload)["facts"]
        _check_rows(rows, read.made)
    return header, rows


def too_large(source: str) -> TooLarge:
    return TooLarge(
        field="feed",
        value=source,
        limit=200,
        problem=f"is larger than {LIMIT} bytes, the limit for it",
    )


def _verify(payload: bytes, key: str, signature: str) -> None:
    from Crypto.Signature import eddsa

    try:
        eddsa.new(eddsa.import_public_key(bytes.fromhex(key)), "rfc8032").verify(
            payload, bytes.fromhex(signature)
        )
    except ValueError:
        raise InvalidRequest(
            field="feed",
            problem="has a wrong signature: its key didn't sign what it says",
        ) from None


def _check_rows(rows: Rows, made: date) -> None:
    """Raise ValueError, TypeError or KeyError if the program could not start with *rows*, or would
    misjudge what they change."""
    if rows.keys() != FILES.keys():
        raise ValueError(f"its kinds are {', '.join(rows)}")
    for key in (key for own in rows.values() for key in own):
        if not _NAME.match(key):
            raise ValueError(f"a row is named {key!r}")
    _check_chains(rows)
    trust = _check_trust(rows)
    runtimes = msgspec.convert(rows["runtimes"], dict[str, _Runtime])
    for row in _cells(rows["assets"], _ASSET, needed=2, ends=1, skipped="read"):
        if len(row) > 5 and row[5]:
            read_location(row[5])
    routes = [*_cells(rows["routes"], _ROUTE, needed=7, ends=2, skipped="sources")]
    for row in routes:
        read_location(row[1])
    days = [rows["chains"]["read"], rows["assets"]["read"], *(row[6] for row in routes)]
    days += [row.read for row in runtimes.values()] + [facts.read for facts in trust.values()]
    # One from the future would never count as old.
    if (latest := max(map(date.fromisoformat, days))) > made:
        raise ValueError(f"a row was read on {latest}, after the feed was made")


def _check_chains(rows: Rows) -> None:
    own = {name: row for name, row in rows["chains"].items() if name != "read"}
    chains = msgspec.convert(own, dict[str, _Chain])
    for name, chain in chains.items():
        if chain.relay and chain.relay not in chains:
            raise ValueError(f"{name} is below {chain.relay}, which is missing")
        if chain.genesis and not _HASH.match(chain.genesis):
            raise ValueError(f"{name} has the genesis {chain.genesis}")
        if chain.account_bytes not in ACCOUNT_FORMATS or not 0 <= chain.decimals <= 38:
            raise ValueError(f"{name} has accounts or decimals that no chain has")
    closed = msgspec.convert(rows["closed"], dict[str, _Closed])
    for name, row in package_facts("chains").items():
        if (
            name != "read"
            and name not in chains
            and (row["role"] in _KEPT or fold(name) not in closed)
        ):
            raise ValueError(f"{name} is missing, and not among the closed chains")


def _check_trust(rows: Rows) -> Mapping[str, TrustFacts]:
    trust = read_all({name: dict(row) for name, row in rows["trust"].items()})
    for name in package_facts("trust"):
        if name in rows["chains"] and name not in trust:
            raise ValueError(f"the trust facts of {name} are missing")
    return trust


def _cells(
    rows: Mapping[str, Any],
    types: Sequence[tuple[type, ...]],
    *,
    needed: int,
    ends: int,
    skipped: str,
) -> Iterator[Any]:
    """Give each row of cells; ValueError if one has others than *types*, or its first *ends*, which
    name it, twice."""
    for name, own in rows.items():
        named = set()
        for row in own if name != skipped else ():
            fits = needed <= len(row) <= len(types)
            if not fits or not all(
                type(cell) in kinds for cell, kinds in zip(row, types, strict=False)
            ):
                raise ValueError(f"a row of {name} is {shorten(str(row), 60)}")
            if tuple(row[:ends]) in named:
                raise ValueError(f"{name} has two rows of {', '.join(row[:ends])}")
            named.add(tuple(row[:ends]))
            yield row


def current(feed: InstalledFeed | None) -> tuple[int, Rows]:
    """Return the version and the rows that are in force while *feed* is installed."""
    if feed is not None and feed.applies:
        return feed.header.version, {kind: rows_in(feed, kind) for kind in FILES}
    return VERSION, {kind: package_facts(kind) for kind in FILES}


def judge(header: FeedHeader, rows: Rows, path: Path) -> list[FactChange]:
    """Return what a feed would change beside the one at *path*; Conflict if it is older."""
    feed, _ = read_feed(path)
    version, before = current(feed)
    if feed is not None and feed.header.digest == header.digest:
        return []
    if header.version <= version:
        raise Conflict(
            field="feed",
            problem=(
                f"has version {header.version}, and {version} is installed: only a newer one "
                "replaces it"
            ),
        )
    return compare_rows(before, rows)


def install(header: FeedHeader, rows: Rows, path: Path, *, agreed: Sequence[FactChange]) -> None:
    """Install a feed at *path*, unless it changes more than was *agreed* to by now; Conflict
    then."""
    import fcntl

    from scenarioctl.files import atomic_write

    data = write_feed(header, rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if judge(header, rows, path) != list(agreed):
            raise Conflict(
                field="feed",
                problem=(
                    "was judged beside another one, which was replaced meanwhile: run the "
                    "command again"
                ),
            )
        atomic_write(path, data, mode=0o644)
