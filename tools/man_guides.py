"""Man pages of sections 5 and 7 from the guides in docs/."""

import re
from pathlib import Path

from docutils.core import publish_string
from docutils.writers.manpage import Writer
from myst_parser.parsers.docutils_ import Parser

#: A word of a table's cell that is too long for a narrow column, and where it may be broken.
_LONG = re.compile(r"[^\s\\]{12,}")
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def man_guide(
    markdown: str,
    *,
    name: str,
    section: int,
    about: str,
    date: str,
    version: str,
    guides: dict[str, str],
) -> str:
    """Return the man page NAME(SECTION) with the text of *markdown*, whose first heading it drops.

    *guides* maps the file of each guide to its man page, like `jobs.md` to `scenarioctl-jobs(7)`: a
    link to the file becomes a reference to the page.
    """

    def refer(link: re.Match[str]) -> str:
        image, text, target = link.groups()
        if image:
            return ""
        file = target.partition("#")[0]
        if file in guides and guides[file] != f"{name}({section})":
            return f"{text}, see {guides[file]},"
        return f"{text} <{target}>" if "://" in target else text

    _, _, body = markdown.partition("\n")
    page = publish_string(
        # A title of its own, so that docutils takes no heading of the guide for one.
        f"# {name}\n\n{_LINK.sub(refer, body)}",
        parser=Parser(),
        writer=Writer(),
        settings_overrides={"output_encoding": "unicode", "report_level": 2, "halt_level": 2},
    )
    # Its macros stay, its title and its empty line of NAME are ours.
    macros, found, rest = str(page).partition(".TH ")
    _, heading, text = rest.partition(".SH Name\n")
    if not found or not heading:
        raise SystemExit(f"docutils writes man pages in another way now: {name}")
    text = text.partition("\n")[2]
    text = re.sub(
        r"T\{\n.*?^T\}",
        lambda cell: _LONG.sub(_breakable, cell.group()),
        text,
        flags=re.MULTILINE | re.DOTALL,
    )
    # Four columns and more fit on 80 characters only if they stand close.
    text = re.sub(
        r"^(l\|){3,}l\.$",
        lambda columns: columns.group().replace("|", "1|"),
        text,
        flags=re.MULTILINE,
    )
    preamble = "\n".join(line for line in macros.splitlines() if not line.startswith('.\\" '))
    return (
        f'{preamble}\n.TH "{name.upper()}" "{section}" "{date}" "scenarioctl {version}" " "\n'
        # Narrow columns of a table can't be justified.
        ".ad l\n.nh\n"
        f".SH NAME\n{name} \\- {about}\n.SH DESCRIPTION\n{text}"
    )


def _breakable(word: re.Match[str]) -> str:
    return re.sub(r"([/_=&?.:-])(?=\w)", r"\1\\:", word.group())


def title_of(path: Path) -> str:
    """Return the title of a guide, which is the summary of its page."""
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
