"""Sign the rows of facts in this repository as a feed that `scenarioctl registry update` installs.

    openssl genpkey -algorithm ed25519 -out KEY
    .venv/bin/python -m tools.make_feed --key KEY --version 2026120101 [--previous OLD.json] registry.json

Prints the public key for `registry_keys`.  Keep KEY off this repository, and off machines that serve the feed.
"""

import argparse
import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from Crypto.PublicKey import ECC

from scenarioctl.chains.fact_feed import read_signed, sign
from scenarioctl.chains.fact_rows import FILES, FORMAT, VERSION, Rows, package_facts
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
    key = ECC.import_key(given.key.read_text(encoding="ascii"))
    previous = ""
    if given.previous:
        previous = sha256(json.loads(given.previous.read_bytes())["payload"].encode()).hexdigest()
    payload = make_payload(
        {kind: package_facts(kind) for kind in FILES},
        version=given.version,
        days=given.days,
        previous=previous,
    )
    public_key = key.public_key().export_key(format="raw").hex()
    feed = sign(payload, key)
    read_signed(feed, [public_key], source=str(given.target), today=datetime.now(UTC).date())
    atomic_write(given.target, feed, mode=0o644)
    print(public_key)


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
