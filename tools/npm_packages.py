"""Read npm packages without running or keeping any of their code.  What can't be read ends the tool
with a sentence."""

import subprocess
import tarfile
from pathlib import Path


def unpack(package: str, member: str, folder: Path) -> str:
    """Return the text of one file of an npm package, which is downloaded into *folder*."""
    with tarfile.open(pack(package, folder)) as archive:
        file = archive.extractfile(member) if member in archive.getnames() else None
        if file is None:
            raise SystemExit(f"{package} has no file {member} any more")
        return file.read().decode("utf-8")


def pack(package: str, folder: Path) -> Path:
    """Return the archive of an npm package, downloaded into *folder*."""
    answer = run_npm("pack", "--silent", "--pack-destination", str(folder), package, folder=folder)
    return folder / answer.split()[-1]


def newest(package: str) -> str:
    """Return *package*, whatever version it names, with its newest version."""
    at = package.find("@", 1)
    name = package if at < 0 else package[:at]
    return f"{name}@{run_npm('view', name, 'version').split()[-1]}"


def run_npm(*arguments: str, folder: Path | None = None) -> str:
    """Return what npm prints for a command; SystemExit says why it prints nothing."""
    try:
        ran = subprocess.run(["npm", *arguments], capture_output=True, text=True, cwd=folder)
    except FileNotFoundError:
        raise SystemExit("npm is not installed (Debian: apt install npm)") from None
    if ran.returncode != 0 or not ran.stdout.strip():
        raise SystemExit(
            f"npm {' '.join(arguments)} failed: {ran.stderr.strip() or 'it printed nothing'}"
        )
    return ran.stdout
