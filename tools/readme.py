"""Run the console examples of README.md and docs/*.md, in order, in one shell per file.

`python tools/readme.py` writes their output into the files. `tests/test_readme.py` compares it.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
#: What differs between runs: scenario ids, node ids, dates.
VOLATILE = (
    (re.compile(r"\b(?=\w*[0-9])(?=\w*[A-Za-z])[A-Za-z0-9]{9}\b(?!\.toml)"), "<id>"),
    # An id without a digit looks like a word, but is where ids are.
    (re.compile(r"^[A-Za-z0-9]{9}(?=$|\t)", re.MULTILINE), "<id>"),
    (re.compile(r"(?<=^(?:Created|Changed) )[A-Za-z0-9]{9}\b", re.MULTILINE), "<id>"),
    (
        re.compile(r"\b(action|chain|chainQuery|chainTx|http|webhook|delay|payout)_[0-9a-f]{6}\b"),
        r"\1_<id>",
    ),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d((\.\d+)?Z)?"), "<date>"),
)
END = "__end of example__"


def documents() -> list[Path]:
    return [
        path
        for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
        if BLOCK.search(path.read_text())
    ]


def commands_of(block: str) -> list[str]:
    """Return the commands of an example.  A backslash at the end of a line continues it."""
    found: list[str] = []
    going_on = False
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append(line[2:])
        elif going_on:
            found[-1] += "\n" + line
        going_on = (line.startswith("$ ") or going_on) and line.endswith("\\")
    return found


def play(text: str) -> Iterator[str]:
    """Yield each example block of *text* with the current output of its commands."""
    blocks = [commands_of(block) for block in BLOCK.findall(text)]
    script = "".join(f"{command}\necho '{END}'\n" for block in blocks for command in block)
    with tempfile.TemporaryDirectory() as home:
        environment = {
            "HOME": home,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "LANG": "C.UTF-8",
        }
        done = subprocess.run(
            ["bash", "-c", "exec 2>&1\n" + script],
            env=environment,
            cwd=home,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    outputs = iter(done.stdout.split(f"{END}\n"))
    for block in blocks:
        yield "".join(f"$ {command}\n{next(outputs)}" for command in block)


def played(text: str) -> str:
    """Return *text* with the current output of its examples."""
    fresh = play(text)
    return BLOCK.sub(lambda _: next(fresh), text)


def settled(text: str) -> str:
    """Return *text* with everything masked that differs between runs."""
    for pattern, mask in VOLATILE:
        text = pattern.sub(mask, text)
    return text


if __name__ == "__main__":
    for document in documents():
        before = document.read_text()
        after = played(before)
        if settled(after) != settled(before):
            document.write_text(after)
            print(f"rewrote {document.relative_to(ROOT)}")
