"""Build the runtime tables in `scenarioctl/runtime/bundled/`, byte for byte the same on every
machine.

    python tools/bundle_runtimes.py                 from the npm packages, with the ordinary npm
    client python tools/bundle_runtimes.py --from DIR      from metadata files in DIR, named as in
    `SOURCES` python tools/bundle_runtimes.py --check [...]   change nothing; exit 1 if a committed
    file differs

To bundle another runtime, add a row to `SOURCES` and its names to `scenarioctl/runtime/table.py`.
"""

import argparse
import base64
import hashlib
import json
import re
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scenarioctl.runtime.metadata import read_metadata, unwrap_metadata
from scenarioctl.runtime.table import BUNDLED
from tools.npm_packages import pack

FOLDER = Path(__file__).resolve().parent.parent / "scenarioctl" / "runtime" / "bundled"


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where one runtime's metadata is published."""

    literal: str
    package: str
    version: str
    #: Path inside the package; `*` stands for the part that its build tool generates.
    file: str
    #: Name of the metadata file with `--from`.
    name: str
    spec_version: int
    #: When somebody looked last whether the package has a newer one.
    read: str = "2026-11-23"


POLKADOT_JS = {"package": "@polkadot/types-support", "version": "16.5.6"}
GALACTIC = {"package": "@galacticcouncil/descriptors", "version": "2.6.0"}
POLKADOT_APPS = {"package": "@polkadot-apps/descriptors", "version": "1.0.2"}

SOURCES = (
    Source(
        literal="polkadot",
        **POLKADOT_JS,
        file="metadata/v15/polkadot-hex.js",
        name="polkadot-2000000.v15.scale",
        spec_version=2000000,
    ),
    Source(
        literal="assetHub",
        **GALACTIC,
        file="build/hub_metadata-*.js",
        name="asset-hub-polkadot-2003001.v16.scale",
        spec_version=2003001,
    ),
    Source(
        literal="hydraDx",
        **GALACTIC,
        file="build/hydration_metadata-*.js",
        name="hydration-428.v16.scale",
        spec_version=428,
    ),
    Source(
        literal="kusama",
        **POLKADOT_JS,
        file="metadata/v15/kusama-hex.js",
        name="kusama-1009002.v15.scale",
        spec_version=1009002,
    ),
    Source(
        literal="assetHub_kusama",
        **POLKADOT_APPS,
        file="chains/kusama-asset-hub/generated/dist/kusama_asset_hub_metadata-*.mjs",
        name="asset-hub-kusama-2002000.v16.scale",
        spec_version=2002000,
    ),
    Source(
        literal="assetHub_paseo",
        **POLKADOT_APPS,
        file="chains/paseo-asset-hub/generated/dist/paseo_asset_hub_metadata-*.mjs",
        name="asset-hub-paseo-2002002.v16.scale",
        spec_version=2002002,
    ),
)


def build(read: Callable[[Source], bytes]) -> dict[str, bytes]:
    """Return the bundled files by name, made of the metadata that *read* gives for each source."""
    files: dict[str, bytes] = {}
    manifest: dict[str, dict[str, object]] = {}
    for source in SOURCES:
        metadata = unwrap_metadata(read(source))
        table = read_metadata(metadata)
        expected = (BUNDLED[source.literal], source.spec_version)
        if (table.spec_name, table.spec_version) != expected:
            sys.exit(
                f"{source.file} of {source.package} holds {table}, expected {expected[0]} "
                f"{expected[1]}"
            )
        files[f"{source.literal}.json"] = table.dump()
        manifest[source.literal] = {
            "spec_name": table.spec_name,
            "spec_version": table.spec_version,
            "package": f"npm {source.package}",
            "version": source.version,
            "read": source.read,
            "file": source.file,
            "metadata_version": table.metadata_version,
            "metadata_bytes": len(metadata),
            "metadata_sha256": hashlib.sha256(metadata).hexdigest(),
        }
    files["manifest.json"] = json.dumps(manifest, indent=2).encode() + b"\n"
    return files


def read_module(text: str) -> bytes:
    """Return the metadata in a JavaScript module: the longest text in it, hexadecimal or base64."""
    longest = max(re.findall(r"""["']([0-9A-Za-z+/=]+)["']""", text), key=len)
    return (
        bytes.fromhex(longest[2:])
        if longest.startswith("0x")
        else base64.b64decode(longest, validate=True)
    )


@contextmanager
def packages() -> Iterator[Callable[[Source], bytes]]:
    """Give a function that reads sources from npm packages, downloaded into a folder that is then
    removed."""
    with tempfile.TemporaryDirectory() as folder:
        tarballs: dict[str, Path] = {}

        def read(source: Source) -> bytes:
            wanted = f"{source.package}@{source.version}"
            if wanted not in tarballs:
                tarballs[wanted] = pack(wanted, Path(folder))
            with tarfile.open(tarballs[wanted]) as package:
                found = [
                    member
                    for member in package
                    if Path(member.name).match(f"package/{source.file}") and member.isfile()
                ]
                file = package.extractfile(found[0]) if len(found) == 1 else None
                if file is None:
                    sys.exit(f"{wanted} has {len(found)} files {source.file}, expected one")
                return read_module(file.read().decode())

        yield read


def main() -> int:
    """Write or compare the bundled files."""
    parser = argparse.ArgumentParser(description="Make the bundled runtime tables.")
    parser.add_argument(
        "--from", dest="folder", type=Path, help="take metadata files from this folder"
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing, fail if a file would change"
    )
    options = parser.parse_args()
    if options.folder is not None:
        files = build(lambda source: (options.folder / source.name).read_bytes())
    else:
        with packages() as read:
            files = build(read)
    stale = [name for name, content in files.items() if not _holds(FOLDER / name, content)]
    unknown = sorted(path.name for path in FOLDER.glob("*.json") if path.name not in files)
    if options.check:
        for name in stale + unknown:
            print(f"{FOLDER / name} is not what tools/bundle_runtimes.py makes", file=sys.stderr)
        return 1 if stale or unknown else 0
    for name in stale:
        (FOLDER / name).write_bytes(files[name])
    return 0


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content


if __name__ == "__main__":
    sys.exit(main())
