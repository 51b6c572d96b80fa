"""Files of npm packages, whose facts are read and whose code is neither run nor kept."""

import subprocess
import tarfile
from pathlib import Path


def unpack(package: str, member: str, folder: Path) -> str:
    """Return the text of one file of an npm package."""
    packed = subprocess.run(
        ["npm", "pack", "--silent", "--pack-destination", str(folder), package],
        check=True,
        capture_output=True,
        text=True,
        cwd=folder,
    )
    with tarfile.open(folder / packed.stdout.split()[-1]) as archive:
        file = archive.extractfile(member)
        if file is None:
            raise SystemExit(f"{package} has no {member}")
        return file.read().decode("utf-8")
