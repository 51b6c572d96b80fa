"""The rows of facts about chains: those of the installed feed if it is newer, else the package's
own.

A feed (`fact_feed.py`) brings the rows of all FILES together.  It is installed as one file: a line
with its header, and a line `"KIND/KEY":ROW` for each row, of which a reader parses only what it
needs.  What a process has read stays so until it ends: a daemon starts again where `is_replaced`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from json import JSONDecodeError, dumps, loads
from pathlib import Path
from typing import Any

from scenarioctl.config import user_directory
from scenarioctl.files import read_document, read_file, read_line, read_text

#: The version of the package's own rows: the day on which the newest was read, and a number.
VERSION = 2026112702
#: What rows look like.  A feed of another format isn't read: raise it if a field gets another name
#: or another meaning.
FORMAT = 1
#: Bytes of a feed, as of any answer of a web server.
LIMIT = 1_048_576

_PACKAGE = Path(__file__).parents[1]
#: Kind of rows -> the package's own.
FILES: Mapping[str, Path] = {
    "chains": _PACKAGE / "chains/chains.json",
    "closed": _PACKAGE / "chains/closed.json",
    "assets": _PACKAGE / "chains/assets.json",
    "routes": _PACKAGE / "transactions/transfer/routes.json",
    "trust": _PACKAGE / "chains/trust.json",
    "runtimes": _PACKAGE / "runtime/bundled/manifest.json",
}

#: Rows by kind and key.
Rows = dict[str, dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class FeedHeader:
    """What is known of a feed beside its rows."""

    format: int
    version: int
    #: ISO dates.
    date: str
    expires: str
    #: SHA-256 of what was signed, in hex; and that of the feed before, "" for the first one.
    digest: str
    previous: str
    #: The public key that signed it, in hex.
    key: str
    #: The file or URL that it was installed from.
    source: str


@dataclass(frozen=True, kw_only=True)
class InstalledFeed:
    """The file of the installed feed, as it was when it was first read."""

    header: FeedHeader
    #: The lines of the rows.
    text: str

    @property
    def applies(self) -> bool:
        """Whether its rows are read, and not the package's own, which are newer."""
        return self.header.version > VERSION


def feed_path() -> Path:
    """Return where the feed is installed for this user."""
    return user_directory("data") / "registry.json"


def write_feed(header: FeedHeader, rows: Rows) -> bytes:
    """Return the file of a feed to install."""
    lines = (
        f'"{kind}/{key}":{dumps(row, ensure_ascii=False, separators=(",", ":"))}'
        for kind, own in rows.items()
        for key, row in own.items()
    )
    text = "\n" + "\n".join(lines) + "\n"
    first = dumps({**vars(header), "sha256": sha256(text.encode()).hexdigest()})
    return (first + text).encode()


def read_feed(path: Path) -> tuple[InstalledFeed | None, str]:
    """Return the feed installed at *path*, None if there is none; and what is wrong with it, for
    which it isn't read."""
    try:
        data = read_file(path, limit=2 * LIMIT)
        first, _, rest = data.partition(b"\n")
        header = loads(first)
        rest = b"\n" + rest
        if header.pop("sha256") != sha256(rest).hexdigest():
            return None, "is damaged"
        if header["format"] != FORMAT:
            return None, "is for another version of scenarioctl"
        return InstalledFeed(header=FeedHeader(**header), text=rest.decode()), ""
    except (FileNotFoundError, NotADirectoryError):
        return None, ""
    except OSError as error:
        return None, f"cannot be read: {error.strerror}"
    except (JSONDecodeError, UnicodeDecodeError, AttributeError, KeyError, TypeError):
        return None, "is damaged"


@cache
def installed() -> tuple[InstalledFeed | None, str]:
    """Return what `read_feed` said when this process first asked."""
    return read_feed(feed_path())


def is_replaced() -> bool:
    """Tell whether a process that starts now has other facts than this one: another feed is
    installed, or none any more."""
    feed, problem = read_feed(feed_path())
    return not problem and _digest_in_force(feed) != _digest_in_force(installed()[0])


def _digest_in_force(feed: InstalledFeed | None) -> str:
    return feed.header.digest if feed is not None and feed.applies else ""


def say_unread() -> str:
    """Return a warning if a feed is installed that can't be read; empty otherwise."""
    _, problem = installed()
    return problem and (
        f"The facts of the package are used: {feed_path()} {problem}. Run scenarioctl "
        "registry update."
    )


def load_rows() -> None:
    """Read all files now: a program that was upgraded meanwhile may not know the new ones."""
    for file in FILES.values():
        read_text(file)


def read_facts(kind: str) -> dict[str, Any]:
    """Return all rows of a *kind* by key; beside them a file has keys of its own, like `read`, the
    day on which it was read."""
    feed, _ = installed()
    return package_facts(kind) if feed is None or not feed.applies else rows_in(feed, kind)


def rows_in(feed: InstalledFeed, kind: str) -> dict[str, Any]:
    """Return the rows of a *kind* in *feed*, by key."""
    start = f'"{kind}/'
    lines = (f'"{line[len(start) :]}' for line in feed.text.split("\n") if line.startswith(start))
    rows: dict[str, Any] = loads("{" + ",".join(lines) + "}")
    return rows


def package_facts(kind: str) -> dict[str, Any]:
    """Return the package's own rows of a *kind*, as a feed has them."""
    rows: dict[str, Any] = read_document(FILES[kind])
    if kind == "runtimes":
        return {
            name: {"spec_version": row["spec_version"], "read": row["read"]}
            for name, row in rows.items()
        }
    return rows


def read_fact(kind: str, key: str) -> Any:
    """Return one row, parsing its line only; None if there is none.  For files of the package with
    a line for each key."""
    feed, _ = installed()
    if feed is None or not feed.applies:
        return read_line(FILES[kind], key)
    start = feed.text.find(f'\n"{kind}/{key}":')
    if start < 0:
        return None
    begin = start + len(kind) + len(key) + 5
    return loads(feed.text[begin : feed.text.index("\n", begin)])
