"""The metadata of recorded runtimes: without its documentation, compressed, a file for each
content.

A file's name says the runtime, the version of the metadata, and the start of its digest: two chains
of one runtime may have other constants.
"""

import lzma
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

from scenarioctl.runtime.metadata import _MetadataReader, read_metadata, unwrap_metadata
from scenarioctl.runtime.scale import encode_compact
from tests.conftest import DATA

FOLDER = DATA / "metadata" / "live"
_SUFFIX = ".scale.xz"


class _Documentation(_MetadataReader):
    """Notes where the lists of documentation begin and end."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.places: list[tuple[int, int]] = []

    def docs(self) -> None:
        begin = self.at
        super().docs()
        self.places.append((begin, self.at))


def without_documentation(data: bytes) -> bytes:
    """Return metadata with an empty list in place of each list of documentation."""
    data = unwrap_metadata(data)
    reader = _Documentation(data)
    reader.read()
    parts, at = [], 0
    for begin, end in reader.places:
        parts.append(data[at:begin] + b"\0")
        at = end
    return b"".join((*parts, data[at:]))


def keep_metadata(data: bytes, folder: Path = FOLDER) -> str:
    """Write metadata to a file of its own, if there is none, and return the file's name."""
    bare = without_documentation(data)
    table = read_metadata(bare)
    digest = blake2b(bare, digest_size=4).hexdigest()
    name = f"{table.spec_name}-{table.spec_version}.v{table.metadata_version}.{digest}{_SUFFIX}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    if not path.exists():
        path.write_bytes(lzma.compress(bare, preset=6))
    return name


def read_kept(names: Iterable[str], folder: Path = FOLDER) -> dict[int, bytes]:
    """Return what the named files hold, by the version of the metadata."""
    kept = (lzma.decompress((folder / name).read_bytes()) for name in names)
    return {data[4]: data for data in kept}


def as_answered(data: bytes) -> str:
    """Return metadata as `Metadata_metadata_at_version` answers it."""
    return "0x01" + (encode_compact(len(data)) + data).hex()
