"""Recorded sessions: command lines with their exact output and exit code, in files that read as
prose.

A file in `tests/data/transcripts` has entries. An entry is a title, remarks, and commands:

    ## a title

    # A remark, kept as it is.
    $ scenarioctl template stats asethub      a command of sh; a further line of it begins with `> `
    | 0                                       a line of stdout
    ! Error: unknown chain 'asethub', …       a line of stderr
    = 3                                       the exit code; none means 0

`bash$` is a command of bash instead. The files and scenarios that a command leaves are there for
the next one of its entry. What differs between runs has a name: `<id 1>` is the first id that the
entry shows, also in a later command. A line of output that ends without a line break ends with `⏎`.

`pytest --update-transcripts` writes what the commands print now; read the diff as prose.
"""

import fcntl
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from scenarioctl import __version__
from scenarioctl.files import atomic_write
from tests.conftest import DATA, Ended

FOLDER = DATA / "transcripts"
#: Whether what the commands print is written, in place of compared.
updating = False

#: Where an id stands that was not shown before.
_IDS = (
    re.compile(r"^Created ([A-Za-z0-9]{9}): ", re.MULTILINE),
    # Also one that looks like a word.
    re.compile(r"^([A-Za-z0-9]{9})$", re.MULTILINE),
    re.compile(r'"id": "([A-Za-z0-9]{9})"'),
)
_MASKS = (
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "yyyy-mm-dd hh:mm:ss"),
    (re.compile(r"\b\d+ days? old\b"), "<some> days old"),
    (re.compile(r"(?<= took )\d+\.\d+(?= s)"), "<some>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "hh:mm:ss"),
    (
        re.compile(r"\b(action|chain|chainQuery|chainTx|http|webhook|delay)_[0-9a-f]{6}\b"),
        r"\1_<node>",
    ),
    (re.compile(r'"(revision)": "[0-9a-f]{16}"'), r'"\1": "<revision>"'),
    (re.compile(rf"\b{re.escape(__version__)}\b"), "<version>"),
    (re.compile(r"\bPython 3\.[0-9.]+[0-9](, .*)?"), "Python <version>"),
)


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command line, with what it printed when it was recorded."""

    shell: str
    line: str
    remarks: tuple[str, ...] = ()
    out: str = ""
    err: str = ""
    code: int = 0

    def __str__(self) -> str:
        prompt = "$ " if self.shell == "sh" else f"{self.shell}$ "
        lines = [*self.remarks, prompt + self.line.replace("\n", "\n> "), *_marked("|", self.out)]
        lines += _marked("!", self.err)
        return "\n".join([*lines, f"= {self.code}"] if self.code else lines)


@dataclass(frozen=True, kw_only=True)
class Entry:
    title: str
    commands: tuple[Command, ...]

    def __str__(self) -> str:
        return "\n\n".join((f"## {self.title}", *map(str, self.commands)))


def _marked(mark: str, text: str) -> list[str]:
    if text and not text.endswith("\n"):
        text += "⏎\n"
    return [f"{mark} {line}".rstrip(" ") for line in text.splitlines()]


def read(path: Path) -> tuple[str, list[Entry]]:
    """Return what stands above the first entry, and the entries."""
    head, *parts = re.split(r"^## ", path.read_text(), flags=re.MULTILINE)
    return head, [_entry(part) for part in parts]


def _entry(text: str) -> Entry:
    title, _, rest = text.partition("\n")
    commands: list[Command] = []
    remarks: list[str] = []
    for line in rest.splitlines():
        prompt = re.match(r"(bash)?\$ (.*)", line)
        if prompt:
            commands.append(
                Command(shell=prompt[1] or "sh", line=prompt[2], remarks=tuple(remarks))
            )
            remarks = []
        elif line.startswith("#"):
            remarks.append(line)
        elif line.startswith("> "):
            commands[-1] = replace(commands[-1], line=f"{commands[-1].line}\n{line[2:]}")
        elif line.startswith(("| ", "! ")) or line in ("|", "!"):
            part = "out" if line[0] == "|" else "err"
            commands[-1] = replace(
                commands[-1], **{part: getattr(commands[-1], part) + line[2:] + "\n"}
            )
        elif line.startswith("= "):
            commands[-1] = replace(commands[-1], code=int(line[2:]))
        elif line:
            raise ValueError(f"no line of a transcript: {line!r}")
    return Entry(title=title, commands=tuple(commands))


def write(path: Path, entry: Entry) -> None:
    """Replace the entry of the same title in the file; other tests may do so at the same time."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        head, entries = read(path)
        texts = [str(entry if each.title == entry.title else each) for each in entries]
        atomic_write(path, (head + "\n\n\n".join(texts) + "\n").encode(), mode=0o644)
    finally:
        os.close(folder)


@dataclass
class Names:
    """The names of what differs between runs, in the order in which an entry shows it."""

    folder: Path
    #: The commands, which may name ids themselves.
    lines: str
    ids: list[str] = field(default_factory=list)

    def mask(self, text: str) -> str:
        for pattern in _IDS:
            found = dict.fromkeys(pattern.findall(text))
            self.ids += (each for each in found if each not in self.ids and each not in self.lines)
        text = text.replace(str(self.folder), "<home>")
        for number, id in enumerate(self.ids, 1):
            text = text.replace(id, f"<id {number}>")
        for pattern, mask in _MASKS:
            text = pattern.sub(mask, text)
        return text

    def fill(self, line: str) -> str:
        """Return a command with the ids that earlier ones showed."""
        return re.sub(r"<id (\d+)>", lambda found: self.ids[int(found[1]) - 1], line)


def play(entry: Entry, folder: Path, run: Callable[[Command], Ended]) -> Entry:
    """Return *entry* as its commands print it now; *folder* is their home."""
    lines = "\n".join(each.line for each in entry.commands)
    names = Names(folder, lines)
    played: list[Command] = []
    for command in entry.commands:
        ended = run(replace(command, line=names.fill(command.line)))
        # First what says of a word that it is an id.
        err, out = (names.mask(text) for text in (ended.err, ended.out))
        # As the file has it.
        played.append(
            replace(command, out=_settled("|", out), err=_settled("!", err), code=ended.code)
        )
    return replace(entry, commands=tuple(played))


def _settled(mark: str, text: str) -> str:
    return "".join(f"{line[2:]}\n" for line in _marked(mark, text))


def titles(path: Path) -> Iterable[str]:
    return [each.title for each in read(path)[1]]
