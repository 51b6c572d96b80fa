"""Completions complete in the shells themselves; man pages read without a warning."""

import shutil
import subprocess
import sys
from pathlib import Path
from shlex import quote

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.one_python

BIN = Path(sys.executable).parent

#: Each prints, a line apiece, what the shell offers for the words of `$1`, the last of them
#: unfinished.
SCRIPTS = {
    "bash": """
        source {completions}/scenarioctl
        COMP_LINE=$1 COMP_POINT=${{#1}}
        read -ra COMP_WORDS <<< "$1"
        [[ $1 == *" " ]] && COMP_WORDS+=("")
        COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        # Readline's, outside of it: says which of the shell's own completions would follow.
        compopt() {{ [[ $2 == default ]] && compgen -f -- "${{COMP_WORDS[COMP_CWORD]}}"; }}
        _scenarioctl_completion scenarioctl
        printf '%s\\n' "${{COMPREPLY[@]%%  *(*}}"
    """,
    "zsh": """
        # The completion system needs a terminal; these stand in for the builtins that would draw
        # there.
        compdef() {{ : }}
        compset() {{ words[CURRENT]=${{words[CURRENT]#$2}} }}
        compadd() {{ while [[ $1 == -* ]]; do [[ $1 == -V ]] && shift
                    [[ $1 == -a ]] && break; shift; done
                    print -l -- ${{(P)2}} }}
        _describe() {{ print -l -- ${{${{(P)3}}%%:*}} }}
        _path_files() {{ print -l -- ${{words[CURRENT]}}*(N) }}
        source {completions}/_scenarioctl
        words=(${{=1}})
        [[ $1 == *" " ]] && words+=("")
        CURRENT=${{#words}}
        _scenarioctl_completion
    """,
    "fish": """
        source {completions}/scenarioctl.fish
        complete -C $argv[1] | string split -f 1 \\t
    """,
}

FOUND = [shell for shell in SCRIPTS if shutil.which(shell)]


@pytest.mark.parametrize("shell", FOUND)
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("scenarioctl c", {"chain", "completion", "config", "create"}),
        ("scenarioctl address ", {"add", "remove", "show"}),
        (
            "scenarioctl xcm asset-transfer --dest",
            {"--destchain", "--dest-chain", "--destinationaddress", "--destination-address"},
        ),
        ("scenarioctl template stats hy", {"hydraDx"}),
        (
            "scenarioctl create scenario --from asset",
            {"assetHub", "assetHub_kusama", "assetHub_paseo"},
        ),
        ("scenarioctl contract info --abi flip", {"flipper.json"}),
    ],
    ids=[
        "commands",
        "commands below",
        "options",
        "chains",
        "chains of an option",
        "files",
    ],
)
def test_the_shell_completes(tmp_path: Path, shell: str, line: str, offered: set[str]) -> None:
    (tmp_path / "flipper.json").touch()
    script = SCRIPTS[shell].format(completions=ROOT / "completions")
    name = [] if shell == "fish" else [shell]

    done = subprocess.run(
        [shell, *(["--no-config"] if shell == "fish" else []), "-c", script, *name, line],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={
            "HOME": str(tmp_path),
            "PATH": f"{BIN}:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
        },
    )

    assert (set(done.stdout.split()), done.stderr) == (offered, "")


def lint() -> list[str]:
    """Return the command that reads man pages and tells what is wrong with them; none where there
    is none."""
    if shutil.which("mandoc"):
        return ["mandoc", "-Tlint", "-Wwarning"]
    if shutil.which("groff"):
        return ["groff", "-Kutf8", "-man", "-ww", "-Tutf8", "-z"]
    if shutil.which("man"):
        return ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z"]
    return []


@pytest.mark.parametrize(
    "command", [command for command in [lint()] if command], ids=lambda command: command[0]
)
def test_the_man_pages_read_without_a_warning(command: list[str]) -> None:
    pages = sorted(str(path) for path in (ROOT / "man").rglob("*.?"))

    done = subprocess.run([*command, *pages], capture_output=True, text=True)

    assert (done.stderr, done.returncode) == ("", 0)
    assert command[0] != "mandoc" or done.stdout == ""


NAMES = ("Monthly rent", "scopes,read", "zz;touch${IFS}$HOME/pwned", "R&D", "P(may)", "ops:payroll")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("info Mon", r"Monthly\ rent"),
        ("info sco", "scopes,read"),
        ("scenario build zz", r"zz\;touch\$\{IFS\}\$HOME/pwned"),
        ("tx transfer --to-address R", r"R\&D"),
        ("tx transfer --to-address = P", r"P\(may\)"),
        ("tx transfer --to-address ops", "ops:payroll"),
        ("tx transfer --to-address ops :", "payroll"),
        ("tx transfer --to-address ops : pay", "payroll"),
        ("tx transfer --to-address = ops : pay", "payroll"),
        # A shell in which ':' divides no words.
        ("tx transfer --to-address ops:pay", "ops:payroll"),
    ],
)
def test_bash_quotes_what_it_reads_specially_and_completes_a_colon(
    words: str, offered: str
) -> None:
    # The program: it offers those names that begin like the word that it is asked for.
    script = f"""
        source {ROOT}/completions/scenarioctl
        env() {{
            local given=${{1#COMP_WORDS=}} place=${{2#COMP_CWORD=}} name
            mapfile -t given <<< "$given"
            for name in {" ".join(map(quote, NAMES))}; do
                [[ $name == "${{given[place]}}"* ]] && printf 'plain\\n%s\\n_\\n' "$name"
            done
        }}
        COMP_WORDS=(scenarioctl {words}) COMP_CWORD={len(words.split())}
        _scenarioctl_completion scenarioctl
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """

    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env={"PATH": f"{BIN}:/usr/bin:/bin"}
    )

    assert (done.stdout, done.stderr) == (f"{offered}\n", "")
