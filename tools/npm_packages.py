"""Files of npm packages, whose facts are read and whose code is neither run nor kept."""

import subprocess
import tarfile
from pathlib import Path


def unpack(package: str, member: str, folder: Path) -> str:
    """Return the text of one file of an npm package; SystemExit says what is missing."""
    packed = subprocess.run(
        ["npm", "pack", "--silent", "--pack-destination", str(folder), package],
        capture_output=True,
        text=True,
        cwd=folder,
    )
    if packed.returncode != 0:
        raise SystemExit(f"npm can't get {package}: {packed.stderr.strip()}")
    with tarfile.open(folder / packed.stdout.split()[-1]) as archive:
        file = archive.extractfile(member) if member in archive.getnames() else None
        if file is None:
            raise SystemExit(f"{package} has no file {member} any more")
        return file.read().decode("utf-8")
