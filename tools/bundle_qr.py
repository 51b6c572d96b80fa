"""Build scenarioctl/web/qr.js, which reads QR codes from a camera's pictures, from the npm package
qr.

    python tools/bundle_qr.py            write it and its license
    python tools/bundle_qr.py --check    change nothing; exit 1 if a committed file differs

`npm` downloads the package and esbuild into a temporary folder and compares both with the hashes
below. esbuild joins the modules of the package, leaves out what `decodeQR` doesn't need, and
minifies the rest. To update, change the versions and the hashes, and the hash in tests/test_web.py.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "scenarioctl" / "web"

QR = (
    "qr",
    "0.7.0",
    "sha512-/VrrACmOAwZVipuRITwfEwOL5oAMEHH5PTmBWaGtlTom2Thxaa+rhmna4zU9"
    "PRN2uLw2wdccbkHOLGZb1Q9SdA==",
)
ESBUILD = (
    "esbuild",
    "0.28.2",
    "sha512-HKVLS8dvII+xoKW9kmqxbRKrnWEXfJJr/FZhhJmiqIB0e053QNYFqOBouTMO"
    "/k5sID4MvCiUCvv8b9M4h32wIA==",
)

HEAD = (
    f"/* qr {QR[1]} by Paul Miller, MIT License (qr.LICENSE.txt). "
    f"Minified by esbuild {ESBUILD[1]} (tools/bundle_qr.py). */\n"
)


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        files = build(Path(place))
    if "--check" in sys.argv:
        stale = [name for name, content in files.items() if (TARGET / name).read_bytes() != content]
        for name in stale:
            print(f"differs: scenarioctl/web/{name}")
        sys.exit(1 if stale else 0)
    for name, content in files.items():
        (TARGET / name).write_bytes(content)


def build(folder: Path) -> dict[str, bytes]:
    """Return the files that are made of the two packages, which are installed in *folder*."""
    (folder / "package.json").write_text("{}")
    wanted = [f"{name}@{version}" for name, version, _ in (QR, ESBUILD)]
    quiet = ("--no-audit", "--no-fund", "--loglevel=error")
    subprocess.run(["npm", "install", "--ignore-scripts", *quiet, *wanted], cwd=folder, check=True)
    locked = json.loads((folder / "package-lock.json").read_text())["packages"]
    for name, _, integrity in (QR, ESBUILD):
        if locked[f"node_modules/{name}"]["integrity"] != integrity:
            sys.exit(f"{name} is not the package that is named here")
    (folder / "entry.js").write_text('export { decodeQR } from "qr/decode.js";\n')
    bundle = subprocess.run(
        [
            "node_modules/.bin/esbuild",
            *("entry.js", "--bundle", "--minify", "--format=esm", "--log-level=error"),
        ],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return {
        "qr.js": HEAD.encode() + bundle.stdout,
        "qr.LICENSE.txt": (folder / "node_modules" / "qr" / "LICENSE-MIT").read_bytes(),
    }


if __name__ == "__main__":
    main()
