"""`scenarioctl help` and `completion`: the program itself, and the guides of docs/, which the build
copies into the package."""

import re
from collections.abc import Sequence
from pathlib import Path

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from scenarioctl.cli.commands import Command, Group
from scenarioctl.cli.execution import emit
from scenarioctl.cli.options import argument
from scenarioctl.errors import InvalidRequest, closest, question, shorten


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


@click.command(
    "help", cls=Command, example="scenarioctl help create transfer\nscenarioctl help jobs"
)
@click.argument("words", metavar="[COMMAND|GUIDE]...", nargs=-1)
@click.pass_context
def help_(context: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of the program, of a command, or a guide.

    Without a word, the list of guides follows the help of the program. A guide that has the name of
    a command follows its help.
    """
    root, known = context.find_root(), guides()
    program = root.command
    guide = known.get(words[0]) if len(words) == 1 else None
    texts = []
    if guide is None or (
        isinstance(program, click.Group) and words[0] in program.list_commands(root)
    ):
        try:
            texts.append(_help_of(root, words))
        except click.UsageError:
            close = closest(words[0], known, cutoff=0.7) if len(words) == 1 else []
            if not close:
                raise
            meant = question(f"scenarioctl help {close[0]}", ())
            raise click.UsageError(
                f"there is no guide {shorten(words[0])}, {meant}", root
            ) from None
    if guide is not None:
        texts.append(read_guide(guide))
    if known and not words:
        texts.append(
            "Guides (scenarioctl help GUIDE):\n" + click.wrap_text(", ".join(known), 78, "  ", "  ")
        )
    text = "\n\n".join(texts)
    emit({"help": text}, lambda: click.echo(text.rstrip("\n")))


def _help_of(here: click.Context, words: Sequence[str]) -> str:
    """Return the help of the command that *words* name, below *here*."""
    left = list(words)
    while left:
        word, group = left[0], here.command
        if not isinstance(group, click.Group):
            raise click.UsageError(
                f"{here.command_path} has no commands of its own: omit {word[:60]}", here
            )
        # A misspelt one is answered with what it may mean; an option is no command.
        name, command, left = group.resolve_command(here, left)
        if command is None:
            raise click.UsageError(f"there is no command {word[:60]}", here)
        here = click.Context(command, info_name=name, parent=here)
    return here.get_help()


SHELLS: dict[str, type[ShellComplete]] = {
    "bash": BashComplete,
    "zsh": ZshComplete,
    "fish": FishComplete,
}

#: Fixes for click's completion scripts: text in the script -> its replacement.
_FIXES = {
    # For `--from=hy` click offers the value without the option, and zsh would replace the whole
    # word.
    "zsh": [
        (
            "    for type key descr in ${response}; do",
            """    local option=""
    [[ $words[CURRENT] == --*=* ]] && option="${words[CURRENT]%%=*}="

    for type key descr in ${response}; do
        if [[ "$type" == "plain" ]]; then
            key="$option$key"
        else
            compset -P "$option"
        fi""",
        )
    ],
    # click cuts a description at a comma, and fish compares a candidate with the whole word, option
    # included.
    "fish": [
        ('(string split "," $completion)', '(string split --max 1 "," $completion)'),
        ("            echo $metadata[2];", '            echo "$option$metadata[2]";'),
        (
            "    for completion in $response;",
            """    set -l option (string match --regex -- '^--[^=]+=' (commandline -t));

    for completion in $response;""",
        ),
    ],
    # Bash splits `--from=hy` and `ops:pay` into three words, and inserts a value as it is. What the
    # program says for zsh has descriptions, in three lines each.
    "bash": [
        (
            '    response=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD',
            """    local -a words=() abouts=()
    local place word=$COMP_CWORD about part last before="" joins=""
    for place in "${!COMP_WORDS[@]}"; do
        part=${COMP_WORDS[place]} last=$((${#words[@]} - 1))
        if [[ $part == = && $place -lt $COMP_CWORD ]]; then
            word=$((word - 1))
        elif (( last >= 0 )) && [[ $joins || $part == : ]]; then
            # What a name has up to its last colon is in the line already.
            (( place == COMP_CWORD )) && before=${words[last]}
            words[last]+=$part
            (( place <= COMP_CWORD )) && word=$((word - 1))
            [[ $part == : ]] && joins=1 || joins=""
            [[ $joins && $place -eq $COMP_CWORD ]] && before=${words[last]}
        else
            words+=("$part") joins=""
        fi
    done
    before=${before//[!:]/}

    response=$(env COMP_WORDS="${words[*]}" COMP_CWORD=$word""",
        ),
        ("=bash_complete $1)", "=zsh_complete $1)"),
        (
            """    for completion in $response; do
        IFS=',' read type value <<< "$completion"
""",
            """    while IFS= read -r type && IFS= read -r value && IFS= read -r about; do
""",
        ),
        (
            """            COMPREPLY+=($value)
        fi
    done
""",
            """            [[ $about == _ ]] && about="" || value=${value//\\\\:/:}
            for (( place = 0; place < ${#before}; place++ )); do
                value=${value#*:}
            done
            [[ $value =~ ^[A-Za-z0-9_./:=@%+,-]+$ ]] || printf -v value %q "$value"
            COMPREPLY+=("$value")
            abouts+=("$about")
        fi
    done <<< "$response"

    # Of several they are listed, unless one of them is put in, as menu-complete and
    # insert-completions do.
    if (( ${#COMPREPLY[@]} > 1 && COMP_TYPE != 37 && COMP_TYPE != 42 )); then
        local -i wide=0
        for value in "${COMPREPLY[@]}"; do
            (( ${#value} > wide )) && wide=${#value}
        done
        for place in "${!COMPREPLY[@]}"; do
            about=${abouts[place]:0:$((${COLUMNS:-80} > wide + 8 ? ${COLUMNS:-80} - wide - 8 : 0))}
            [[ $about ]] &&
                printf -v "COMPREPLY[$place]" "%-${wide}s  (%s)" "${COMPREPLY[place]}" "$about"
        done
    fi
""",
        ),
    ],
}


def completion_script(shell: str) -> str:
    """Return the script for *shell*, one of SHELLS."""
    from scenarioctl.cli.main import cli

    completion = SHELLS[shell](cli, {}, "scenarioctl", "_SCENARIOCTL_COMPLETE")
    script = completion.source_template % completion.source_vars()
    for old, new in _FIXES.get(shell, ()):
        if script.count(old) != 1:
            raise RuntimeError(
                f"click's completion for {shell} has changed: {old!r} is not in it once"
            )
        script = script.replace(old, new)
    return script


@click.group(cls=Group)
def completion() -> None:
    """Complete commands in bash, zsh and fish."""


@completion.command(example="scenarioctl completion show bash")
@argument("shell", metavar="SHELL")
def show(shell: str) -> None:
    """Print the completion script of a shell: bash, zsh or fish."""
    if shell not in SHELLS:
        raise InvalidRequest(
            field="shell", value=shell, problem="has no completion", known=tuple(SHELLS)
        )
    script = completion_script(shell)
    emit({"shell": shell, "script": script}, lambda: click.echo(script, nl=False))
