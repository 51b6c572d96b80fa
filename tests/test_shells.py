"""Completions complete in the shells themselves; man pages read without a warning."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

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
        # The completion system needs a terminal; these stand in for the builtins that would draw there.
        compdef() {{ : }}
        compset() {{ words[CURRENT]=${{words[CURRENT]#$2}} }}
        compadd() {{ while [[ $1 == -* ]]; do [[ $1 == -V ]] && shift; [[ $1 == -a ]] && break; shift; done
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
        ("scenarioctl c", {"chain", "completion", "config", "contract", "create"}),
        ("scenarioctl webhook ", {"list", "post", "replay"}),
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
        ("scenarioctl registry update --from flip", {"flipper.json"}),
    ],
    ids=[
        "commands",
        "commands below",
        "options",
        "chains",
        "chains of an option",
        "files",
        "files and pages",
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


def test_bash_quotes_a_name_with_a_space() -> None:
    # What the program offers for the words, as click writes it.
    script = f"""
        source {ROOT}/completions/scenarioctl
        env() {{ printf 'plain\\nMonthly rent\\n_\\nplain\\nscopes,read\\n_\\n'; }}
        COMP_WORDS=(scenarioctl info Mon) COMP_CWORD=2
        _scenarioctl_completion scenarioctl
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """

    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env={"PATH": f"{BIN}:/usr/bin:/bin"}
    )

    assert (done.stdout, done.stderr) == ("Monthly\\ rent\nscopes,read\n", "")


@pytest.mark.parametrize(
    ("said", "kind", "offered"),
    [
        ("kusama\nthe relay chain", 9, "kusama"),
        (
            "polkadot\nrelay, DOT\nplain\npop\nparachain",
            63,
            "polkadot  (relay, DOT)\npop       (parachain)",
        ),
        ("polkadot\nrelay, DOT\nplain\npop\nparachain", 37, "polkadot\npop"),
        ("a\\:b\ntwo\nplain\na\n_", 63, "a:b  (two)\na"),
    ],
    ids=["one", "several", "menu-complete", "a colon"],
)
def test_bash_lists_several_with_their_descriptions(said: str, kind: int, offered: str) -> None:
    script = f"""
        source {ROOT}/completions/scenarioctl
        env() {{ printf '%s\\n' "$SAID"; }}
        COMP_WORDS=(scenarioctl x) COMP_CWORD=1 COMP_TYPE={kind}
        _scenarioctl_completion scenarioctl
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    environment = {"PATH": f"{BIN}:/usr/bin:/bin", "SAID": f"plain\n{said}"}

    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment)

    assert (done.stdout, done.stderr) == (f"{offered}\n", "")


@pytest.mark.parametrize("program", [program for program in ["man"] if shutil.which(program)])
def test_a_man_page_says_what_the_help_says(program: str) -> None:
    page = ROOT / "man/man1" / "scenarioctl-xcm-asset-transfer.1"

    done = subprocess.run(
        [program, "-l", str(page)],
        capture_output=True,
        text=True,
        env={
            "PATH": "/usr/bin:/bin",
            "MANWIDTH": "100",
            "LANG": "C.UTF-8",
            "MAN_KEEP_FORMATTING": "",
        },
    )

    text = " ".join(done.stdout.split())
    assert (
        "scenarioctl-xcm-asset-transfer - Build the unsigned transaction that sends an asset"
        in text
    )
    assert "--from CHAIN" in text
    assert "scenarioctl --offline xcm asset-transfer --from polkadot --to assetHub" in text
    assert "5 A chain, a daemon or a web server could not be reached" in text


#: A real line editor: what stands on the line after a TAB behind the words.
ZSH = """
PS1='> '; unsetopt zle_bracketed_paste; autoload -Uz compinit; fpath=({completions} $fpath); compinit -u -D
source {completions}/_scenarioctl
"""


@pytest.mark.parametrize("shell", [shell for shell in ["zsh"] if shutil.which(shell)])
def test_zsh_completes_the_value_behind_an_equals_sign(tmp_path: Path, shell: str) -> None:
    setup = tmp_path / "setup.zsh"
    setup.write_text(ZSH.format(completions=ROOT / "completions"))
    line = "scenarioctl create scenario --from=hy"
    script = f"""
        zmodload zsh/zpty
        zpty -b inner {shell} -f -i
        zpty -w inner 'source {setup}; print rea''dy'
        zpty -r -m inner found '*ready*'
        zpty -n -w inner {line!r}$'\\t'
        zpty -r -m inner found '*hydraDx*'
        print -r -- "${{found##*scenarioctl }}"
    """
    done = subprocess.run(
        [shell, "-f", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        env={
            "HOME": str(tmp_path),
            "PATH": f"{BIN}:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TERM": "dumb",
        },
    )

    assert "--from=hydraDx" in done.stdout.replace("\x08", ""), done.stdout + done.stderr


@pytest.mark.parametrize("shell", [shell for shell in ["fish"] if shutil.which(shell)])
def test_fish_keeps_whole_descriptions_and_values_behind_an_equals_sign(
    tmp_path: Path, shell: str
) -> None:
    def offered(line: str) -> list[str]:
        script = f"source {ROOT}/completions/scenarioctl.fish; complete -C $argv[1]"
        done = subprocess.run(
            [shell, "--no-config", "-c", script, line],
            capture_output=True,
            text=True,
            env={"HOME": str(tmp_path), "PATH": f"{BIN}:/usr/bin:/bin", "LANG": "C.UTF-8"},
        )
        assert done.stderr == ""
        return done.stdout.splitlines()

    assert "scenario\tList, show, build, change, import, export and delete scenarios." in offered(
        "scenarioctl s"
    )
    assert offered("scenarioctl create scenario --from=hy") == ["--from=hydraDx\tdex, HDX"]


def test_bash_completes_the_value_behind_an_equals_sign() -> None:
    # Readline makes three words of it.
    script = f"""
        source {ROOT}/completions/scenarioctl
        COMP_WORDS=(scenarioctl create scenario --from = hy) COMP_CWORD=5
        _scenarioctl_completion scenarioctl
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """

    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env={"PATH": f"{BIN}:/usr/bin:/bin"}
    )

    assert (done.stdout, done.stderr) == ("hydraDx\n", "")


@pytest.mark.parametrize("program", [program for program in ["man"] if shutil.which(program)])
def test_the_tables_of_guides_fit_on_80_columns(program: str) -> None:
    pages = sorted(
        path for section in ("man5", "man7") for path in (ROOT / "man" / section).iterdir()
    )

    for page in pages:
        done = subprocess.run(
            [program, "--warnings", "-l", str(page)],
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "MANWIDTH": "80"},
            capture_output=True,
            text=True,
        )
        assert done.stderr == "", page.name


@pytest.mark.parametrize("program", [program for program in ["man"] if shutil.which(program)])
def test_the_titles_of_man_pages_fit_their_line(program: str) -> None:
    pages = sorted((ROOT / "man").rglob("*.?"))
    longest = max(pages, key=lambda page: len(page.name))

    done = subprocess.run(
        [program, "-l", str(longest)],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "MANWIDTH": "80", "LANG": "C.UTF-8"},
    )

    title = f"{longest.stem.upper()}(1)"
    assert done.stdout.splitlines()[0].split() == [title, title]
