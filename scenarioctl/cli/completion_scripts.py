"""The scripts that teach bash, zsh and fish to complete a command line: click's, with what they lack."""

from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}

#: Fixes for click's completion scripts: text in the script -> its replacement.
_FIXES = {
    # For `--from=hy` click offers the value without the option, and zsh would replace the whole word.
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
    # click cuts a description at a comma, and fish compares a candidate with the whole word, option included.
    "fish": [
        ('(string split "," $completion)', '(string split --max 1 "," $completion)'),
        ("            echo $metadata[2];", '            echo "$option$metadata[2]";'),
        (
            "    for completion in $response;",
            """    set -l option (string match --regex -- '^--[^=]+=' (commandline -t));

    for completion in $response;""",
        ),
    ],
    # Bash splits `--from=hy` into three words.
    "bash": [
        (
            '    response=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD',
            """    local -a words=()
    local place word=$COMP_CWORD
    for place in "${!COMP_WORDS[@]}"; do
        if [[ ${COMP_WORDS[place]} == = && $place -lt $COMP_CWORD ]]; then
            word=$((word - 1))
        else
            words+=("${COMP_WORDS[place]}")
        fi
    done

    response=$(env COMP_WORDS="${words[*]}" COMP_CWORD=$word""",
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
            raise RuntimeError(f"click's completion for {shell} has changed: {old!r} is not in it once")
        script = script.replace(old, new)
    return script
