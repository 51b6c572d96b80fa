"""Build scenarioctl/render/fonts from two npm packages: the fonts that previews are drawn and
measured with.

    pip install fonttools brotli
    python tools/bundle_fonts.py

`npm pack` downloads the packages into a temporary folder.  None of their code is run.  The tool
keeps the Latin, Greek and Cyrillic characters of Inter, in two weights, and from DejaVu Sans
Hebrew, Arabic, Armenian, Georgian and symbols that Inter lacks.  It also writes the licenses,
`advances.json` with the width of each character in thousandths of the font size, and
`manifest.json` with sources and hashes.
"""

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parent.parent / "scenarioctl" / "render" / "fonts"

INTER = "inter-ui@4.1.1"
DEJAVU = "dejavu-fonts-ttf@2.37.3"

_INTER_LETTERS = (
    *(
        range(0x20, 0x7F),
        range(0xA0, 0x180),
        range(0x18F, 0x193),
        range(0x1A0, 0x1B1),
        range(0x1CD, 0x1DD),
    ),
    *(
        range(0x1E6, 0x1E8),
        range(0x1F4, 0x1F6),
        range(0x1FA, 0x21C),
        range(0x237, 0x238),
        range(0x259, 0x25A),
    ),
    *(range(0x2B9, 0x2BD), range(0x2C6, 0x2DE), range(0x300, 0x30D), range(0x323, 0x329)),
    *(range(0x370, 0x3E2), range(0x400, 0x500), range(0x1E80, 0x1E9F), range(0x1EA0, 0x1EFA)),
    *(range(0x2000, 0x2045), range(0x2070, 0x208F), range(0x20A0, 0x20C1), range(0x2116, 0x2117)),
    *(range(0x2122, 0x2123), range(0x2190, 0x219A), range(0x2212, 0x221F), range(0x2248, 0x2266)),
    *(range(0x25A0, 0x25D0), range(0x2713, 0x2718), range(0xFFFD, 0xFFFE)),
)
_DEJAVU_LETTERS = (
    *(
        range(0x20, 0x21),
        range(0x300, 0x370),
        range(0x500, 0x590),
        range(0x590, 0x700),
        range(0x10A0, 0x1100),
    ),
    *(range(0x200B, 0x2010), range(0x2190, 0x2300), range(0x25A0, 0x2600), range(0x2600, 0x2670)),
    *(range(0x2700, 0x2718), range(0xFFFD, 0xFFFE)),
)


@dataclass(frozen=True, kw_only=True)
class Cut:
    """One font file, and what is kept of it."""

    package: str
    path: str
    #: Name of the file, and of its widths in advances.json.
    name: str
    letters: tuple[range, ...]
    #: OpenType features: what puts marks on letters, and shapes Arabic.
    features: tuple[str, ...]


CUTS = (
    Cut(
        package=INTER,
        path="package/web/Inter-Regular.woff2",
        name="Inter-Regular",
        letters=_INTER_LETTERS,
        features=("kern", "mark", "mkmk", "ccmp", "locl"),
    ),
    Cut(
        package=INTER,
        path="package/web/Inter-SemiBold.woff2",
        name="Inter-SemiBold",
        letters=_INTER_LETTERS,
        features=("kern", "mark", "mkmk", "ccmp", "locl"),
    ),
    Cut(
        package=DEJAVU,
        path="package/ttf/DejaVuSans.ttf",
        name="DejaVuSans",
        letters=_DEJAVU_LETTERS,
        features=("ccmp", "init", "medi", "fina", "isol", "liga", "rlig", "mark", "mkmk"),
    ),
)
LICENCES = {
    "Inter-LICENSE.txt": (INTER, "package/LICENSE.txt"),
    "DejaVu-LICENSE.txt": (DEJAVU, "package/LICENSE"),
}


def fetch(package: str, folder: Path) -> Path:
    """Return the folder into which *package* is unpacked."""
    done = subprocess.run(
        ["npm", "pack", "--silent", package], cwd=folder, check=True, capture_output=True, text=True
    )
    target = folder / package.partition("@")[0]
    with tarfile.open(folder / done.stdout.split()[-1]) as archive:
        archive.extractall(target, filter="data")
    return target


def cut(
    source: Path, target: Path, letters: Iterable[int], features: Iterable[str]
) -> dict[int, int]:
    """Write the part of the font *source* that has *letters* to *target*, and return their
    widths."""
    from fontTools import subset  # type: ignore[import-not-found,import-untyped,unused-ignore]

    options = subset.Options()
    options.layout_features = list(features)
    options.name_IDs = [0, 1, 2, 4, 5, 6, 13, 14, 16, 17]
    options.hinting = False
    options.notdef_outline = True
    options.recalc_timestamp = False
    options.drop_tables += ["FFTM", "DSIG", "MATH"]
    font = subset.load_font(str(source), options)
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=list(letters))
    cutter.subset(font)
    font.flavor = None
    font.save(target)
    scale = 1000 / font["head"].unitsPerEm
    return {code: round(font["hmtx"][name][0] * scale) for code, name in font.getBestCmap().items()}


def runs(widths: dict[int, int]) -> list[list[Any]]:
    """Return *widths* as `[first code, [width, …]]` for each run of codes without a gap."""
    found: list[list[Any]] = []
    for code in sorted(widths):
        if found and found[-1][0] + len(found[-1][1]) == code:
            found[-1][1].append(widths[code])
        else:
            found.append([code, [widths[code]]])
    return found


def main() -> int:
    TARGET.mkdir(parents=True, exist_ok=True)
    advances = {}
    sources = {}
    with tempfile.TemporaryDirectory() as temporary:
        packages = {name: fetch(name, Path(temporary)) for name in (INTER, DEJAVU)}
        for each in CUTS:
            file = TARGET / f"{each.name}.ttf"
            letters = {code for part in each.letters for code in part}
            widths = cut(packages[each.package] / each.path, file, letters, each.features)
            advances[each.name] = runs(widths)
            sources[file.name] = f"{each.package} {each.path}"
        for name, (package, path) in LICENCES.items():
            (TARGET / name).write_bytes((packages[package] / path).read_bytes())
            sources[name] = f"{package} {path}"
    text = json.dumps(advances, separators=(",", ":"))
    (TARGET / "advances.json").write_text(text.replace('],"', '],\n"') + "\n")
    sources["advances.json"] = "the fonts beside it"
    manifest = {
        name: {"source": source, "sha256": hashlib.sha256((TARGET / name).read_bytes()).hexdigest()}
        for name, source in sources.items()
    }
    (TARGET / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
