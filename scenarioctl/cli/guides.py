"""The guides of docs/, which `scenarioctl help` shows; the build copies them into the package."""

import re
from pathlib import Path


def guides() -> dict[str, Path]:
    """Return the guides by their names: those in the package, or in docs/ of a checkout."""
    package = Path(__file__).resolve().parent.parent
    folder = package / "guides"
    if not folder.is_dir():
        folder = package.parent / "docs"
    return {path.stem: path for path in sorted(folder.glob("*.md"))}


#: A picture, or a link; of the second, its text and the guide that it leads to.
_LINK = re.compile(r"!\[[^\]]*\]\([^)]*\)\n*|\[([^\]]*)\]\((?:(\w+)\.md)?[^)]*\)")


def read_guide(path: Path) -> str:
    """Return the text of a guide, whose links to other guides name the command that shows them."""

    def refer(link: re.Match[str]) -> str:
        text, guide = link.group(1) or "", link.group(2)
        return f"{text} (scenarioctl help {guide})" if guide else text

    return _LINK.sub(refer, path.read_text(encoding="utf-8"))
