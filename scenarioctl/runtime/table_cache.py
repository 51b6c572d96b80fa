"""The runtime tables of connected chains, kept as files for the next time, and whether they can be
relied on.

A node can lie about its runtime: with other indices a call means something else.  What one endpoint
gave is therefore used only while that endpoint is connected.  A table is *confirmed* if a second
endpoint gave the same metadata, or a user asked for it by hand; only such a one stands beside the
bundled tables.

    GENESIS-VERSION.confirmed.json      confirmed
    GENESIS-VERSION.DIGEST.json         given by the endpoint with that digest, since its address
    may hold a key
"""

from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from scenarioctl.errors import InvalidRequest
from scenarioctl.runtime.table import RuntimeTable

#: So many tables that nobody confirmed are kept of a chain: a node may tell of as many runtimes as
#: it likes.
MOST_UNCONFIRMED = 8

_CONFIRMED = "confirmed"


def endpoint_digest(endpoint: str) -> str:
    """Return the digest by which a table names the endpoint that gave it."""
    return blake2b(endpoint.encode(), digest_size=8).hexdigest()


def load_cached(
    genesis: str, directory: Path, *, spec_version: int | None = None, endpoint: str = ""
) -> RuntimeTable | None:
    """Return the newest confirmed table kept for the chain in *directory*, or that of
    *spec_version*; None without one.

    With *endpoint*, a table is found too which that endpoint gave and nobody confirmed.
    """
    wanted = [_CONFIRMED, *([endpoint_digest(endpoint)] if endpoint else [])]
    return _load(genesis, directory, spec_version, lambda origin: origin in wanted)


def load_unconfirmed(
    genesis: str, directory: Path, *, spec_version: int | None = None
) -> RuntimeTable | None:
    """Return the newest table that one endpoint gave and nobody confirmed, or that of
    *spec_version*."""
    return _load(genesis, directory, spec_version, lambda origin: origin != _CONFIRMED)


def newest_unconfirmed(genesis: str, directory: Path) -> int:
    """Return the version of the newest table that nobody confirmed; 0 without one."""
    return max(
        (version for version, origin, _ in _cached(genesis, directory) if origin != _CONFIRMED),
        default=0,
    )


def save_cached(table: RuntimeTable, genesis: str, directory: Path) -> Path:
    """Keep *table* for the chain with this genesis hash, as confirmed unless it says who told it,
    and return its file.

    The file is there whole or not at all, even if the power fails or another process writes it too.
    """
    from scenarioctl.files import atomic_write

    directory.mkdir(parents=True, exist_ok=True)
    origin = table.told_by or _CONFIRMED
    path = directory / f"{_file_name(genesis)}-{table.spec_version}.{origin}.json"
    atomic_write(path, table.dump(), mode=0o644)
    _prune(genesis, directory, confirmed=None if table.told_by else table.spec_version)
    return path


def _load(
    genesis: str, directory: Path, spec_version: int | None, takes: Callable[[str], bool]
) -> RuntimeTable | None:
    """Return the newest table of an origin that *takes* takes, a confirmed one before others.

    A damaged file is passed over: it is as good as absent, and is written anew when the chain is
    next asked.
    """
    found = [
        each
        for each in _cached(genesis, directory)
        if takes(each[1]) and spec_version in (None, each[0])
    ]
    for version, origin, path in sorted(
        found, key=lambda each: (each[0], each[1] == _CONFIRMED), reverse=True
    ):
        try:
            table = RuntimeTable.load(path.read_bytes())
            table.written = path.stat().st_mtime
        except (OSError, InvalidRequest, ValueError, KeyError, TypeError):
            continue
        if table.spec_version == version:
            table.told_by = "" if origin == _CONFIRMED else origin
            return table
    return None


def _prune(genesis: str, directory: Path, *, confirmed: int | None) -> None:
    """Remove what endpoints told of the version that is *confirmed* now, and the oldest of too many
    other such tables."""
    told: list[tuple[float, Path]] = []
    for version, origin, path in _cached(genesis, directory):
        if origin != _CONFIRMED:
            with suppress(OSError):
                told.append((0.0 if version == confirmed else path.stat().st_mtime, path))
    for written, path in told:
        if not written:
            with suppress(OSError):
                path.unlink()
    told = [each for each in told if each[0]]
    for _, path in sorted(told)[:-MOST_UNCONFIRMED]:
        with suppress(OSError):
            path.unlink()


def _cached(genesis: str, directory: Path) -> list[tuple[int, str, Path]]:
    """Return version, origin and path of each table that is kept."""
    prefix = f"{_file_name(genesis)}-"
    found: list[tuple[int, str, Path]] = []
    try:
        names = [path.name for path in directory.iterdir()]
    except OSError:
        return found
    for name in names:
        version, _, origin = name.removeprefix(prefix).removesuffix(".json").partition(".")
        known = origin == _CONFIRMED or (
            len(origin) == 16 and not set(origin) - set("0123456789abcdef")
        )
        if (
            name == f"{prefix}{version}.{origin}.json"
            and known
            and version.isascii()
            and version.isdigit()
        ):
            found.append((int(version[:20]), origin, directory / name))
    return found


def _file_name(genesis: str) -> str:
    digits = genesis.removeprefix("0x").lower()
    if len(digits) != 64 or set(digits) - set("0123456789abcdef"):
        raise InvalidRequest(
            field="genesis",
            value=genesis,
            problem="is not a block hash",
            expected="0x and 64 hexadecimal digits",
        )
    return digits
