"""Sign the rows of facts in this repository as a feed that `scenarioctl registry update` installs.

    openssl genpkey -algorithm ed25519 -out KEY
    .venv/bin/python -m tools.make_feed --key KEY --version 2026120101 [--previous OLD.json]
    registry.json

Prints the public key for `registry_keys`.  Keep KEY off this repository, and off machines that
serve the feed.
"""

import argparse
import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from Crypto.PublicKey import ECC

from scenarioctl.chains.fact_feed import read_signed, sign
from scenarioctl.chains.fact_rows import FILES, FORMAT, VERSION, Rows, package_facts
from scenarioctl.errors import ScenarioctlError
from scenarioctl.files import atomic_write


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("target", type=Path, help="the feed to write")
    parser.add_argument("--key", type=Path, required=True, help="the private key: Ed25519, PEM")
    parser.add_argument(
        "--version", type=int, required=True, help=f"a number above {VERSION}, like YYYYMMDDNN"
    )
    parser.add_argument("--days", type=int, default=90, help="until the feed expires (default 90)")
    parser.add_argument("--previous", type=Path, help="the feed before")
    given = parser.parse_args()
    if given.version <= VERSION:
        parser.error(f"--version {given.version} is not above {VERSION}, that of the package")
    try:
        print(
            _make(given.target, given.key, given.previous, version=given.version, days=given.days)
        )
    except (OSError, ValueError, KeyError, ScenarioctlError) as error:
        parser.error(f"no feed was made: {error}")


def _make(
    target: Path, key_file: Path, previous_file: Path | None, *, version: int, days: int
) -> str:
    """Write the feed to *target* and return the public key; OSError, ValueError, KeyError or
    ScenarioctlError if it can't be read back."""
    key = ECC.import_key(key_file.read_text(encoding="ascii"))
    previous = ""
    if previous_file is not None:
        previous = sha256(json.loads(previous_file.read_bytes())["payload"].encode()).hexdigest()
    rows = {kind: package_facts(kind) for kind in FILES}
    feed = sign(make_payload(rows, version=version, days=days, previous=previous), key)
    public_key: str = key.public_key().export_key(format="raw").hex()
    read_signed(feed, [public_key], source=str(target), today=datetime.now(UTC).date())
    atomic_write(target, feed, mode=0o644)
    return public_key


def make_payload(
    rows: Rows, *, version: int, days: int = 90, previous: str = "", now: datetime | None = None
) -> bytes:
    """Return what is signed of *rows*, in force for so many *days* from *now*."""
    today = (now or datetime.now(UTC)).date()
    fields = {
        "format": FORMAT,
        "version": version,
        "date": str(today),
        "expires": str(today + timedelta(days=days)),
        "previous": previous,
        "facts": rows,
    }
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()


if __name__ == "__main__":
    main()
